"""Held entries: text in a protocol's file that could not be accepted. It is kept byte for byte and never lost.

What always holds:
- The original bytes are in the log (an entry), or in a blob that the log names (a whole file).
- A held entry does not affect any task or mailbox. A corrected entry in the file is a new one.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.record import Record, unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.kind import Meta


class HoldEntry(Record):
    path: str
    mirror: str
    raw: str
    code: str
    reason: str
    defects: tuple[dict[str, Any], ...] = ()
    task: str | None = None


class EntryHeld(HoldEntry, Payload):
    type = "entry:held"
    said = "held an entry of {path}"
    words = ("raw", "reason", "defects")
    names = ("path",)
    marks = ("mirror", "code", "task")


class QuarantineFile(Record):
    path: str
    mirror: str
    sha256: str
    size: int
    reason: str


class FileQuarantined(QuarantineFile, Payload):
    type = "file:quarantined"
    said = "quarantined {path} as {sha256}"
    words = ("reason",)
    names = ("path",)
    marks = ("mirror", "sha256")
    blobs = ("sha256",)


class EntryDropped(Payload):
    type = "entry:dropped"
    said = "dropped"
    words = ("reason",)
    reason: str


EVENTS: dict[str, type[Payload]] = {cls.type: cls for cls in (EntryHeld, FileQuarantined, EntryDropped)}


class HeldEntry(Record):
    id: str
    status: str = ""  # empty (none), held, dropped
    kind: str = "entry"  # or file
    path: str = ""
    mirror: str = ""
    raw: str | None = None
    sha256: str | None = None
    code: str = ""
    reason: str = ""
    defects: tuple[dict[str, Any], ...] = ()
    task: str | None = None
    at: str = ""


class Drop(Record):
    reason: str


def decide(state: HeldEntry, command: HoldEntry | QuarantineFile | Drop, _facts: object = None) -> list[Payload]:
    match command:
        case HoldEntry():
            _check_new(state)
            return [EntryHeld(**command.__dict__)]
        case QuarantineFile():
            _check_new(state)
            return [FileQuarantined(**command.__dict__)]
        case Drop():
            _check_open(state)
            if not command.reason.strip():
                raise Refused("reason_missing", "`drop` requires a reason.", "Give one: `--reason '…'`.")
            return [EntryDropped(reason=command.reason)]
        case _:
            unreachable(command)


def _check_open(state: HeldEntry) -> None:
    """Raise unless it is held."""
    if not state.status:
        raise Unknown("unknown_entry", f"There is no held entry {state.id}.", "`moot held` lists the held entries.")
    if state.status != "held":
        raise Held("entry_closed", f"{state.id} was already {state.status}.", "Nothing is left to do.")


def _check_new(state: HeldEntry) -> None:
    if state.status:
        raise Refused("entry_exists", f"The id {state.id} is already used.", "Choose another id.", entry=state.id)


def evolve(state: HeldEntry, event: Payload, meta: Meta) -> HeldEntry:
    match event:
        case EntryHeld():
            return HeldEntry(id=state.id, status="held", at=meta.at, **event.__dict__)
        case FileQuarantined():
            fields = {k: v for k, v in event.__dict__.items() if k != "size"}
            return HeldEntry(id=state.id, status="held", kind="file", code="unparsable", at=meta.at, **fields)
        case EntryDropped():
            return state.replace(status="dropped")
        case _:
            raise TypeError(f"not an event of an entry: {event!r}")


KIND = Kind(
    name="entry",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=HeldEntry,
    made_by="A file of a pack, and `moot held drop`,",
)
