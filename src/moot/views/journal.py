"""What happened in a pack, one row for each event: the lines of its journal.

A row has the sentence of its event, so that a file is rendered without reading the log again. What a reader of the
journal needs beside it, and what may change later, is stored as it was (`was`): the title of a task that was reviewed.

An event belongs to a pack if it says so, or if its task follows a lifecycle of that pack.
"""

from __future__ import annotations

from moot.core.json_codec import dumps, loads, storable
from moot.core.record import Record
from moot.core.sentences import sentence
from moot.views.queries import ALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.event import Event
    from moot.core.task import Task
    from moot.views.store import Store

_WIDTH = 4000  # characters of a sentence: the reason of a held entry lists all its defects
_AS_IT_WAS = ("title", "priority", "report", "extra", "attempt")


class Happening(Record):
    """One event of a pack, as its journal shows it."""

    position: int
    at: str
    who: str
    type: str
    task: str | None
    text: str
    was: dict[str, Any] = {}  # noqa: RUF012


# --- writing, while events are folded --------------------------------------------------------------------------------


def put(
    store: Store, event: Event, pack: str, task: str | None, was: dict[str, Any] | None = None, about: str = ""
) -> None:
    text = f"{about}{sentence(event, _WIDTH)}"
    kept = storable(was) if was else None
    store.run("put_happening", pack, event.position, event.at, event.by, event.type, task, text, kept)


def put_entry(store: Store, event: Event, name: str, task: str | None) -> None:
    """A held entry. Its first event says what it is; the later ones name it."""
    first = event.type in ("entry:held", "file:quarantined")
    put(store, event, str(event.pack), task, about="" if first else f"{name} ")


def put_task(store: Store, event: Event, before: Task, after: Task) -> None:
    """An event of a task. If it ends a review, what was reviewed is kept with it."""
    pack, reviewed = after.lifecycle.partition("/")[0], before.phase == "review" != after.phase
    was = {name: before.__dict__[name] for name in _AS_IT_WAS} if reviewed else {}
    put(store, event, pack, after.id, {**was, "reason": event.data.get("reason")} if reviewed else None)


def put_clear(store: Store, event: Event) -> None:
    """Messages that left a file, or came back into it."""
    found = [task for _, task in store.rows("tasks_of_messages", dumps(list(event.data.get("ids", ()))))]
    put(store, event, str(event.pack), ", ".join(dict.fromkeys(found)) or None)


# --- reading ---------------------------------------------------------------------------------------------------------


def happenings(store: Store, pack: str, after: int = 0, upto: int = ALL) -> list[Happening]:
    """What happened after a position, oldest first."""
    return [_happening(row) for row in store.rows("happenings", pack, after, upto)]


def times(store: Store, pack: str) -> set[str]:
    """The times of everything that happened, and of moot's own notes."""
    return {at for (at,) in store.rows("times_of_happenings", pack)}


def _happening(row: tuple[Any, ...]) -> Happening:
    return Happening.in_order((*row[:-1], loads(row[-1]) if row[-1] else {}))
