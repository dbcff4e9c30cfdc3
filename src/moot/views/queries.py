"""Queries of the views: inbox, board, agents, threads. Read-only; they raise no errors of their own."""

from __future__ import annotations

import sys

from moot.core.deciders.agent import Agent
from moot.core.deciders.message import Message
from moot.core.json_codec import dumps, loads
from moot.core.kind import kind_of
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.task import Task
from moot.views import states
from moot.views.states import entry_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator
    from typing import Any

    from moot.core.deciders.held_entry import HeldEntry
    from moot.core.deciders.mailbox import MailboxEntry
    from moot.views.store import Store

ALL = sys.maxsize  # as a limit: no limit


class Delivery(Record):
    """One message at one recipient, with its text."""

    mailbox: str  # in lower case
    entry: MailboxEntry
    message: Message

    @property
    def box(self) -> str:
        """The mailbox as its owner writes it."""
        return next((name for name in self.message.to if name.lower() == self.mailbox), self.mailbox)


def _deliveries(rows: Iterable[tuple[Any, ...]]) -> list[Delivery]:
    return [
        Delivery(mailbox=box, entry=entry_of(name, *fields), message=Message.of(loads(body)))
        for box, name, *fields, body in rows
    ]


def inbox(store: Store, mailboxes: Iterable[str], limit: int = ALL) -> list[Delivery]:
    """The unsettled messages in these mailboxes, oldest first."""
    found = [d for box in mailboxes for d in _deliveries(store.rows("open_deliveries", box.lower(), limit))]
    return sorted(found, key=lambda d: d.message.position)[:limit]


def unsettled(store: Store, mailbox: str, reader: str, *, seen: bool) -> Iterator[Delivery]:
    """The messages that the reader must settle in this mailbox, oldest first: those it was shown, or those new to it.

    Messages taken by another agent are left out. The reader is one incarnation of an agent, but what one incarnation
    took belongs to all of them. Rows are read lazily.
    """
    for row in store.rows("unsettled", mailbox.lower(), reader, seen, name_of(reader).lower()):
        yield from _deliveries((row,))


def count_unsettled(store: Store, mailbox: str, reader: str, *, seen: bool) -> tuple[int, int]:
    """The number of these messages, and their approximate size in bytes."""
    row = store.row("count_unsettled", mailbox.lower(), reader, seen, name_of(reader).lower())
    return (int(row[0]), int(row[1])) if row else (0, 0)


def mailboxes_of(me: Agent, shared_roles: Container[str]) -> tuple[str, ...]:
    """The agent's own mailbox, and those of its roles that have one."""
    return (me.name, *(f"@{role}" for role in me.roles if role in shared_roles))


def unread(
    store: Store, name: str, incarnation: int | None, shared_roles: Container[str], now: float
) -> tuple[int, str] | None:
    """How many messages are new to this agent and have not expired, and its name. None: it is absent."""
    me, _ = states.agent(store, name)
    if not me.here or incarnation not in (None, me.incarnation):
        return None
    boxes = dumps([box.lower() for box in mailboxes_of(me, shared_roles)])
    return int(store.value("count_new", boxes, me.principal, me.name.lower(), now)), me.name


def settled(store: Store, mailbox: str, reader: str, limit: int) -> list[Delivery]:
    """The newest settled messages in this mailbox, newest first, except those that another agent took."""
    return _deliveries(store.rows("settled", mailbox.lower(), name_of(reader).lower(), limit))


def count_settled(store: Store, mailbox: str, reader: str) -> tuple[int, int]:
    """The number of these messages, and their approximate size in bytes."""
    row = store.row("count_settled", mailbox.lower(), name_of(reader).lower())
    return (int(row[0]), int(row[1])) if row else (0, 0)


def count_open(store: Store, mailbox: str) -> int:
    return int(store.value("count_open", mailbox.lower()))


def waiting(store: Store) -> list[Delivery]:
    """All messages that still want an ack or an answer, in any mailbox."""
    return _deliveries(store.rows("open_everywhere"))


def overdue(store: Store, now: float, of: int, limit: int) -> list[Delivery]:
    """Among the oldest `of` that still want an ack or an answer, those that wanted it before now; up to `limit`."""
    return _deliveries(store.rows("overdue", now, of, limit))


