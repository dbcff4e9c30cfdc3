"""Imports the lines of an export into the log, however many there are.

An import gives every event the position that it had: positions are fencing tokens, and tasks and claims name them. So
it goes on exactly where the log ends, in whole commits, or it does not go on.
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
_LARGEST_COMMIT = 10_000  # events; more than any command may cause


class Imported(Record):
    """What came of an import: events that are new, that were there already, and of a commit cut off at the end."""

    events: int = 0
    known: int = 0
    cut_off: int = 0
    head: int = 0
    dry_run: bool = False
    blobs: int = 0  # that are new here
    lacking: tuple[str, ...] = ()  # blobs that events of the file name, and that are neither in it nor here


class Import:
    """One file on its way into the log."""

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
        self._last = 0  # the position of the event before, 0 at the start of the file
        self._commit: list[Item] = []
        self._ready: Commits = []
        self._events = self._weight = 0
        self._there: list[Event] = []  # a page of what the log has, to compare with
        self._source = ""
        self._torn = 0  # lines that are not whole
        self._unproven: set[int] = set()  # positions without their text whose redaction is still to come
        self.new = self.known = 0

    def take(self, lines: Iterable[bytes]) -> Imported:
        """Read all lines. Whole commits are in the log afterwards, in the order of the file."""
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
            raise cloudevents.Bad("a blob stands in the middle of a commit")
        self._blobs.take(piece, self._last)

    def _decoded(self, raw: bytes, number: int) -> str:
        if len(raw) > LONGEST:
            raise self._bad(number, f"it is longer than {LONGEST} bytes")
        try:
            return raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            if not raw.endswith(b"\n"):
                return "{"  # cut in the middle of a character, and so of a line
            raise self._bad(number, "it is not UTF-8") from None

    def _item(self, found: Item, number: int) -> None:
        event = found.event
        expected = (self._last or event.position - 1) + 1
        begun = self._commit[0] if self._commit else None
        if event.position != expected:
            raise self._bad(number, f"it has position {event.position}, and {expected} comes next; a selection of "
                            "events cannot be imported")  # fmt: skip
        if event.n != len(self._commit) or (begun is not None and not _belong(begun, found)):
            raise self._bad(number, "it does not go on with the commit that the line before is of")
        if found.size > _LARGEST_COMMIT:
            raise self._bad(number, f"its commit has more than {_LARGEST_COMMIT} events")
        if not self._source:
            self._begin(found, number)
        if found.source != self._source:
            raise self._bad(number, "it comes from another workspace than the line before")
        self._check_digest(event, number)
        self._last = event.position
        self._commit.append(found)
        if len(self._commit) == found.size:
            self._whole(number)

    def _check_digest(self, event: Event, number: int) -> None:
        """An event must be what its digest says, unless its text was redacted. An older export has no digests."""
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

    def _begin(self, found: Item, number: int) -> None:
        self._source = found.source
        if self._head and cloudevents.identity_of(found.source) != self._archive.identity():
            raise self._another_history(found.event.position, number)

    def _whole(self, number: int) -> None:
        """A commit is complete: it is known, or the next one, or there is no way."""
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
                f"Line {number}: the file goes on at position {start}, and the log ends at {end}.",
                "An event keeps its position, because tokens of tasks and claims name it. Import what comes before "
                "first, or export without --after.",
                line=number,
                head=end,
            )
        if start == self._head + 1 and self._head:
            self._compare_last(events[0], number)
        problem = self._trial.fold(events)
        if problem is not None:
            raise self._bad(number, f"the commit that ends there is not one of moot's ({problem})")
        self._check_tombstones(events, number)
        first = events[0]
        commit = Commit(id=first.commit, at=first.at, by=first.by, via=first.via)
        self._ready.append((commit, [_draft(event) for event in events]))
        self._events += len(events)
        if self._events >= _BATCH or self._weight >= _HEAVY:
            self._store()

    def _check_tombstones(self, events: list[Event], number: int) -> None:
        """A redaction must name the event that stands there, or `verify` would call the log damaged; and only words."""
        for event in events:
            if event.type != TOMBSTONE:
                continue
            said, named = event.data, event.data["position"]
            if not 0 < named < event.position:
                raise self._bad(number, f"the redaction names another event than the one at position {named}")
            commit, n, found = self._standing(named, events)
            if found is None:
                continue
            if (commit, n) != (said["commit"], said["n"]):
                raise self._bad(number, f"the redaction names another event than the one at position {named}")
            digest = found.digest
            written = digest is None or digest_of(storable(found.data).encode()).hex() == digest
            fault = self._proof.fault(named, found, written=written)
            if fault is not None:
                raise self._bad(number, f"the redaction of position {named} does not fit what stands there: {fault}")
            self._unproven.discard(named)

    def _standing(self, position: int, events: list[Event]) -> tuple[str, int, Event | Draft | None]:
        """Which event is there, or will be with these; None where a dry run cannot know."""
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
            if not self._there or self._there[-1].position < event.position:
                self._there = self._log.read(event.position - 1, _PAGE)
            if not self._there:  # it cannot be read
                raise self._another_history(event.position, number)
            ours = self._there[event.position - self._there[0].position]
            if not _same(ours, event):
                raise self._another_history(event.position, number)

    def _compare_last(self, event: Event, number: int) -> None:
        """Nothing of the file was there to compare with: at least the streams must go on where ours ends."""
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
                    "Let the agents pause, and import into a workspace where nobody works.",
                    head=self._head,
                )
        self._head += self._events
        self.new += self._events
        self._ready, self._events, self._weight = [], 0, 0

    def _leave_unproven(self) -> None:
        """The file ends here for us. What its rest would have explained is left out, with all that follows it."""
        first = min((position for position in self._unproven if position > self._head), default=0)
        while first and self._ready and first <= self._head + self._events:
            _, drafts = self._ready.pop()
            self._events -= len(drafts)

    def _another_history(self, position: int, number: int) -> Refused:
        return Refused(
            "another_history",
            f"Line {number}: the log has something else at position {position} than the file.",
            "An import goes into the workspace that it came from, or into an empty one: every event keeps its "
            "position, because tokens of tasks and claims name it. `moot init` elsewhere makes an empty workspace.",
            line=number,
            position=position,
        )

    def _bad(self, number: int, what: str) -> Refused:
        self._store(failed=True)  # what came before was whole
        stored = "Nothing was imported." if not self.new else f"Imported before it: up to position {self._head}."
        return Refused(
            "bad_import",
            f"Line {number} cannot be imported: {what}. {stored}",
            "Correct the file, or export it again. What is there already is skipped the next time.",
            line=number,
            imported=self.new,
        )


def _draft(event: Event) -> Draft:
    fields = event.__dict__
    return Draft.made({name: fields[name] for name in _OF_DRAFT})


def _same(ours: Event, theirs: Event) -> bool:
    """Whether it is one event; its text may have been taken out of sight on either side."""
    if any(ours.__dict__[name] != theirs.__dict__[name] for name in _OF_EVENT):
        return False
    return ours.data == theirs.data or _origin(ours) == _origin(theirs)


def _origin(event: Event) -> str:
    from moot.core.integrity.redaction import MARK, digest_of

    return str(event.data.get(MARK) or digest_of(event.data))


def _belong(one: Item, other: Item) -> bool:
    a, b = one.event, other.event
    return (a.commit, a.at, a.by, a.via, one.size) == (b.commit, b.at, b.by, b.via, other.size)
