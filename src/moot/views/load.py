"""States as the deciders want them, read from the views, each with the version of its stream."""

from __future__ import annotations

from moot.core import claims as claim
from moot.core import task as tasks
from moot.core.compact import dumps, loads
from moot.core.deciders import agent as agents
from moot.core.deciders import entry as held
from moot.core.deciders import graph as edges
from moot.core.deciders import mailbox as boxes
from moot.core.deciders import message as messages
from moot.core.kind import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from moot.views.store import Store


def agent(store: Store, stream: str, name: str = "") -> tuple[agents.Agent, int]:
    return store.state(stream, agents.Agent) or (agents.Agent(name=name), 0)


def task(store: Store, name: str) -> tuple[tasks.Task, int]:
    return store.state(f"task/{name}", tasks.Task) or (tasks.Task(id=name), 0)


def entry(store: Store, name: str) -> tuple[held.Entry, int]:
    return store.state(f"entry/{name}", held.Entry) or (held.Entry(id=name), 0)


def late(store: Store, kind: str, name: str) -> tuple[Any, int]:
    """An entity of one of the kinds of `moot.core.kind`."""
    known = kind_of(kind)
    assert known.state is not None
    return store.state(known.stream(name), known.state) or (known.new(name), 0)


def claims(store: Store) -> tuple[claim.ClaimsState, int]:
    return store.state(claim.STREAM, claim.ClaimsState) or (claim.ClaimsState(), 0)


def message(store: Store, name: str) -> tuple[messages.Message, int]:
    row = store.row("message", name)
    return (messages.Message.of(loads(row[1])), row[0]) if row else (messages.Message(id=name), 0)


def graph(store: Store, names: Iterable[str]) -> tuple[edges.Graph, int]:
    """The edges that can be reached from `names`."""
    needs: dict[str, frozenset[str]] = {}
    for name, need in store.rows("reachable_edges", dumps(list(names))):
        needs[name] = needs.get(name, frozenset()) | {need}
    row = store.row("graph_version")
    return edges.Graph(needs=needs), row[0] if row else 0


def mailbox(store: Store, name: str, ids: Iterable[str]) -> tuple[boxes.Mailbox, int]:
    box, version, _ = mailbox_rows(store, name.lower(), ids)
    return box.replace(name=name), version


def mailbox_rows(store: Store, name: str, ids: Iterable[str]) -> tuple[boxes.Mailbox, int, dict[str, int]]:
    """The same, with the position of each message, which is half of the key of its row."""
    row = store.row("mailbox", name)
    entries, positions = {}, {}
    for position, message_id, *fields in store.rows("entries", name, dumps(list(ids))):
        entries[message_id] = entry_of(message_id, *fields)
        positions[message_id] = position
    version, last_read = row or (0, None)
    return boxes.Mailbox(name=name, entries=entries, last_read=last_read), version, positions


def entry_of(
    message_id: str, wants: str, seen: str, taker: str | None, reply: str | None, ended: str | None, hidden: str | None
) -> boxes.Entry:
    shown = tuple(loads(seen))
    return boxes.Entry(id=message_id, wants=wants, seen=shown, taker=taker, reply=reply, ended=ended, hidden=hidden)