def open_per_mailbox(store: Store) -> list[tuple[str, int, str]]:
    """For each mailbox with unsettled mail: its name in lower case, the count, and the time of the oldest message."""
    return [(box, count, since) for box, count, since in store.rows("open_per_mailbox")]


def mailbox(store: Store, name: str, task: str | None = None) -> list[Delivery]:
    """All messages ever delivered to a mailbox, oldest first, including cleared ones."""
    if task is not None:
        return _deliveries(store.rows("mailbox_of_task", name.lower(), task))
    return _deliveries(store.rows("mailbox_history", name.lower()))


def shown_in_file(store: Store, name: str, kinds: Iterable[str]) -> list[Delivery]:
    """The content of a protocol's mailbox file: messages of its kinds that were not cleared."""
    return _deliveries(store.rows("mailbox_kinds", name.lower(), dumps(list(kinds))))


def last_read(store: Store, mailbox: str) -> str | None:
    row = store.row("mailbox", mailbox.lower())
    return row[1] if row else None


def was_last_read(store: Store, mailbox: str, value: str) -> bool:
    return store.row("has_read_mark", mailbox.lower(), value) is not None


def chain(store: Store, message: str) -> list[tuple[str, MailboxEntry, str | None, str | None]]:
    """The status of a message at each recipient: mailbox, entry, time offered, time ended."""
    row = store.row("message", message)
    if row is None:
        return []
    boxes = dumps(sorted({name.lower() for name in loads(row[1])["to"]}))
    return [
        (box, entry_of(name, *fields), offered, ended)
        for box, name, *fields, offered, ended in store.rows("deliveries", row[0], boxes)
    ]


def thread(store: Store, name: str) -> list[Message]:
    return [Message.of(loads(row[0])) for row in store.rows("messages_of_thread", name)]


def messages_of_task(store: Store, task: str, attempt: int | None = None, kind: str | None = None) -> list[Message]:
    return [Message.of(loads(row[0])) for row in store.rows("messages_of_task", task, attempt, kind)]


def messages_of_agent(store: Store, name: str) -> list[Message]:
    """The messages that an agent sent or received, oldest first."""
    return [Message.of(loads(row[0])) for row in store.rows("messages_of_agent", name.lower())]


def last_of_kind(store: Store, kind: str) -> Message | None:
    """The newest message of this type that belongs to an attempt of a task."""
    body = store.value("last_of_kind", kind)
    return Message.of(loads(body)) if body else None


def last_ended(store: Store, lifecycle: str) -> str | None:
    """When a task of this lifecycle was last done or stopped."""
    ended: str | None = store.value("last_ended", lifecycle)
    return ended


def _prefixed(store: Store, kind: str) -> Iterator[tuple[str, int, Any]]:
    for stream, version, state in store.rows("entities", f"{kind}/", f"{kind}0"):  # "0" follows "/"
        yield stream, version, loads(state)


def agents(store: Store) -> list[Agent]:
    return [Agent.of(state) for _, _, state in _prefixed(store, "agent")]


def held_entries(store: Store, *, closed: bool = False) -> list[HeldEntry]:
    """What is held; with `closed`, also what was dropped."""
    from moot.core.deciders.held_entry import HeldEntry

    return [e for _, _, state in _prefixed(store, "entry") if (e := HeldEntry.of(state)).status == "held" or closed]


def things(store: Store, kind: str, limit: int = ALL, *, ended: bool = False) -> Iterator[Any]:
    """Entities of one kind: those that are open, oldest first; or all of them, newest first."""
    state = kind_of(kind).state
    assert state is not None
    for (body,) in store.rows("things" if ended else "open_things", kind, limit):
        yield state.of(loads(body))


def document_at(store: Store, path: str, worktree: str) -> str | None:
    """The document that the file with this path shows: of those that have it, the one that was shown last."""
    from moot.core.deciders.document import of_file

    found: list[tuple[int, str]] = []
    for name in [name for kind, name in things_of_task(store, of_file(path) or "") if kind == "document"]:
        one, _ = states.state(store, "document", name)
        if path.startswith("/") or one.worktree == worktree:
            found.append((one.shown, name))
    return max(found, key=lambda one: one[0])[1] if found else None


