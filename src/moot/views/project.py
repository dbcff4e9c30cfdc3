"""Folding events into rows: the only place that writes to the views.

Each kind of stream has one function. They use the deciders' `evolve`, so that a state is folded by one rule
whether a command is being decided or a view is being rebuilt.
"""

from __future__ import annotations

from moot.core import claims as holdings
from moot.core import task as tasks
from moot.core.compact import storable
from moot.core.deciders import agent, claims, entry, graph, mailbox, message, task
from moot.core.errors import Unavailable
from moot.core.kind import TABLE, find, kind_of, meta_of
from moot.views import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from moot.core.event import Event
    from moot.core.payload import Payload
    from moot.core.record import Record
    from moot.views.store import Store

EVENTS: dict[str, dict[str, type[Payload]]] = {
    "agent": agent.EVENTS,
    "claims": holdings.EVENTS,
    "entry": entry.EVENTS,
    "graph": graph.EVENTS,
    "mailbox": mailbox.EVENTS,
    "message": message.EVENTS,
    "task": tasks.EVENTS,
}  # and those of `moot.core.kind`, which few logs have: see `events_of`


# Kinds of streams that few logs have, and that fold into rows of their own, in a module of their own.
APART = {"effect": "project_effects", "settings": "project_settings", "topic": "project_effects"}

_DIGITS = 10  # ids with larger numbers are somebody's own, and do not move the count


def project(store: Store, events: Sequence[Event]) -> None:
    """Fold `events` in. The caller holds the transaction; rows and cursor move together, and skip nothing."""
    cursor = store.cursor()
    if events and events[-1].position != cursor + len(events):
        raise Unavailable(
            "views_gap",
            f"The views have the events up to {cursor}; those from {events[0].position} on cannot be next.",
            "Do it again. If it stays so, `moot verify` tells what is wrong with the log.",
            cursor=cursor,
            position=events[0].position,
        )
    marked = False  # whether the last event has left a row that is a cursor
    for event in events:
        kind, _, key = event.stream.partition("/")
        known = events_of(kind).get(event.type)
        if known is None or event.v > known.v:
            store.met_newer(f"{event.type} v{event.v}")
            marked = False
            continue
        fold = _apart(kind).FOLDS[kind] if kind in APART else _FOLDS.get(kind, _late)
        fold(store, event, key, known)
        marked = fold is _message
    if events:
        store.move(events[-1].position, events[-1].commit, marked=marked)


def events_of(kind: str) -> dict[str, type[Payload]]:
    """The events that streams of this kind have."""
    if kind in EVENTS:
        return EVENTS[kind]
    if kind in APART:
        return _apart(kind).EVENTS[kind]  # type: ignore[no-any-return]
    if kind == "redactions":
        from moot.core.redaction import EVENTS as TOMBSTONES

        return TOMBSTONES
    known = find(kind)
    return dict(known.events) if known is not None else {}


def all_events() -> dict[str, dict[str, type[Payload]]]:
    """All events that there are, by the kind of their stream."""
    return {kind: events_of(kind) for kind in sorted((*EVENTS, *TABLE, *APART, "redactions"))}


def _apart(kind: str) -> Any:
    """The module with the folds of one of these kinds."""
    return __import__(f"moot.views.{APART[kind]}", fromlist=["EVENTS"])


def _tombstone(store: Store, event: Event, _key: str, _known: type[Payload]) -> None:
    """Only its version: whoever reads the log sees what it did."""
    store.run("put_entity", event.stream, event.position, "{}")


def _put(store: Store, event: Event, state: Record) -> None:
    store.put(event.stream, event.position, state)


def _agent(store: Store, event: Event, _key: str, known: type[Payload]) -> None:
    state, _ = load.agent(store, event.stream)
    _put(store, event, agent.evolve(state, known.of(event.data), at=event.at))


def _claims(store: Store, event: Event, _key: str, known: type[Payload]) -> None:
    state, _ = load.claims(store)
    _put(store, event, claims.evolve(state, known.of(event.data), position=event.position, by=event.by))


def _entry(store: Store, event: Event, key: str, known: type[Payload]) -> None:
    state, _ = load.entry(store, key)
    _put(store, event, entry.evolve(state, known.of(event.data), at=event.at))


def _graph(store: Store, event: Event, _key: str, known: type[Payload]) -> None:
    payload = known.of(event.data)
    assert isinstance(payload, (graph.Linked, graph.Unlinked))
    change = "link" if isinstance(payload, graph.Linked) else "unlink"
    store.run_many(change, [(payload.task, need) for need in payload.needs])
    store.run("put_entity", event.stream, event.position, "{}")


def _message(store: Store, event: Event, key: str, _known: type[Payload]) -> None:
    # A message never changes, so there is nothing to fold: it is stored as it was said.
    said, position = event.data, event.position
    body = storable(message.plain(key, said, position=position, at=event.at, thread=event.thread))
    about = (said.get("task"), said.get("attempt"))
    row = (position, event.commit, key, event.thread or key, said["kind"], said["sender"], *about, body)
    store.run("put_message", *row)
    typed, wants = int(event.pack is not None), said["wants"]
    for name in said["to"]:
        store.run("put_delivery", name.lower(), position, key, wants, typed)


def _mailbox(store: Store, event: Event, key: str, known: type[Payload]) -> None:
    payload = known.of(event.data)
    fields = payload.__dict__
    ids = fields["ids"] if "ids" in fields else (fields["id"],)
    box, _, positions = load.mailbox_rows(store, key, ids)
    after = mailbox.evolve(box, payload)
    for name, position in positions.items():
        item = after.entries[name]
        row = (int(not item.settled), storable(item.seen), item.taker, item.reply, item.ended, item.hidden)
        times = (bool(item.seen), event.at, bool(item.ended), event.at)  # each the first time that it was so
        store.run("put_entry", *row, *times, key, position)
    store.run("put_mailbox", key, event.position, after.last_read)
    if after.last_read and after.last_read != box.last_read:
        store.run("put_read_mark", key, after.last_read)


def _task(store: Store, event: Event, key: str, known: type[Payload]) -> None:
    state, _ = load.task(store, key)
    after = task.evolve(state, known.of(event.data), position=event.position, at=event.at, by=event.by)
    _put(store, event, after)
    rank = tasks.PRIORITIES.index(after.priority)
    blocked = int(after.phase == "open" and bool(after.waits))
    row = (key, number_of(key), after.phase, after.state, blocked, rank, event.position, after.holder)
    store.run("put_task", *row)


def _late(store: Store, event: Event, key: str, known: type[Payload]) -> None:
    kind = kind_of(event.stream.partition("/")[0])
    assert kind.evolve is not None
    state, _ = load.late(store, kind.name, key)
    after = kind.evolve(state, known.of(event.data), meta_of(event))
    _put(store, event, after)
    if kind.columns is not None:
        columns = kind.columns(after)
        store.run("put_thing", kind.name, key, int(columns["open"]), event.position, columns.get("task"))


def number_of(task_id: str) -> int:
    """7 for task-007, 0 for ids of another form."""
    digits = task_id[5:] if task_id.startswith("task-") else ""
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < _DIGITS else 0


_FOLDS: dict[str, Callable[[Store, Event, str, type[Payload]], None]] = {
    "agent": _agent,
    "claims": _claims,
    "entry": _entry,
    "graph": _graph,
    "mailbox": _mailbox,
    "message": _message,
    "redactions": _tombstone,
    "task": _task,
}
