"""Reading the past (`--at`): a log that ends at an earlier position, and the views as of that position.

They replace the real log and views, and a stopped clock replaces the real one, so verbs need no special code. This
module does not change the log or the live views.
"""

from __future__ import annotations

from contextlib import closing, nullcontext

from moot.core import timestamps
from moot.core.errors import Held, Unavailable, Usage
from moot.core.event import Commit
from moot.core.record import Record
from moot.engine.clock import Clock
from moot.engine.presence import Presence
from moot.log import Appended, Duplicate, Handle, Log, Shown
from moot.private_files import discard
from moot.time_travel.moments import moment
from moot.views.private_copy import PrivateCopy
from moot.views.snapshots import Snapshots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from moot.core.event import Draft, Event, Key
    from moot.log import Conflict, Mismatch
    from moot.views.store import Store

    Progress = Callable[[str, int, int], None]

_PAGE = 1000
_STOP = 100_000  # events between the snapshots that a long fold keeps
_STOPS = 4
_TRIES = 5
_LARGEST = 1 << 63


class Moment(Record):
    """A moment in the past: the end position of the log, and the time (None: before the first event)."""

    position: int
    seconds: float | None
    said: bool = False  # the position differs from the requested one, so it should be shown


class PastLog(Log):
    """The events of another log up to one position. Read-only."""

    def __init__(self, log: Shown, end: int) -> None:
        self.handle = Handle()
        self.whole = log
        self._end = end

    def append(
        self,
        commit: Commit,
        conditions: Mapping[str, int],
        events: Sequence[Draft],
        key: Key | None = None,
    ) -> Appended | Duplicate | Conflict | Mismatch:
        """See `Log.append`. Works only without events, to check whether a commit is known."""
        if events:
            raise read_only("This")
        found = self.whole.append(commit, conditions, (), key)
        return Appended(0, 0) if isinstance(found, Duplicate) and found.last > self._end else found

    def read(self, after: int = 0, limit: int = 500, stream: str | None = None) -> list[Event]:
        """See `Log.read`."""
        if stream is None:
            return self.whole.read(after, min(limit, self._end - after)) if after < self._end else []
        return [event for event in self.whole.read(after, limit, stream) if event.position <= self._end]

    def head(self) -> int:
        """See `Log.head`."""
        return self._end

    def follow(self, after: int, timeout: float | None = None, stop: int | None = None) -> Iterator[list[Event]]:  # noqa: ARG002
        """See `Log.follow`. Ends at the last event of the past."""
        while events := self.read(after, _PAGE):
            after = events[-1].position
            yield events

    def exclusive(self) -> AbstractContextManager[object]:
        """See `Log.exclusive`. No lock is needed, because nothing is written."""
        return nullcontext()

    def close(self) -> None:
        """See `Log.close`."""
        self.whole.close()


