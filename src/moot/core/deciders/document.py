"""Documents: a structured file whose leaves have owners, kept in the log so that it can be rewritten at any time.

What always holds:
- Only its owner changes a leaf that has one. A change by anybody else is refused, recorded and overwritten.
- A leaf without an owner is foreign: it is kept as it is, and anybody may change it.
- A change is compared with the version its writer read (`base`). A leaf that both the log and the file changed since
  then is a conflict: the mirror defines which side wins, and the event records both values.
- If the base is unknown, leaves that only the file has are accepted, and every difference is a conflict.
- Several documents can have the same path. The file shows the one that was opened or shown last.

    status    empty (none), open

The id is `<pack>.<worktree>.<slug>`; a document of the whole workspace has `-` for a worktree.
"""

from __future__ import annotations

from moot.core import flat_json
from moot.core.errors import Refused, Unknown
from moot.core.flat_json import LeafChange
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.record import Record, unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.core.kind import Meta

MOOT = "moot"  # the owner of what no file may change
WORKSPACE = "-"
_LARGEST = 10_000  # leaves


def key(pack: str, worktree: str, slug: str) -> str:
    return f"{pack}.{worktree}.{slug}"


class OpenDocument(Record):
    mirror: str  # `pack/name`
    leaves: Mapping[str, Any]
    worktree: str = WORKSPACE
    subject: str = ""  # replaces the placeholder in the mirror's path
    path: str = ""  # of the file, if not the mirror's: relative to the worktree, or absolute


class Opened(OpenDocument, Payload):
    type = "document:opened"
    said = "opened"
    words = ("leaves",)
    names = ("subject", "path")
    marks = ("mirror", "worktree")


class DocumentChanged(Payload):
    type = "document:changed"
    said = "changed: {set:json}"
    asides = (("gone", "removed: {gone}"),)
    words = ("set",)
    names = ("gone",)
    marks = ("author",)
    set: dict[str, Any]
    gone: tuple[str, ...] = ()
    author: str = ""


class ChangeRefused(Payload):
    type = "document:refused"
    said = "refused: {set:json}"
    asides = (("gone", "not removed: {gone}"),)
    words = ("set",)
    names = ("gone",)
    marks = ("author", "owners")
    set: dict[str, Any]
    gone: tuple[str, ...] = ()
    author: str = ""
    owners: tuple[str, ...] = ()


class Conflicted(Payload):
    type = "document:conflicted"
    said = "log and file differ, the {won} wins: {file:json}"
    words = ("log", "file")
    marks = ("author", "won")
    log: dict[str, Any]  # a leaf missing on one side was removed there
    file: dict[str, Any]
    won: str
    author: str = ""


class Reset(Payload):
    type = "document:reset"
    said = "reset: {reason}"
    words = ("leaves", "reason")
    leaves: dict[str, Any]
    reason: str


class DocumentShown(Payload):
    type = "document:shown"
    said = "shown in its file {path}"
    names = ("path",)
    path: str = ""


class DocumentRestored(Payload):
    type = "document:restored"
    said = "restored: {reason}"
    words = ("reason",)
    reason: str


EVENTS: dict[str, type[Payload]] = {
    cls.type: cls
    for cls in (Opened, DocumentChanged, ChangeRefused, Conflicted, Reset, DocumentShown, DocumentRestored)
}


class Document(Record):
    id: str
    status: str = ""
    mirror: str = ""
    worktree: str = WORKSPACE
    subject: str = ""
    path: str = ""
    leaves: dict[str, Any] = {}  # noqa: RUF012
    changes: int = 0
    shown: int = 0  # the position of the event that made its file show it
    at: str = ""
    changed_at: str = ""


class ChangeDocument(Record):
    """A change by a verb, a stage or a reaction. `author` is the owner that it acts for."""

    author: str
    set: Mapping[str, Any] = {}
    gone: tuple[str, ...] = ()
    owners: Mapping[str, str] = {}


class AbsorbDocument(Record):
    """A change read from a file. `base` is the version its writer read; None if unknown."""

    author: str
    leaves: Mapping[str, Any]
    base: Mapping[str, Any] | None
    owners: Mapping[str, str] = {}
    wins: str = "log"


class ResetDocument(Record):
    leaves: Mapping[str, Any]
    reason: str


class ShowDocument(Record):
    """Make the file show this document. With a path, the document moves to another file."""

    path: str = ""


class RestoreDocument(Record):
    reason: str


Command = OpenDocument | ChangeDocument | AbsorbDocument | ResetDocument | ShowDocument | RestoreDocument


