"""Folding events into rows: the only code that writes to the views.

One fold serves all kinds and uses their `evolve`, so deciding a command and rebuilding a view follow the same rules.
The extra rows of some kinds (for lists and mail) are written below it.
"""

from __future__ import annotations

from moot.core.deciders import mailbox, message
from moot.core.errors import Unavailable
from moot.core.ids import number_of
from moot.core.json_codec import dumps, storable
from moot.core.kind import find, meta_of
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from moot.core.event import Event
    from moot.core.kind import Kind
    from moot.core.payload import Payload
    from moot.views.store import Store

    Folded = tuple[Kind, str, Any, int, int]  # the kind, the key, the state, the first and the last position


def project(store: Store, events: Sequence[Event]) -> None:
    """Fold `events` in. The caller holds the transaction, so rows and cursor change together. Gaps are refused."""
    cursor = store.cursor()
    if events and events[-1].position != cursor + len(events):
        raise Unavailable(
            "views_gap",
            f"The views end at position {cursor}, but the next events start at {events[0].position}.",
            "Try again. If it persists, run `moot verify`.",
            cursor=cursor,
            position=events[0].position,
        )
    marked = False  # whether the row of the last event serves as the cursor
    folded: dict[str, Folded] = {}  # by stream; each state is written once, at the end
    for event in events:
        name, _, key = event.stream.partition("/")
        kind = find(name)
        known = None if kind is None else kind.payload(event)
        marked = False
        if kind is None and event.pack is not None:
            _foreign(store, event, name)
        elif kind is None or known is None:
            store.met_newer(f"{event.type} v{event.v}")
        elif name == "message":
            _message(store, event, key)
            marked = True
        elif name in _OWN:
            _OWN[name](store, event, key, known)
        elif kind.state is None:  # only the version is kept
            store.run("put_entity", event.stream, event.position, "{}")
        else:
            folded[event.stream] = _fold(store, kind, event, key, known, folded.get(event.stream))
            if name == "feed":
                from moot.views import feeds  # imported late: only some packs have feeds

                feeds.put(store, event, key, known)
    for stream, entity in folded.items():
        _put(store, stream, *entity)
    if events:
        store.move(events[-1].position, events[-1].commit, marked=marked)


def _foreign(store: Store, event: Event, kind: str) -> None:
    """A pack's event of an unknown kind: only the version of its stream is kept."""
    store.run("put_entity", event.stream, event.position, "{}")
    store.run("set_meta", f"foreign {event.pack}", kind)


def _fold(store: Store, kind: Kind, event: Event, key: str, known: type[Payload], before: Folded | None) -> Folded:
    """The state after an event. `before`: the state after the earlier events of this batch."""
    if before is not None:
        _, _, state, first, _ = before
    else:
        assert kind.state is not None
        state, _ = store.state(event.stream, kind.state) or (kind.new(key), 0)
        first = event.position
    after = kind.evolve(state, known.of(event.data), meta_of(event))
    if kind.name == "task" and after.lifecycle != "core":
        _journal().put_task(store, event, state, after)
    elif kind.name == "entry" and event.pack is not None:
        _journal().put_entry(store, event, key, after.task)
    return kind, key, after, first, event.position


def _journal() -> Any:
    from moot.views import journal  # imported late: only packs have journals

    return journal


def _put(store: Store, stream: str, kind: Kind, key: str, state: Any, first: int, last: int) -> None:
    """Write a state and its extra rows. `first`: the position at which the entity was created, if it is new."""
    store.put(stream, last, state)
    columns = None if kind.columns is None else kind.columns(state)
    if kind.name in _ROWS:
        _ROWS[kind.name](store, first, key, columns or {}, state)
    elif columns is not None:
        store.run("put_thing", kind.name, key, int(columns["open"]), first, columns.get("task"))


# --- extra rows for lists --------------------------------------------------------------------------------------------


def _task(store: Store, first: int, key: str, columns: Mapping[str, Any], _state: Any) -> None:
    listed = (columns["phase"], columns["state"], int(columns["blocked"]), columns["rank"])
    rest = (columns["holder"], columns["assigned"], columns["origin"], int(columns["unreviewed"]))
    store.run("put_task", key, number_of(key), *listed, first, *rest)


def _effect(store: Store, _first: int, key: str, columns: Mapping[str, Any], _state: Any) -> None:
    if columns["open"]:
        store.run("put_effect", key, columns["handler"], columns["status"], columns["due"])
    else:
        store.run("end_effect", key)


def _settings(store: Store, _first: int, _key: str, _columns: Mapping[str, Any], state: Any) -> None:
    from moot.core.deciders.settings import text

    store.note_rules(text(state.values))


_ROWS: dict[str, Callable[[Store, int, str, Mapping[str, Any], Any], None]] = {
    "effect": _effect,
    "settings": _settings,
    "task": _task,
}


# --- kinds stored as rows only --------------------------------------------------------------------------------------


def _message(store: Store, event: Event, key: str) -> None:
    # A message never changes, so there is nothing to fold: it is stored as it was sent.
    said, position = event.data, event.position
    body = storable(message.plain(key, said, position=position, at=event.at, thread=event.thread))
    about = (said.get("task"), said.get("attempt"))
    row = (position, event.commit, key, event.thread or key, said["kind"], said["sender"], *about, body)
    store.run("put_message", *row)
    for name in said["to"]:
        mark = int(bool(said.get("mirror")))
        store.run("put_delivery", name.lower(), position, key, said["wants"], mark, event.at, said.get("expires"))
        store.run("count_delivery", name.lower())
    if event.pack is not None:
        _journal().put(store, event, event.pack, said.get("task"))


def _mailbox(store: Store, event: Event, key: str, known: type[Payload]) -> None:
    payload = known.of(event.data)
    box, _, positions = states.mailbox_rows(store, key, mailbox.parts(payload))
    after = mailbox.evolve(box, payload)
    changed = dumps(list(positions.values()))
    store.run("count_entries", -1, key, changed)
    for name, position in positions.items():
        item = after.entries[name]
        row = (int(not item.settled), storable(item.seen), item.taker, item.reply, item.ended, item.hidden)
        times = (bool(item.seen), event.at, bool(item.ended), event.at)  # the query keeps the first time of each
        store.run("put_entry", *row, *times, key, position)
    store.run("count_entries", 1, key, changed)
    store.run("put_mailbox", key, event.position, after.last_read)
    if after.last_read and after.last_read != box.last_read:
        store.run("put_read_mark", key, after.last_read)
    if event.pack is not None:
        _journal().put_clear(store, event)


def _graph(store: Store, event: Event, _key: str, known: type[Payload]) -> None:
    payload = known.of(event.data)
    change = "link" if event.type == "graph:linked" else "unlink"
    store.run_many(change, [(payload.__dict__["task"], need) for need in payload.__dict__["needs"]])
    store.run("put_entity", event.stream, event.position, "{}")


_OWN: dict[str, Callable[[Store, Event, str, type[Payload]], None]] = {"graph": _graph, "mailbox": _mailbox}