def thing_ids(store: Store, kind: str, first: str, end: str) -> list[str]:
    """The ids of one kind from `first` on and before `end`."""
    return [name for (name,) in store.rows("thing_ids", kind, first, end)]


def count_things(store: Store, kind: str, *, ended: bool = False) -> int:
    """The number of these entities."""
    return int(store.value("count_things", kind, ended))


def told(store: Store, name: str) -> set[str]:
    """The mailboxes, in lower case, that received a message of this thread."""
    return {box.lower() for message in thread(store, name) for box in message.to}


def things_of_task(store: Store, task: str) -> list[tuple[str, str]]:
    """Kind and id of every entity that belongs to the task."""
    return [(kind, name) for kind, name in store.rows("things_of_task", task)]


def stopped(store: Store, state: str, limit: int = ALL) -> list[Task]:
    """Tasks that stopped in this state without being done."""
    return [Task.of(loads(body)) for (body,) in store.rows("stopped_tasks", state, limit)]


def tasks(store: Store, state: str | None = None, *, ended: bool = True) -> list[Task]:
    return [Task.of(loads(body)) for _, body in store.rows("tasks", state, ended)]


def tasks_in(store: Store, phase: str, state: str, limit: int, *, blocked: bool = False) -> list[Task]:
    """The oldest tasks in a state, either those that are blocked or those that are not."""
    return [Task.of(loads(body)) for (body,) in store.rows("tasks_in", phase, state, blocked, limit)]


def in_review(store: Store, limit: int = ALL) -> list[Task]:
    """The oldest tasks that are in review."""
    return [Task.of(loads(body)) for (body,) in store.rows("in_review", limit)]


def without_review(store: Store, lifecycles: Iterable[str], since: str, limit: int) -> list[str]:
    """Tasks that agents added without review, newest first: unfinished ones, and those that ended after `since`."""
    return [str(name) for (name,) in store.rows("tasks_without_review", since, dumps(list(lifecycles)), limit)]


def ready(store: Store, limit: int = 100, besides: Iterable[str] = ()) -> list[Task]:
    """Tasks that can be started now, most urgent first, except those named in `besides`."""
    return [Task.of(loads(body)) for _, body in store.rows("ready", limit, dumps(list(besides)))]


def count_ready(store: Store, besides: Iterable[str] = ()) -> int:
    """The number of these tasks."""
    return int(store.value("count_ready", dumps(list(besides))))


def planned_tasks(store: Store) -> dict[str, str]:
    """The ids of the tasks that were added from plans, by their origin, oldest first."""
    return dict(store.rows("planned_tasks"))


def assigned_tasks(store: Store, agent: str | None = None) -> list[Task]:
    """Open tasks that are assigned to this agent, or to any, most urgent first."""
    return [Task.of(loads(body)) for (body,) in store.rows("assigned_tasks", agent.lower() if agent else None)]


def counts(store: Store) -> list[tuple[str, str, int, int]]:
    """For each state: its name, its phase, the number of tasks, and how many of them are blocked."""
    return [(state, phase, n, blocked) for state, phase, n, blocked in store.rows("task_counts")]


def task_ids(store: Store, state: str | None = None) -> list[str]:
    rows = store.rows("task_ids_by_state", state) if state else store.rows("task_ids")
    return [row[0] for row in rows]


def tasks_held_by(store: Store, principal: str) -> list[str]:
    return [row[0] for row in store.rows("held_by", principal)]


def held_tasks(store: Store) -> list[str]:
    return [row[0] for row in store.rows("held_tasks")]


def dependents(store: Store, task: str) -> list[str]:
    return [row[0] for row in store.rows("dependents", task)]


def highest_number(store: Store) -> int:
    return int(store.value("highest_number") or 0)


def tasks_numbered(store: Store, number: int) -> list[str]:
    """The ids of the form `task-N` with this number: task-007 and task-7 for 7."""
    return [row[0] for row in store.rows("tasks_numbered", number)] if number else []


def newer(store: Store) -> str | None:
    """The first event that this version does not know, if any. Such a log is read-only for this version."""
    return store.standing()[2]
