"""States for the deciders, read from the views, each with the version of its stream."""

from __future__ import annotations

from moot.core.deciders.mailbox import Mailbox, MailboxEntry
from moot.core.deciders.message import Message
from moot.core.json_codec import dumps, loads
from moot.core.kind import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from moot.core.claims import ClaimsState
    from moot.core.deciders.agent import Agent
    from moot.core.deciders.graph import Graph
    from moot.core.kind import Kind
    from moot.core.task import Task
    from moot.views.store import Store


def state(
    store: Store, kind: Kind | str, name: str = "", parts: Iterable[str] = (), stream: str = ""
) -> tuple[Any, int]:
    """The state of an entity, or of the named parts of it, and the version of its stream (0 if it has no events)."""
    known = kind_of(kind) if isinstance(kind, str) else kind
    special = _SPECIAL.get(known.name)
    if special is not None:
        return special(store, name, parts)
    stream = stream or known.stream(name)
    if known.state is None:
        return None, store.value("entity", stream) or 0
    return store.state(stream, known.state) or (known.new(name), 0)


def agent(store: Store, name: str) -> tuple[Agent, int]:
    return state(store, "agent", name)


def task(store: Store, name: str) -> tuple[Task, int]:
    return state(store, "task", name)


def claims(store: Store) -> tuple[ClaimsState, int]:
    return state(store, "claims")


def message(store: Store, name: str) -> tuple[Message, int]:
    row = store.row("message", name)
    return (Message.of(loads(row[1])), row[0]) if row else (Message(id=name), 0)


def graph(store: Store, names: Iterable[str]) -> tuple[Graph, int]:
    """The edges that can be reached from `names`."""
    from moot.core.deciders.graph import Graph

    needs: dict[str, frozenset[str]] = {}
    for name, need in store.rows("reachable_edges", dumps(list(names))):
        needs[name] = needs.get(name, frozenset()) | {need}
    return Graph(needs=needs), store.value("graph_version") or 0


def mailbox(store: Store, name: str, ids: Iterable[str]) -> tuple[Mailbox, int]:
    box, version, _ = mailbox_rows(store, name.lower(), ids)
    return box.replace(name=name), version


def mailbox_rows(store: Store, name: str, ids: Iterable[str]) -> tuple[Mailbox, int, dict[str, int]]:
    """The same, with the position of each message, which is part of its row's key."""
    row = store.row("mailbox", name)
    entries, positions = {}, {}
    for position, message_id, *fields in store.rows("entries", name, dumps(list(ids))):
        entries[message_id] = entry_of(message_id, *fields)
        positions[message_id] = position
    version, last_read = row or (0, None)
    return Mailbox(name=name, entries=entries, last_read=last_read), version, positions


def entry_of(
    message_id: str, wants: str, seen: str, taker: str | None, reply: str | None, ended: str | None, hidden: str | None
) -> MailboxEntry:
    shown = tuple(loads(seen))
    return MailboxEntry(id=message_id, wants=wants, seen=shown, taker=taker, reply=reply, ended=ended, hidden=hidden)


# Kinds whose states are not rows of `entity`.
_SPECIAL: dict[str, Callable[[Store, str, Iterable[str]], tuple[Any, int]]] = {
    "graph": lambda store, _name, parts: graph(store, parts),
    "mailbox": mailbox,
    "message": lambda store, name, _parts: message(store, name),
}
