"""Notes: a kind that exists in this folder only. Somebody writes one, changes it, and closes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.core.errors import Held, Refused, Unknown
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.record import Record

if TYPE_CHECKING:
    from moot.core.kind import Meta


class Written(Payload):
    type = "note:written"
    said = "wrote “{title}”"
    words = ("title", "body")
    names = ("place",)
    marks = ("author", "task")
    author: str
    title: str
    body: str = ""
    place: str = ""
    task: str | None = None


class Closed(Payload):
    type = "note:closed"
    said = "closed"
    words = ("reason",)
    reason: str = ""


class Note(Record):
    id: str
    author: str = ""
    title: str = ""
    body: str = ""
    place: str = ""
    task: str | None = None
    status: str = ""  # empty (none), open, closed
    at: str = ""
    changes: int = 0


class Write(Record):
    author: str
    title: str
    body: str = ""
    place: str = ""
    task: str | None = None


class Close(Record):
    reason: str = ""


def decide(note: Note, command: Write | Close, _facts: object = None) -> list[Payload]:
    if note.status == "closed":
        raise Held("note_closed", f"{note.id} is closed.", "Write another.", note=note.id)
    if isinstance(command, Write):
        if not command.title:
            raise Refused("empty_note", "A note needs a title.", "Give it one.", note=note.id)
        return [Written(**command.__dict__)]
    if not note.status:
        raise Unknown("unknown_note", f"There is no note {note.id}.", "Write it.", note=note.id)
    return [Closed(reason=command.reason)]


def evolve(note: Note, event: Payload, meta: Meta) -> Note:
    if isinstance(event, Written):
        return note.replace(status="open", at=meta.at, changes=note.changes + 1, **event.__dict__)
    return note.replace(status="closed")


KIND = Kind(
    name="note",
    events={cls.type: cls for cls in (Written, Closed)},
    decide=decide,
    evolve=evolve,
    state=Note,
    columns=lambda note: {
        "open": note.status == "open",
        "task": note.task,
        "title": note.title,
        "state": note.status,
    },
    plural="notes",
    made_by="`take a note`",
)
