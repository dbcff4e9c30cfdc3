"""What one looks at: inbox, board, agents, threads. Reads only; raises nothing."""

from __future__ import annotations

from moot.core.deciders.agent import Agent
from moot.core.deciders.message import Message
from moot.core.json_codec import dumps, loads
from moot.core.kind import kind_of
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.task import Task
from moot.views.states import entry_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from moot.core.deciders.entry import HeldEntry
    from moot.core.deciders.mailbox import MailboxEntry
    from moot.views.store import Store


class Delivery(Record):
    """One message at one recipient, with what it says."""

    mailbox: str
    entry: MailboxEntry
    message: Message


def _deliveries(rows: Iterable[tuple[Any, ...]]) -> list[Delivery]:
    return [
        Delivery(mailbox=box, entry=entry_of(name, *fields), message=Message.of(loads(body)))
        for box, name, *fields, body in rows
    ]


def inbox(store: Store, mailboxes: Iterable[str], limit: int) -> list[Delivery]:
    """What is not settled in any of these mailboxes, oldest first."""
    found = [d for box in mailboxes for d in _deliveries(store.rows("open_deliveries", box.lower(), limit))]
    return sorted(found, key=lambda d: d.message.position)[:limit]


def unsettled(store: Store, mailbox: str, reader: str, *, seen: bool) -> Iterator[Delivery]:
    """What is the reader's to settle in this mailbox, oldest first: either what it was shown, or what is new to it.

    What another took is not. The reader is a principal, the incarnation of an agent; one that took something counts
    as all its incarnations. Rows are read as one asks for them.
    """
    for row in store.rows("unsettled", mailbox.lower(), reader, seen, name_of(reader).lower()):
        yield from _deliveries((row,))


def count_unsettled(store: Store, mailbox: str, reader: str, *, seen: bool) -> tuple[int, int]:
    """How many there are of them, and about how many bytes."""
    row = store.row("count_unsettled", mailbox.lower(), reader, seen, name_of(reader).lower())
    return (int(row[0]), int(row[1])) if row else (0, 0)


def count_open(store: Store, mailbox: str) -> int:
    row = store.row("count_open", mailbox.lower())
    return int(row[0]) if row else 0


def waiting(store: Store) -> list[Delivery]:
    """Everything that still wants an ack or an answer, of anybody."""
    return _deliveries(store.rows("open_everywhere"))


def overdue(store: Store, now: float, of: int, limit: int) -> list[Delivery]:
    """Among the oldest `of` that still want an ack or an answer, those that wanted it before now; up to `limit`."""
    return _deliveries(store.rows("overdue", now, of, limit))


def open_per_mailbox(store: Store) -> list[tuple[str, int, str]]:
    """Per mailbox with mail that is not settled: its name in lower case, how much, and since when the oldest waits."""
    return [(box, count, since) for box, count, since in store.rows("open_per_mailbox")]


def mailbox(store: Store, name: str, task: str | None = None, limit: int = 1000) -> list[Delivery]:
    """What was ever put into a mailbox, oldest first, cleared or not."""
    if task is not None:
        return _deliveries(store.rows("mailbox_of_task", name.lower(), task))
    return _deliveries(store.rows("mailbox_history", name.lower(), limit))[::-1]


def shown_in_file(store: Store, name: str, kinds: Iterable[str]) -> list[Delivery]:
    """What a protocol's mailbox file shows: messages of its kinds that were not cleared."""
    return _deliveries(store.rows("mailbox_kinds", name.lower(), dumps(list(kinds))))


def last_read(store: Store, mailbox: str) -> str | None:
    row = store.row("mailbox", mailbox.lower())
    return row[1] if row else None


def was_last_read(store: Store, mailbox: str, value: str) -> bool:
    return store.row("has_read_mark", mailbox.lower(), value) is not None


def chain(store: Store, message: str) -> list[tuple[str, MailboxEntry, str | None, str | None]]:
    """Where a message stands with each recipient: mailbox, entry, when offered, when ended."""
    row = store.row("message", message)
    if row is None:
        return []
    boxes = dumps(sorted({name.lower() for name in loads(row[1])["to"]}))
    return [
        (box, entry_of(name, *fields), offered, ended)
        for box, name, *fields, offered, ended in store.rows("deliveries", row[0], boxes)
    ]


def thread(store: Store, name: str, limit: int = 1000) -> list[Message]:
    return [Message.of(loads(row[0])) for row in store.rows("messages_of_thread", name, limit)]


def messages_of_task(store: Store, task: str, attempt: int | None = None, kind: str | None = None) -> list[Message]:
    return [Message.of(loads(row[0])) for row in store.rows("messages_of_task", task, attempt, kind)]


def _prefixed(store: Store, kind: str) -> Iterator[tuple[str, int, Any]]:
    for stream, version, state in store.rows("entities", f"{kind}/", f"{kind}0"):  # "0" follows "/"
        yield stream, version, loads(state)


def agents(store: Store) -> list[Agent]:
    return [Agent.of(state) for _, _, state in _prefixed(store, "agent")]


def held_entries(store: Store) -> list[HeldEntry]:
    from moot.core.deciders.entry import HeldEntry

    return [e for _, _, state in _prefixed(store, "entry") if (e := HeldEntry.of(state)).status == "held"]


def things(store: Store, kind: str, limit: int, *, ended: bool = False) -> Iterator[Any]:
    """Entities of one kind: those that are open, oldest first; or all of them, newest first."""
    state = kind_of(kind).state
    assert state is not None
    for (body,) in store.rows("things" if ended else "open_things", kind, limit):
        yield state.of(loads(body))


def told(store: Store, name: str) -> set[str]:
    """The mailboxes, in lower case, that something in the thread of this name was sent to."""
    return {box.lower() for message in thread(store, name) for box in message.to}


def things_of_task(store: Store, task: str) -> list[tuple[str, str]]:
    """Kind and id of every entity that belongs to the task."""
    return [(kind, name) for kind, name in store.rows("things_of_task", task)]


def stopped(store: Store, state: str, limit: int) -> list[Task]:
    """Tasks that came to an end in this state and are not done."""
    return [Task.of(loads(body)) for (body,) in store.rows("stopped_tasks", state, limit)]


def tasks(store: Store, state: str | None = None, *, ended: bool = True) -> list[Task]:
    return [Task.of(loads(body)) for _, body in store.rows("tasks", state, ended)]


def tasks_in(store: Store, phase: str, state: str, limit: int, *, blocked: bool = False) -> list[Task]:
    """The oldest tasks in a state, those that wait for others or those that do not."""
    return [Task.of(loads(body)) for (body,) in store.rows("tasks_in", phase, state, blocked, limit)]


def ready(store: Store, limit: int = 100) -> list[Task]:
    return [Task.of(loads(body)) for _, body in store.rows("ready", limit)]


def counts(store: Store) -> list[tuple[str, str, int, int]]:
    """Per state: its name, its phase, how many tasks, how many of them blocked."""
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
    row = store.row("highest_number")
    return int(row[0] or 0) if row else 0


def newer(store: Store) -> str | None:
    """The first event that this version does not know, if the log has one: then it may read, and not decide."""
    return store.standing()[2]
