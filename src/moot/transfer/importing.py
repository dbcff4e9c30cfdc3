"""Imports the lines of an export into the log, however many there are.

Every event keeps its position, because positions are fencing tokens that tasks and claims name. So the new commits of a
file must continue exactly where the log ends.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused
from moot.core.event import TOMBSTONE, Commit, Draft
from moot.core.integrity.chain import digest_of
from moot.core.json_codec import storable
from moot.core.record import Record
from moot.transfer import cloudevents
from moot.transfer.blob_lines import piece_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moot.core.event import Event
    from moot.log import Log
    from moot.transfer.blob_lines import BlobImport, Piece
    from moot.transfer.cloudevents import Item
    from moot.transfer.redaction_proof import RedactionProof
    from moot.views.trial import Trial

    Commits = list[tuple[Commit, list[Draft]]]

LONGEST = 64 << 20  # bytes in one line
_OF_DRAFT = ("stream", "type", "data", "v", "cause", "thread", "pack", "digest")
_OF_EVENT = ("commit", "n", "stream", "type", "v", "prev", "at", "by", "cause", "thread", "pack")
_PAGE = 1000
_BATCH = 2000  # events in one transaction
_HEAVY = 8 << 20  # bytes of lines in one transaction
_LARGEST_COMMIT = 10_000  # events; no command causes more


class Imported(Record):
    """The result of an import: the numbers of new events, of known ones, and of those in an incomplete last commit."""

    events: int = 0
    known: int = 0
    cut_off: int = 0
    head: int = 0
    dry_run: bool = False
    blobs: int = 0  # new ones
    lacking: tuple[str, ...] = ()  # blobs that events of the file name, and that are neither in it nor here


class Import:
    """The import of one file."""

    def __init__(
        self,
        log: Log,
        trial: Trial,
        proof: RedactionProof,
        blobs: BlobImport,
        *,
        dry_run: bool,
        progress: Callable[[int], None],
    ) -> None:
        self._blobs = blobs
        self._log, self._archive, self._trial, self._proof = log, log.archive, trial, proof
        self._dry_run, self._progress = dry_run, progress
        self._head = log.head()
        self._last = 0  # the position of the previous event; 0 at the start of the file
        self._commit: list[Item] = []
        self._ready: Commits = []
        self._events = self._weight = 0
        self._page: list[Event] = []  # of the log, to compare with
        self._source = ""
        self._torn = 0  # incomplete lines: 0 or 1
        self._unproven: set[int] = set()  # positions of redacted events whose redaction comes later in the file
        self.new = self.known = 0

    def take(self, lines: Iterable[bytes]) -> Imported:
        """Read all lines, and append their complete commits to the log."""
        number, done = 0, 0
        for number, raw in enumerate(lines, 1):
            done += len(raw)
            text = self._decoded(raw, number)
            if text.strip():
                try:
                    piece = piece_of(text)
                    if piece is not None:
                        self._piece(piece)
                        continue
                    found = cloudevents.item(text)
                except cloudevents.Bad as error:
                    if not raw.endswith(b"\n"):  # the file ends in the middle of a line
                        self._torn = 1
                        break
                    raise self._bad(number, str(error)) from None
                self._weight += len(raw)
                self._item(found, number)
            self._progress(done)
        self._store()
        return Imported(
            events=self.new,
            known=self.known,
            cut_off=len(self._commit) + self._torn,
            head=self._head,
            dry_run=self._dry_run,
            blobs=self._blobs.brought,
            lacking=self._blobs.lacking(),
        )

    def _piece(self, piece: Piece) -> None:
        if self._commit:
            raise cloudevents.Bad("there is a blob in the middle of a commit")
        self._blobs.take(piece, self._last)

    def _decoded(self, raw: bytes, number: int) -> str:
        if len(raw) > LONGEST:
            raise self._bad(number, f"it is longer than {LONGEST} bytes")
        try:
            return raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            if not raw.endswith(b"\n"):
                return "{"  # an incomplete line, cut inside a character
            raise self._bad(number, "it is not UTF-8") from None

    def _item(self, found: Item, number: int) -> None:
        event = found.event
        expected = (self._last or event.position - 1) + 1
        begun = self._commit[0] if self._commit else None
        if event.position != expected:
            what = f"expected position {expected}, got {event.position}; a selection of events cannot be imported"
            raise self._bad(number, what)
        if event.n != len(self._commit) or (begun is not None and not _belong(begun, found)):
            raise self._bad(number, "it does not continue the commit of the previous line")
        if found.size > _LARGEST_COMMIT:
            raise self._bad(number, f"its commit has more than {_LARGEST_COMMIT} events")
        if not self._source:
            self._source = found.source
            if self._head and cloudevents.identity_of(found.source) != self._archive.identity():
                raise self._another_history(event.position, number)
        if found.source != self._source:
            raise self._bad(number, "it comes from another workspace than the previous line")
        self._check_digest(event, number)
        self._last = event.position
        self._commit.append(found)
        if len(self._commit) == found.size:
            self._whole(number)

    def _check_digest(self, event: Event, number: int) -> None:
        """An event must match its digest, unless its text was redacted. An older export has no digests."""
        if event.digest is None or digest_of(storable(event.data).encode()).hex() == event.digest:
            return
        fault = self._proof.fault(event.position, event, written=False)
        if fault is not None:
            self._store(failed=True)  # what came before was whole
            raise Refused(
                "digest_mismatch",
                f"Line {number}: the data of {event.type} at position {event.position} is not what its digest says, "
                "and no redaction in the file explains that.",
                "The file was changed after it was exported: export it again. What came before that line is imported.",
                line=number,
                position=event.position,
                imported=self.new,
            )
        self._unproven.add(event.position)

    def _whole(self, number: int) -> None:
        """Take a complete commit: it must be known already, or continue the log."""
        events = [found.event for found in self._commit]
        try:
            self._blobs.commit(events, self._source)
        except cloudevents.Bad as error:
            raise self._bad(number, str(error)) from None
        self._commit = []
        start, last = events[0].position, events[-1].position
        end = self._head + self._events
        if last <= self._head:
            self._compare(events, number)
            self.known += len(events)
            return
        if start != end + 1:
            raise Refused(
                "import_gap",
                f"Line {number}: the file continues at position {start}, but the log ends at {end}.",
                "Every event keeps its position, because tokens of tasks and claims name it. First import the events "
                "before it, or export without --after.",
                line=number,
                head=end,
            )
        if start == self._head + 1 and self._head:
            self._compare_last(events[0], number)
        problem = self._trial.fold(events)
        if problem is not None:
            raise self._bad(number, f"the commit that ends there is not valid ({problem})")
        self._check_tombstones(events, number)
        first = events[0]
        commit = Commit(id=first.commit, at=first.at, by=first.by, via=first.via)
        self._ready.append((commit, [_draft(event) for event in events]))
        self._events += len(events)
        if self._events >= _BATCH or self._weight >= _HEAVY:
            self._store()

    def _check_tombstones(self, events: list[Event], number: int) -> None:
        """A redaction must match the event it names, or `verify` would report damage; and it may only remove text."""
        for event in events:
            if event.type != TOMBSTONE:
                continue
            said, named = event.data, event.data["position"]
            if not 0 < named < event.position:
                raise self._bad(number, f"the redaction does not name the event at position {named}")
            commit, n, found = self._event_at(named, events)
            if found is None:
                continue
            if (commit, n) != (said["commit"], said["n"]):
                raise self._bad(number, f"the redaction does not name the event at position {named}")
            digest = found.digest
            written = digest is None or digest_of(storable(found.data).encode()).hex() == digest
            fault = self._proof.fault(named, found, written=written)
            if fault is not None:
                raise self._bad(number, f"the redaction of position {named} does not match that event: {fault}")
            self._unproven.discard(named)

    def _event_at(self, position: int, events: list[Event]) -> tuple[str, int, Event | Draft | None]:
        """The commit, number and content of the event at a position; None if a dry run cannot know it."""
        at = self._head
        for commit, drafts in self._ready:
            if at < position <= at + len(drafts):
                return commit.id, position - at - 1, drafts[position - at - 1]
            at += len(drafts)
        here = events if position > at else self._proof.log.raw.read(position - 1, 1)
        found = next((event for event in here if event.position == position), None)
        return (found.commit, found.n, found) if found is not None else ("", 0, None)

    def _compare(self, events: list[Event], number: int) -> None:
        for event in events:
            if not self._page or self._page[-1].position < event.position:
                self._page = self._log.read(event.position - 1, _PAGE)
            if not self._page or not _same(self._page[event.position - self._page[0].position], event):
                raise self._another_history(event.position, number)

    def _compare_last(self, event: Event, number: int) -> None:
        """If no event of the file is known, at least its first stream must continue the one in the log."""
        if self.known:
            return
        ours = self._log.read(event.prev - 1, 1) if event.prev else []
        if event.prev and (not ours or ours[0].stream != event.stream):
            raise self._another_history(event.prev, number)
        newer = self._log.read(event.prev, 1, event.stream)
        if newer:
            raise self._another_history(newer[0].position, number)

    def _store(self, *, failed: bool = False) -> None:
        if failed:
            self._leave_unproven()
        if self._ready and not self._dry_run:
            identity = cloudevents.identity_of(self._source)
            if not self._archive.extend(self._head, self._ready, identity):
                raise Held(
                    "log_moved",
                    "Somebody appended to the log during the import.",
                    "Import while no agent works in the workspace.",
                    head=self._head,
                )
        self._head += self._events
        self.new += self._events
        self._ready, self._events, self._weight = [], 0, 0

    def _leave_unproven(self) -> None:
        """Leave out redacted events whose redaction will not be read, and everything after them."""
        first = min((position for position in self._unproven if position > self._head), default=0)
        while first and self._ready and first <= self._head + self._events:
            _, drafts = self._ready.pop()
            self._events -= len(drafts)

    def _another_history(self, position: int, number: int) -> Refused:
        return Refused(
            "another_history",
            f"Line {number}: at position {position}, the log and the file have different events.",
            "Import into the workspace that the file came from, or into an empty one: every event keeps its position, "
            "because tokens of tasks and claims name it. `moot init` elsewhere creates an empty workspace.",
            line=number,
            position=position,
        )

    def _bad(self, number: int, what: str) -> Refused:
        self._store(failed=True)  # the commits before it are complete
        stored = f"Imported up to position {self._head}." if self.new else "Nothing was imported."
        return Refused(
            "bad_import",
            f"Line {number} cannot be imported: {what}. {stored}",
            "Correct the file, or export it again. The next import skips known events.",
            line=number,
            imported=self.new,
        )


def _draft(event: Event) -> Draft:
    fields = event.__dict__
    return Draft.made({name: fields[name] for name in _OF_DRAFT})


def _same(ours: Event, theirs: Event) -> bool:
    """Whether it is the same event. Its text may have been redacted on either side."""
    if any(ours.__dict__[name] != theirs.__dict__[name] for name in _OF_EVENT):
        return False
    return ours.data == theirs.data or _origin(ours) == _origin(theirs)


def _origin(event: Event) -> str:
    from moot.core.integrity.redaction import MARK, digest_of

    return str(event.data.get(MARK) or digest_of(event.data))


def _belong(one: Item, other: Item) -> bool:
    a, b = one.event, other.event
    return (a.commit, a.at, a.by, a.via, one.size) == (b.commit, b.at, b.by, b.via, other.size)
