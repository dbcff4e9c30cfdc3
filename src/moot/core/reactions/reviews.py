"""Mail about moves: a submission goes to the agents that may review it, the verdict to the agent that submitted.

A verdict settles the mail about the submission: who has not read it yet is no longer asked to review.

The holder of a task gets a note when somebody else cancels it, releases it, or ends it in any other way.

A lifecycle whose pack has messages for reviews (`Lifecycle.carried`) gets no mail from here.

Also the notes about a task or a claim that somebody else changed, assigned or overrode.
"""

from __future__ import annotations

from moot.core.claims import SHOWN_LIMIT, Overridden
from moot.core.deciders.mailbox import Expire
from moot.core.deciders.task import may_review
from moot.core.principal import Actor, label, same_agent
from moot.core.reactions import notice
from moot.core.task import TYPES, Assigned, Edited, Noted, Unassigned, by_verb, is_in
from moot.core.text import REASON, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.core.lifecycle import Lifecycle
    from moot.core.payload import Payload
    from moot.core.reactions import Step, World
    from moot.core.task import Moved, Task

_TITLE, _REASON = 500, 10_000  # characters; only a pack can exceed them


def reviews(key: str, moved: Moved, world: World) -> Iterator[Step]:
    """The mail about a task that went into review, or out of it."""
    task = world.task(key)
    life = world.lifecycle(task.lifecycle)
    if life.carried:
        return
    if not life.in_review(moved.source):
        yield from _submitted(task, moved, life, world)
    elif moved.phase != "review" and life.edge(moved.verb, moved.source) is not None:  # not a lease that ended
        yield from _judged(task, moved, life, world)


def lost_tasks(key: str, moved: Moved, world: World) -> Iterator[Step]:
    """The mail to the holder of a task that somebody else ended or released."""
    before, task = world.task_before(key), world.task(key)
    life = world.lifecycle(task.lifecycle)
    if (
        before.holder is None
        or life.carried
        or life.in_review(moved.source)
        or life.edge(moved.verb, moved.source) is None
    ):
        return
    if before.holder != moved.holder and not same_agent(before.holder, world.by):
        yield from _note(task, moved, life, world, before.holder)


def _submitted(task: Task, moved: Moved, life: Lifecycle, world: World) -> Iterator[Step]:
    reviewers = [
        agent.principal
        for agent in world.agents()
        if agent.here and may_review(life, task, Actor(principal=agent.principal, roles=agent.roles))
    ]
    author = task.author or world.by
    attempt = f" (attempt {task.attempt})" if task.attempt > 1 else ""
    text = _text(
        f"{label(author)} submitted {task.id} for review{attempt}: {task.title[:_TITLE]}",
        moved.reason,
    )
    yield from notice(world, "note", reviewers, author, text, thread=task.id, task=task.id)


def _judged(task: Task, moved: Moved, life: Lifecycle, world: World) -> Iterator[Step]:
    before = world.task_before(task.id)
    for agent in world.agents():
        if may_review(life, before, Actor(principal=agent.principal, roles=agent.roles)):
            yield from _settled(task, before.author, agent.principal, world)
    if before.author is not None and not same_agent(before.author, world.by):
        yield from _note(task, moved, life, world, before.author)


def _settled(task: Task, author: str | None, reviewer: str, world: World) -> Iterator[Step]:
    """The mail about this submission, in the mailbox of a reviewer that has not read it."""
    box = (world.mailbox_of(reviewer) or "").lower()
    mail = ((name, world.state("message", name)) for name in world.open_mail(box)) if box else ()
    ids = tuple(name for name, message in mail if message.thread == task.id and message.sender == author)
    if ids:
        yield "mailbox", box, Expire(ids=ids)


def _note(task: Task, moved: Moved, life: Lifecycle, world: World, to: str) -> Iterator[Step]:
    done = TYPES[moved.verb].partition(":")[2] if moved.verb in TYPES else f"moved ({moved.verb})"
    text = _text(
        f"{label(world.by)} {done} {task.id}: {task.title[:_TITLE]}", moved.reason, _next(task, to, moved, life)
    )
    yield from notice(world, "note", (to,), world.by, text, thread=task.id, task=task.id)


def _text(first: str, reason: str | None, last: str = "") -> str:
    return "\n\n".join(part for part in (first, (reason or "")[:_REASON], last) if part)


def _next(task: Task, author: str, moved: Moved, life: Lifecycle) -> str:
    """What the author can do now."""
    state, edge = f"It {is_in(task.state)}", life.edge(moved.verb, moved.source)
    if edge is not None and moved.target != edge.target and life.edge("reopen", task.state) is not None:
        again = by_verb("reopen", task.id, options=f"--override {REASON}")
        return f"{state} after {counted(task.attempt, 'attempt')}. A person can allow another: `{again}`"
    if task.holder is not None and same_agent(task.holder, author):
        return f"{state}, and it is yours."
    if task.phase == "open" and task.waits:
        return f"{state} again and waits for {', '.join(task.waits)}."
    if task.phase == "open" and life.edge("claim", task.state) is not None:
        return f"{state} again."
    return f"{state}."


_FIELDS = ("title", "body", "priority", "ttl")


def changed_tasks(key: str, happened: Payload, world: World) -> Iterator[Step]:
    task = world.task(key)
    match happened:
        case Noted():
            who, to, text = happened.who, task.holder, happened.text
        case Edited():
            fields = ", ".join(name for name in _FIELDS if happened.__dict__[name] is not None)
            who, to = happened.who, task.holder
            text = f"{key} was edited ({fields})."
        case Assigned():
            who, to = happened.who, happened.to
            text = f"{key} is assigned to you: {task.title}"
        case Unassigned():
            why = f": {happened.reason}" if happened.reason else ""
            who, to, text = happened.who, happened.to, f"{key} is no longer assigned to you{why}."
        case _:
            return
    if to is not None and not same_agent(who, to):
        yield from notice(world, "note", (to,), who, text, thread=key, task=key)


def overrides(happened: Payload, world: World) -> Iterator[Step]:
    if not isinstance(happened, Overridden) or same_agent(happened.holder, happened.who):
        return
    files = counted(happened.count, "file")
    said = f"{label(happened.who)} overrode your claim {happened.id} in a {happened.act} that changes {files}:"
    more = happened.count - len(happened.paths[:SHOWN_LIMIT])
    lines = [said, *happened.paths[:SHOWN_LIMIT], *([f"and {more} more"] if more else [])]
    reason = ("", f"The reason: {happened.reason}") if happened.reason else ()
    text = "\n".join((*lines, *reason))
    yield from notice(world, "note", [happened.holder], happened.who, text, thread=happened.id)