class StoppedClock(Clock):
    """The time of day stands still. Monotonic time continues."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def wall_seconds(self) -> float:
        return self._seconds


class NoPresence(Presence):
    """Silence in the past is not known, and reading the past does not stamp presence."""

    def stamp(self, agent: str, incarnation: int) -> None:
        """Nothing."""

    def silence(self, agent: str, incarnation: int) -> float:  # noqa: ARG002
        return 0.0

    def forget(self, agent: str, incarnation: int) -> None:
        """Nothing."""


def read_only(what: str) -> Usage:
    return Usage("past_is_read_only", f"{what} is not available with --at.", "Run it without --at.")


def find(log: Log, asked: str | int, now: float) -> Moment:
    """The moment that a user names: a position, a time, or how long ago.

    Commits are atomic, so a position inside a commit means its end.
    """
    text = str(asked).strip()
    number = text.removeprefix("#")
    head = log.head()
    if number.isascii() and number.isdigit():
        wanted = int(number) if len(number) < len(str(_LARGEST)) else _LARGEST
        if wanted > head:
            raise Usage(
                "not_yet",
                f"The log ends at position {head}; position {number[:20]} does not exist yet.",
                f"Use a position up to {head}, or a time.",
                head=head,
            )
        event = _event(log, wanted)
        end = _end_of_commit(log, event)
        return Moment(position=end, seconds=timestamps.parse(event.at) if event else None, said=end != wanted)
    seconds = moment(text, now)
    if seconds is None:
        raise Usage(
            "bad_moment",
            f"{text[:80]!r} is neither a position nor a time.",
            "Use a position (1200), a time (2031-05-08, 2031-05-08T09:30Z), or how long ago (2h, 3d).",
        )
    if seconds > now:
        raise Usage("not_yet", f"{text[:80]} is in the future.", "Use a time in the past, or leave out --at.")
    return Moment(position=_end_of_commit(log, _last_before(log, seconds, head)), seconds=seconds, said=True)


def _event(log: Log, position: int) -> Event | None:
    return next(iter(log.read(position - 1, 1)), None) if position else None


def _end_of_commit(log: Log, event: Event | None) -> int:
    if event is None:
        return 0
    known = log.append(Commit(id=event.commit, at="", by=""), {}, ())
    return known.last if isinstance(known, Duplicate) else event.position


def _last_before(log: Log, seconds: float, head: int) -> Event | None:
    """The last event up to that time, by binary search. If the clock once jumped back, one of the candidates."""
    low, high, found = 0, head + 1, None
    while high - low > 1:
        middle = (low + high) // 2
        event = _event(log, middle)
        if event is not None and (timestamps.parse(event.at) or 0.0) <= seconds:
            low, found = middle, event
        else:
            high = middle
    return found


def views_at(log: Log, state: str, position: int, progress: Progress) -> PrivateCopy:
    """The views at that position. They are rebuilt if text that they may contain is redacted later."""
    shown = Shown(log)
    found = PrivateCopy(state, lambda: _made(shown, state, position, progress), shown.last_tombstone)
    found.cursor()  # opens it
    return found


def _made(log: Shown, state: str, position: int, progress: Progress) -> PrivateCopy:
    """A stored snapshot, or one folded from the nearest earlier one.

    A redaction removes all snapshots, including one in the making. Then this starts again.
    """
    for left in reversed(range(_TRIES)):
        mark = log.last_tombstone()
        try:
            found = _snapshot(log, state, mark, position, progress)
            if found.cursor() == position:  # once open, it stays usable even if the file is removed
                return found
        except Unavailable as error:
            gone = isinstance(error.__cause__, FileNotFoundError)  # another process removed the file
            if not left or not (gone or log.last_tombstone() != mark):
                raise
    raise Held("log_moved", "Events are being redacted.", "Try again in a moment.")


def _snapshot(log: Log, state: str, mark: int, position: int, progress: Progress) -> PrivateCopy:
    snapshots = Snapshots(state, mark)
    base, start = _nearest(log, snapshots, state, position)
    if base and start == position:
        snapshots.touch(base)
        return PrivateCopy(state, base)
    draft = _begun(log, snapshots, state, base, max(start + 1, mark), position)
    try:
        _fold(log, snapshots, draft, position, progress)
        return snapshots.keep(draft, position)
    finally:
        if draft.file:
            draft.close()


def _nearest(log: Log, snapshots: Snapshots, state: str, position: int) -> tuple[str, int]:
    """The snapshot at or before `position`, and its position. Removes snapshots of another log."""
    for start, path in snapshots.at_or_before(position):
        if not snapshots.sound(path):
            continue
        with closing(PrivateCopy(state, path)) as snapshot:
            if _belongs(log, snapshot, start):
                return path, start
        discard(path)
    return "", 0


def _begun(log: Log, snapshots: Snapshots, state: str, base: str, first: int, position: int) -> PrivateCopy:
    """A draft to continue folding from: the shared views if they are between `first` and `position`, else `base`."""
    with closing(PrivateCopy(state)) as live:
        cursor = live.cursor()
        usable = first <= cursor <= position and _belongs(log, live, cursor)
    if usable:
        draft = snapshots.draft(None)
        draft.begin()
        draft.commit()
        if draft.cursor() <= position and _belongs(log, draft, draft.cursor()):
            return draft
        draft.close()  # the shared views advanced meanwhile
    return snapshots.draft(base)


def _belongs(log: Log, store: Store, position: int) -> bool:
    cursor, commit, _ = store.standing()
    event = _event(log, position)
    return cursor == position and (event is None or event.commit == commit)


def _fold(log: Log, snapshots: Snapshots, draft: PrivateCopy, position: int, progress: Progress) -> None:
    from moot.views.batch import Batch

    at = draft.cursor()
    stop = max(_STOP, (position - at) // _STOPS)
    while at < position:
        draft.begin()
        batch = Batch(draft)
        end = min(position, at + stop)
        while at < end:
            progress("going back", at, position)
            events = log.read(at, min(_PAGE, end - at))
            if not events:
                raise Unavailable("log_ends", f"The log ends at {at}.", "Run `moot verify` to find the problem.")
            batch.fold(events)
            at = events[-1].position
        batch.flush()
        draft.commit()
        if at + _STOP < position:
            snapshots.keep(draft, at, copy=True)
    progress("going back", position, position)
