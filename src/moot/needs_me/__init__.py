"""Everything in the workspace that waits for a person, as one queue, and how each item is answered.

A new kind of item needs two things here: a source that finds it (`_SOURCES`), and a case in `answer` that settles it.
Listing the queue writes nothing.
"""

from __future__ import annotations

from itertools import islice

from moot.api.message_view import expired
from moot.core.deciders.task import may_review
from moot.core.errors import Refused, Unavailable, Unknown
from moot.core.lifecycle import reviewed
from moot.core.principal import Actor, label, name_of, person
from moot.core.record import Record
from moot.core.task import verdicts
from moot.core.task.leases import has_lapsed
from moot.core.task.refusals import check_stopped
from moot.core.text import REASON, command_line, counted, first_few, one_line, option, shell_word
from moot.engine.clock import iso
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.core.lifecycle import Lifecycle
    from moot.core.task import Task

_RECENT, _RECENT_LIMIT = 7 * 86_400.0, 50  # how long finished tasks without review are listed, and how many
_TEXT = "'…'"  # in a suggested command: where the person's words go


class Waiting(Record):
    """An item that waits for a person."""

    kind: str  # checkpoint, request, held, task, review, no-review, effect, handler, concern (of a pack)
    id: str
    since: str  # empty for what holds until somebody changes it
    who: str  # who waits
    text: str
    command: str  # answers it
    options: tuple[str, ...] = ()
    task: str | None = None
    checkpoint_type: str = ""  # of a checkpoint: human-verify, decision, human-action, or another word


def question(item: Waiting) -> str:
    """The item's text, with the options if it has some."""
    return item.text + (f" [{' | '.join(item.options)}]" if item.options else "")


def waiting(call: Call, most: int = queries.ALL) -> list[Waiting]:
    """The queue, oldest first. `most`: the maximum number of items from each source."""
    return sorted(_items(call, most), key=lambda item: item.since or "~")


def answer(call: Call, name: str, text: str) -> Answer:
    """Settle the item with this id, in the words of a person."""
    kind = next((item.kind for item in _items(call) if item.id == name), None)
    if kind is None and states.state(call.engine.read(), "checkpoint", name)[0].exists:
        kind = "checkpoint"  # already resolved: the refusal names who did it
    match kind:
        case "checkpoint":
            from moot.api.verbs.checkpoints import resolve

            return resolve(call, name, text, None)
        case "request":
            from moot.api.verbs.mail.send import reply

            return reply(call, name, text, None)
        case "held":
            from moot.api.verbs.mail.held import drop

            return drop(call, name, text)
        case "task":
            from moot.api.verbs.tasks.tasks import moved

            check_stopped(states.task(call.engine.read(), name)[0])
            return moved(call, name, "reopen", reason=text, override=True)
        case "review":
            return _approve(call, name, text)
        case "effect":
            from moot.api.verbs.effects.effects import retry

            return retry(call, (name,), text)
        case "handler":
            return _allow(call, name, text)
        case "concern" | "no-review":
            raise _not_answered(call, name)
    raise Unknown(
        "not_waiting", f"Nothing waits for you under {name!r}.", "`moot needs-me` lists what does.", thing=name
    )


def _approve(call: Call, name: str, text: str) -> Answer:
    """Only an explicit yes approves: a rejection needs a reason, and other words could mean either."""
    task, _ = states.task(call.engine.read(), name)
    life = call.engine.lifecycles[task.lifecycle]
    if text.strip().lower() == "yes":
        from moot.api.verbs.tasks.tasks import moved

        ends = (edge.verb for edge in life.verdicts(task.state) if life.ends_review(edge))
        return moved(call, name, next(ends, "approve"), reason=None)
    commands = " or ".join(f"`{command}`" for command in verdicts(life, task).values())
    raise Refused(
        "not_answered_here",
        f"{name} waits for a review, and {one_line(text, 60)!r} is not yes.",
        f"Run {commands}.",
        task=name,
    )


def _items(call: Call, most: int = queries.ALL) -> Iterator[Waiting]:
    for find in _SOURCES:
        yield from find(call, most)


def _checkpoints(call: Call, most: int) -> Iterator[Waiting]:
    for state in queries.things(call.engine.read(), "checkpoint", most):
        # The list does not choose an answer: pasted as it is, this command is refused.
        words = shell_word(one_line("|".join(state.options), 200), _TEXT) if len(state.options) > 1 else _TEXT
        yield Waiting(
            kind="checkpoint",
            id=state.id,
            since=state.at,
            who=name_of(state.who),
            text=state.question,
            command=f"{command_line('checkpoint resolve', state.id)} {words}",
            options=state.options,
            task=state.task,
            checkpoint_type=state.kind,
        )