def decide(state: Document, command: Command, _facts: object = None) -> list[Payload]:
    match command:
        case OpenDocument():
            _bounded(command.leaves)
            return [] if state.status else [Opened(**{**command.__dict__, "leaves": dict(command.leaves)})]
        case ChangeDocument():
            _check_open(state)
            return _change(state, command)
        case AbsorbDocument():
            _check_open(state)
            return _absorb(state, command)
        case ResetDocument():
            _check_open(state)
            same = flat_json.difference(state.leaves, command.leaves).pointers == ()
            return [] if same else [Reset(leaves=dict(command.leaves), reason=command.reason)]
        case ShowDocument():
            _check_open(state)
            return [DocumentShown(path=command.path or state.path)]
        case RestoreDocument():
            _check_open(state)
            return [DocumentRestored(reason=command.reason)]
        case _:
            unreachable(command)


def _change(state: Document, command: ChangeDocument) -> list[Payload]:
    asked = LeafChange(set=dict(command.set), gone=command.gone)
    after = _bounded(flat_json.applied(state.leaves, asked))
    change = flat_json.difference(state.leaves, after)
    alien = [at for at in change.pointers if flat_json.owner_of(at, command.owners) not in (None, command.author)]
    if alien:
        raise Refused(
            "not_the_owner",
            f"{command.author} does not own {', '.join(alien)} of {state.id}.",
            f"Leave it to {', '.join(sorted({str(flat_json.owner_of(at, command.owners)) for at in alien}))}.",
            document=state.id,
            pointers=alien,
        )
    return [DocumentChanged(set=change.set, gone=change.gone, author=command.author)] if change.pointers else []


def _absorb(state: Document, command: AbsorbDocument) -> list[Payload]:
    base = state.leaves if command.base is None else command.base
    theirs = flat_json.difference(base, command.leaves)
    news = flat_json.difference(state.leaves, flat_json.applied(state.leaves, theirs)).pointers
    theirs = theirs.only(news)  # without what the log already has
    alien = [at for at in theirs.pointers if flat_json.owner_of(at, command.owners) not in (None, command.author)]
    theirs, refused = theirs.only(set(theirs.pointers) - set(alien)), theirs.only(alien)
    if command.base is None:  # an old copy looks like a change: only new leaves are certain to be changes
        ours: tuple[str, ...] = tuple(state.leaves)
    else:
        ours = flat_json.difference(base, state.leaves).pointers
    clash = list(filter(flat_json.overlapping(ours), theirs.pointers))
    found: list[Payload] = []
    if clash:
        meant = flat_json.overlapping(clash)
        here = {at: value for at, value in state.leaves.items() if meant(at)}
        there = theirs.only(clash).set
        found.append(Conflicted(log=here, file=there, won=command.wins, author=command.author))
    if command.wins == "log":
        theirs = theirs.only(set(theirs.pointers) - set(clash))
    if refused.pointers:
        owners = {str(flat_json.owner_of(at, command.owners)) for at in alien}
        found.append(
            ChangeRefused(set=refused.set, gone=refused.gone, author=command.author, owners=tuple(sorted(owners)))
        )
    if theirs.pointers:
        _bounded(flat_json.applied(state.leaves, theirs))
        found.append(DocumentChanged(set=theirs.set, gone=theirs.gone, author=command.author))
    return found


def _bounded(found: Mapping[str, Any]) -> dict[str, Any]:
    if len(found) > _LARGEST:
        raise Refused(
            "document_too_large",
            f"The document has {len(found)} leaves; the limit is {_LARGEST}.",
            "Keep large data in a separate file and give its path.",
            leaves=len(found),
        )
    return dict(found)


def _check_open(state: Document) -> None:
    if not state.status:
        raise Unknown("unknown_document", f"There is no document {state.id}.", "Open it first.", document=state.id)


def evolve(state: Document, event: Payload, meta: Meta) -> Document:
    match event:
        case Opened():
            return state.replace(status="open", at=meta.at, changed_at=meta.at, shown=meta.position, **event.__dict__)
        case DocumentShown():
            return state.replace(path=event.path, shown=meta.position)
        case DocumentChanged():
            change = LeafChange(set=dict(event.set), gone=tuple(event.gone))
            return _changed(state, flat_json.applied(state.leaves, change), meta)
        case Reset():
            return _changed(state, dict(event.leaves), meta)
        case ChangeRefused() | Conflicted() | DocumentRestored():
            return state
        case _:
            raise TypeError(f"not an event of a document: {event!r}")


def _changed(state: Document, found: dict[str, Any], meta: Meta) -> Document:
    return state.replace(leaves=found, changes=state.changes + 1, changed_at=meta.at)


def of_file(path: str) -> str | None:
    """The value of the column `task` for the documents in a file. No task can have such an id."""
    return f"file:{path}" if path else None


def columns(state: Document) -> dict[str, Any]:
    return {"open": bool(state.status), "title": state.mirror, "state": state.status, "task": of_file(state.path)}


KIND = Kind(
    name="document",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Document,
    columns=columns,
    made_by="A file of a pack",
    pack=lambda name: name.partition(".")[0],
)
