"""What waits for a person, from everywhere in the workspace, as one queue; and how each of it is answered.

A source finds what waits, an answer settles one of it; whoever adds a kind of thing that can wait for a person adds
both here. Looking writes nothing.
"""

from __future__ import annotations

from moot.api.message_view import expired
from moot.core.errors import Unknown
from moot.core.principal import label, name_of, person
from moot.core.record import Record
from moot.core.task.refusals import check_stopped
from moot.core.text import REASON, command_line, counted, one_line, shell_word
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.core.task import Task

_SHOWN = 500  # of one kind
_WORDS = "'…'"


class Waiting(Record):
    """One thing that waits for a person."""

    kind: str  # checkpoint, request, held, task, effect, handler
    id: str
    since: str
    who: str  # who waits
    text: str
    command: str  # what answers it
    options: tuple[str, ...] = ()
    task: str | None = None


def waiting(call: Call) -> list[Waiting]:
    """All of it, oldest first."""
    return sorted((item for find, _ in _KINDS.values() for item in find(call)), key=lambda item: item.since)


def answer(call: Call, name: str, text: str) -> Answer:
    """Settle one of it, with the words of a person."""
    found = next((kind for kind, (find, _) in _KINDS.items() if any(i.id == name for i in find(call))), None)
    if found is None and states.state(call.engine.read(), "checkpoint", name)[0].exists:
        found = "checkpoint"  # it does not wait any more: its decider says who was faster
    if found is None:
        raise Unknown(
            "not_waiting", f"Nothing waits for you under {name!r}.", "`moot needs-me` lists what does.", thing=name
        )
    return _KINDS[found][1](call, name, text)


# --- checkpoints -------------------------------------------------------------------------------------------------


def _checkpoints(call: Call) -> Iterator[Waiting]:
    for state in queries.things(call.engine.read(), "checkpoint", _SHOWN):
        # Which one, is not for a list to suggest: pasted as it is, this is refused.
        said = shell_word(one_line("|".join(state.options), 200), _WORDS) if len(state.options) > 1 else _WORDS
        yield Waiting(
            kind="checkpoint",
            id=state.id,
            since=state.at,
            who=name_of(state.who),
            text=state.question,
            command=f"{command_line('checkpoint resolve', state.id)} {said}",
            options=state.options,
            task=state.task,
        )


def _resolve(call: Call, name: str, text: str) -> Answer:
    from moot.api.verbs.checkpoints import resolve

    return resolve(call, name, text, None)


# --- requests ----------------------------------------------------------------------------------------------------


def _requests(call: Call) -> Iterator[Waiting]:
    now = call.clock.wall_seconds()
    for delivery in queries.inbox(call.engine.read(), (person(call.login),), _SHOWN):
        message = delivery.message
        if message.wants == "nothing" or expired(delivery, now):
            continue
        answers = f"{command_line('reply', message.id)} {_WORDS}"
        yield Waiting(
            kind="request",
            id=message.id,
            since=message.at,
            who=label(message.sender),
            text=message.text or str(message.data),
            command=answers if message.wants == "answer" else command_line("ack", message.id),
            task=message.task,
        )


def _reply(call: Call, name: str, text: str) -> Answer:
    from moot.api.verbs.mail.send import reply

    return reply(call, name, text, None)


# --- what could not be taken ---------------------------------------------------------------------------------------


def _held(call: Call) -> Iterator[Waiting]:
    for entry in queries.held_entries(call.engine.read())[:_SHOWN]:
        again = command_line("held resubmit", entry.id, options="--data @fixed.json")
        yield Waiting(
            kind="held",
            id=entry.id,
            since=entry.at,
            who=entry.path,
            text=entry.reason,
            command=f"{again}, or {command_line('held drop', entry.id, options=REASON)}",
            task=entry.task,
        )


def _drop(call: Call, name: str, text: str) -> Answer:
    from moot.api.verbs.mail.held import drop

    return drop(call, name, text)


# --- tasks that nobody may or does go on with ------------------------------------------------------------------------


def _tasks(call: Call) -> Iterator[Waiting]:
    store = call.engine.read()
    ends = {life.exhausted for life in call.engine.lifecycles.values() if life.exhausted}
    for state in sorted(ends):
        for task in queries.stopped(store, state, _SHOWN):
            yield _stopped(task, f"{task.state} after {counted(task.attempt, 'attempt')}")
    for task in () if "failed" in ends else queries.stopped(store, "failed", _SHOWN):
        waits = [name for name in queries.dependents(store, task.id) if states.task(store, name)[0].phase == "open"]
        if waits:
            yield _stopped(task, f"{task.state}, and {_named(waits)} {'wait' if len(waits) > 1 else 'waits'} for it")
    for name in queries.held_tasks(store):
        task, _ = states.task(store, name)
        if task.flagged:
            yield Waiting(
                kind="task",
                id=task.id,
                since=task.since,
                who=name_of(task.holder or ""),
                text=f"{task.title} (flagged: {task.flagged})",
                command=command_line("task show", task.id),
                task=task.id,
            )


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


def _named(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _reopen(call: Call, name: str, text: str) -> Answer:
    from moot.api.verbs.tasks.tasks import moved

    task, _ = states.task(call.engine.read(), name)
    check_stopped(task)
    return moved(call, name, "reopen", reason=text, override=True)


# --- effects -------------------------------------------------------------------------------------------------------


def _effects(call: Call) -> Iterator[Waiting]:
    from moot.needs_me.stalled import parked

    return parked(call, _SHOWN)


def _retry(call: Call, name: str, text: str) -> Answer:
    from moot.needs_me.stalled import retry

    return retry(call, name, text)


def _handlers(call: Call) -> Iterator[Waiting]:
    from moot.needs_me.stalled import unallowed

    return unallowed(call)


def _allow(call: Call, name: str, text: str) -> Answer:
    from moot.needs_me.stalled import allow

    return allow(call, name, text)


_KINDS: dict[str, tuple[Callable[[Call], Iterator[Waiting]], Callable[[Call, str, str], Answer]]] = {
    "checkpoint": (_checkpoints, _resolve),
    "request": (_requests, _reply),
    "held": (_held, _drop),
    "task": (_tasks, _reopen),
    "effect": (_effects, _retry),
    "handler": (_handlers, _allow),
}
