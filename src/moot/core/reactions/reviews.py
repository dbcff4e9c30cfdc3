"""Mail about moves: a submission goes to the agents that may review it, the verdict to the agent that submitted.

The holder of a task gets a note when somebody else cancels it, releases it, or ends it in any other way.

A lifecycle whose pack has messages for reviews (`Lifecycle.carried`) gets no mail from here.
"""

from __future__ import annotations

from moot.core.deciders.task import may_review
from moot.core.principal import Actor, label, same_agent
from moot.core.reactions.notices import notice
from moot.core.task import TYPES, by_verb, is_in, verdicts
from moot.core.text import REASON, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.core.lifecycle import Lifecycle
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
        "\n".join(f"To {verb} it: `{command}`" for verb, command in verdicts(life, task).items()),
    )
    yield from notice(world, "note", reviewers, author, text, thread=task.id, task=task.id)


def _judged(task: Task, moved: Moved, life: Lifecycle, world: World) -> Iterator[Step]:
    author = world.task_before(task.id).author
    if author is None or same_agent(author, world.by):
        return
    yield from _note(task, moved, life, world, author)


def _note(task: Task, moved: Moved, life: Lifecycle, world: World, to: str) -> Iterator[Step]:
    done = TYPES[moved.verb].partition(":")[2] if moved.verb in TYPES else f"moved ({moved.verb})"
    text = _text(
        f"{label(world.by)} {done} {task.id}: {task.title[:_TITLE]}", moved.reason, _next(task, to, moved, life)
    )
    yield from notice(world, "note", (to,), world.by, text, thread=task.id, task=task.id)


def _text(first: str, reason: str | None, last: str) -> str:
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
        return f"{state} again. To continue with it: `{by_verb('claim', task.id)}`"
    return f"{state}."