def _requests(call: Call, most: int) -> Iterator[Waiting]:
    now = call.clock.wall_seconds()
    for delivery in queries.inbox(call.engine.read(), (person(call.login),), most):
        message = delivery.message
        if message.wants == "nothing" or expired(delivery, now):
            continue
        replying = f"{command_line('reply', message.id)} {_TEXT}"
        yield Waiting(
            kind="request",
            id=message.id,
            since=message.at,
            who=label(message.sender),
            text=message.text or str(message.data),
            command=replying if message.wants == "answer" else command_line("ack", message.id),
            task=message.task,
        )


def _held_entries(call: Call, most: int) -> Iterator[Waiting]:
    for entry in queries.held_entries(call.engine.read())[:most]:
        yield Waiting(
            kind="held",
            id=entry.id,
            since=entry.at,
            who=entry.path,
            text=entry.reason,
            command=command_line("held drop", entry.id, options=REASON),
            task=entry.task,
        )


def _stuck_tasks(call: Call, most: int) -> Iterator[Waiting]:
    """Tasks out of attempts, failed tasks that others wait for, and tasks that are flagged: their holder is silent."""
    store = call.engine.read()
    ends = {life.exhausted for life in call.engine.lifecycles.values() if life.exhausted}
    for state in sorted(ends):
        for task in queries.stopped(store, state, most):
            yield _stopped(task, f"{task.state} after {counted(task.attempt, 'attempt')}")
    for task in islice(_rejected_for_good(call), most):
        yield _stopped(task, f"{task.state} after {counted(task.attempt, 'attempt')}")
    for task in () if "failed" in ends else queries.stopped(store, "failed", most):
        waits = [name for name in queries.dependents(store, task.id) if states.task(store, name)[0].phase == "open"]
        if waits:
            yield _stopped(task, f"{task.state}, and {first_few(waits)} {'wait' if len(waits) > 1 else 'waits'} for it")
    for name in queries.held_tasks(store):
        task, _ = states.task(store, name)
        life = call.engine.lifecycles.get(task.lifecycle)
        if task.flagged and (life is None or life.silence != "ignore"):  # of those, the pack tells: see `_concerns`
            yield Waiting(
                kind="task",
                id=task.id,
                since=task.since,
                who=name_of(task.holder or ""),
                text=f"{task.title} (flagged: {task.flagged})",
                command=command_line("task show", task.id),
                task=task.id,
            )


def _rejected_for_good(call: Call) -> Iterator[Task]:
    """Rejected tasks that only a person can open again: their lifecycle has no state for used-up attempts."""
    store = call.engine.read()
    for life in call.engine.lifecycles.values():
        for state in life.retried if life.exhausted is None else ():
            for task in queries.stopped(store, state):
                if task.lifecycle == life.name and task.attempt >= life.attempts:
                    yield task


def _stopped(task: Task, how: str) -> Waiting:
    why = task.setbacks[-1].reason if task.setbacks else None
    return Waiting(
        kind="task",
        id=task.id,
        since=task.since,
        who=name_of(task.last_by),
        text=f"{task.title} ({how}{f': {why}' if why else ''})",
        command=command_line("task reopen", task.id, options=f"--override {REASON}"),
        task=task.id,
    )


def _reviews(call: Call, most: int) -> Iterator[Waiting]:
    found = queries.in_review(call.engine.read(), most)
    if found:
        yield from _without_reviewer(call, found)


def _without_reviewer(call: Call, tasks: Iterable[Task]) -> Iterator[Waiting]:
    """Those of these tasks in review that no agent here can review: others are absent, silent, or lack the role.

    Tasks of a pack whose messages carry the review are left out: their reviewers may know only the pack's files.
    """
    agents = [Actor(principal=a.principal, roles=a.roles) for a in queries.agents(call.engine.read()) if a.here]
    active = [agent for agent in agents if not _is_silent(call, agent)]
    me = Actor(principal=person(call.login))
    for task in tasks:
        life = call.engine.lifecycles.get(task.lifecycle)  # None if its pack was disabled
        if life is None or life.carried or any(may_review(life, task, agent) for agent in active):
            continue
        why, command = "no agent here can review it", ", or ".join(verdicts(life, task).values())
        if not may_review(life, task, me):
            why, command = f"{why}, nor can you: {_whose(life, task)}", command_line("task show", task.id)
        yield Waiting(
            kind="review",
            id=task.id,
            since=task.since,
            who=name_of(task.author or ""),
            text=f"{task.title} ({why})",
            command=command,
            task=task.id,
        )


def _whose(life: Lifecycle, task: Task) -> str:
    """Who may review it, if the person that asks may not."""
    who = dict.fromkeys(name for edge in life.verdicts(task.state) for name in edge.who)
    return "you submitted it" if "person" in who else f"that is for {' or '.join(who)}"


def _is_silent(call: Call, agent: Actor) -> bool:
    """Whether the agent is silent for longer than a task's holder may be. Unknown: no."""
    try:
        return has_lapsed(call.silent_for(agent.principal), call.settings.task_ttl)
    except Unavailable:
        return False


def _without_review(call: Call, most: int) -> Iterator[Waiting]:
    """Review that is switched off: for the workspace, for a lifecycle, or by an agent for a task."""
    lifecycles, off = call.engine.lifecycles, not call.settings.task_review
    bare = [life.name for life in lifecycles.values() if life.name != "core" and not reviewed(life)]
    if off:
        yield _off("workspace", "moot.toml", "new tasks are done without review (tasks.review = false)")
    for name in bare[:most]:
        yield _off(name, f"the pack {lifecycles[name].pack}", f"tasks of the lifecycle {name} are done without review")
    strict = () if off else (name for name in lifecycles if name not in bare)
    since = iso(call.clock.wall_seconds() - _RECENT)
    found = queries.without_review(call.engine.read(), strict, since, min(most, _RECENT_LIMIT))
    if found:
        said = f"{counted(len(found), 'task')} added without review: {first_few(found)}"
        yield _off("tasks", "agents", said, command_line("task show", found[0]))


def _off(what: str, who: str, said: str, command: str = "moot log --type settings:changed") -> Waiting:
    return Waiting(kind="no-review", id=f"no-review:{what}", since="", who=who, text=said, command=command)


def _parked_effects(call: Call, most: int) -> Iterator[Waiting]:
    from moot.views.effects import effects

    for effect in islice(effects(call.engine.read(), None, "parked"), most):
        retrying = command_line("effects retry", effect.id)
        tries = counted(effect.attempt, "attempt")
        yield Waiting(
            kind="effect",
            id=effect.id,
            since=effect.at,
            who=effect.handler,
            text=f"parked after {tries} at {effect.on} of {effect.stream}: {effect.reason}",
            command=f"{retrying}, or {command_line('effects drop', effect.id, options=REASON)}",
        )


def _handlers_to_allow(call: Call, _most: int) -> Iterator[Waiting]:
    """Handlers with waiting effects that nobody has allowed on this machine. Permission is given to the handler."""
    if call.engine.requests is None:
        return
    from moot.api.verbs.effects.allow import consent_of, handlers_of
    from moot.views.effects import effects

    store, consent = call.engine.read(), consent_of(call)
    for handler in handlers_of(call):
        first = None if consent.allows(handler) else next(effects(store, handler.name, "waiting"), None)
        if first is not None:
            yield Waiting(
                kind="handler",
                id=handler.name,
                since=first.at,
                who=f"pack {handler.pack}" if handler.pack else "moot.toml",
                text=f"wants to {handler.what} because of {first.on}",
                command=command_line("allow", handler.name),
            )


def _allow(call: Call, name: str, text: str) -> Answer:
    """Only an explicit yes lets something run on this machine."""
    from moot.api.verbs.effects.allow import handlers_of, named, permit

    if text.strip().lower() == "yes":
        return permit(call, named(handlers_of(call), (name,)), yes=call.ask is None)
    raise Refused(
        "not_answered_here",
        f"The handler {name} waits to be allowed, and {one_line(text, 60)!r} is not yes.",
        f"Allow it: `{command_line('needs-me', 'yes', options=option('--answer', name))}`. "
        "Or remove it from moot.toml, and drop its waiting effects: "
        f"`{command_line('effects', options=option('--handler', name))}`.",
        handler=name,
    )


def _concerns(call: Call, most: int) -> Iterator[Waiting]:
    """What packs report: see `Protocol.concerns`."""
    if not call.packs.having("concerns"):
        return
    from moot.api.protocol.pack_views import concerns

    for concern in concerns(call, most):
        yield Waiting(
            kind="concern",
            id=concern.about,
            since=concern.since,
            who=concern.who,
            text=concern.message,
            command=concern.remedy,
        )


def _not_answered(call: Call, name: str) -> Refused:
    found = next(item for item in _items(call) if item.id == name)
    return Refused(
        "not_answered_here",
        f"{one_line(found.text, 300)} This cannot be answered with a text.",
        f"Do what it suggests: {found.command}",
        thing=name,
    )


_SOURCES: tuple[Callable[[Call, int], Iterator[Waiting]], ...] = (
    _checkpoints,
    _requests,
    _held_entries,
    _stuck_tasks,
    _reviews,
    _without_review,
    _parked_effects,
    _handlers_to_allow,
    _concerns,
)
