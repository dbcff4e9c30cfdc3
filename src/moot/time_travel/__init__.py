"""Going back: a log that ends earlier, and the views as they were there.

Whoever looks at the past gets these two in place of the real ones, and a clock that stands still, so that no verb has
to know of it. Nothing here changes the log or the live views.
"""

from __future__ import annotations

from contextlib import closing

from moot.core import timestamps
from moot.core.errors import Held, Unavailable, Usage
from moot.core.event import Commit
from moot.core.record import Record
from moot.engine.clock import Clock
from moot.engine.presence import Presence
from moot.log import Appended, Duplicate, Handle, Log, Shown
from moot.time_travel.moments import moment
from moot.views.leftovers import discard
from moot.views.private_copy import PrivateCopy
from moot.views.snapshots import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from moot.core.event import Draft, Event, Key
    from moot.log import Conflict, Mismatch
    from moot.views.store import Store

    Progress = Callable[[str, int, int], None]

_PAGE = 1000
_STOP = 100_000  # events: on a long way, a snapshot is kept about so often
_STOPS = 4
_TRIES = 5
_LARGEST = 1 << 63


class Then(Record):
    """The moment that is looked at: where the log ended, and what time it was (None: before the first event)."""

    position: int
    seconds: float | None
    said: bool = False  # the position is not the one that was asked for, so it should be told


class PastLog(Log):
    """The events of another log up to one position. Nothing can be added."""

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
        """See `Log.append`. Only whether a commit is known can be asked."""
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
        """See `Log.follow`. It ends where the past does: nothing more will come."""
        while events := self.read(after, _PAGE):
            after = events[-1].position
            yield events

    def exclusive(self) -> AbstractContextManager[object]:
        """See `Log.exclusive`. Nobody writes here."""
        return _Nobody()

    def close(self) -> None:
        """See `Log.close`."""
        self.whole.close()


class _Nobody:
    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        return


class StoppedClock(Clock):
    """It is always the same time of day. What is measured goes on."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def wall_seconds(self) -> float:
        return self._seconds


class NoPresence(Presence):
    """Of the past nobody knows who was silent for how long, and looking at it is no sign of life."""

    def stamp(self, agent: str, incarnation: int) -> None:
        """Nothing."""

    def silence(self, agent: str, incarnation: int) -> float:  # noqa: ARG002
        return 0.0

    def forget(self, agent: str, incarnation: int) -> None:
        """Nothing."""


def read_only(what: str) -> Usage:
    return Usage("past_is_read_only", f"{what} cannot be asked of the past.", "Leave --at out to do it now.")


def find(log: Log, asked: str | int, now: float) -> Then:
    """The moment that somebody names: a position, a time, or how long ago.

    Nobody ever saw half a commit, so a position inside of one means its end.
    """
    text = str(asked).strip()
    number = text.removeprefix("#")
    head = log.head()
    if number.isascii() and number.isdigit():
        wanted = int(number) if len(number) < len(str(_LARGEST)) else _LARGEST
        if wanted > head:
            raise Usage(
                "not_yet",
                f"The log ends at position {head}; there is no {number[:20]} yet.",
                f"Name a position up to {head}, or a time.",
                head=head,
            )
        event = _event(log, wanted)
        end = _end_of_commit(log, event)
        return Then(position=end, seconds=timestamps.parse(event.at) if event else None, said=end != wanted)
    seconds = moment(text, now)
    if seconds is None:
        raise Usage(
            "bad_moment",
            f"{text[:80]!r} is neither a position nor a time.",
            "Write 1200 (a position), 2031-05-08, 2031-05-08T09:30Z, or how long ago (2h, 3d).",
        )
    if seconds > now:
        raise Usage("not_yet", f"{text[:80]} is still to come.", "Name a time that is over, or leave --at out.")
    return Then(position=_end_of_commit(log, _last_before(log, seconds, head)), seconds=seconds, said=True)


def _event(log: Log, position: int) -> Event | None:
    return next(iter(log.read(position - 1, 1)), None) if position else None


def _end_of_commit(log: Log, event: Event | None) -> int:
    if event is None:
        return 0
    known = log.append(Commit(id=event.commit, at="", by=""), {}, ())
    return known.last if isinstance(known, Duplicate) else event.position


def _last_before(log: Log, seconds: float, head: int) -> Event | None:
    """The last event up to that time, found by halves. Where the clock once jumped back, one of its places."""
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
    """The views as they were there. They are made anew when a text that they may have was redacted meanwhile."""
    shown = Shown(log)
    found = PrivateCopy(state, lambda: _made(shown, state, position, progress), shown.last_tombstone)
    found.cursor()  # opens it
    return found


def _made(log: Shown, state: str, position: int, progress: Progress) -> PrivateCopy:
    """A snapshot that is kept, or folded from the nearest one before.

    A redaction removes all snapshots, also one that is just being made: then it is made anew.
    """
    for left in reversed(range(_TRIES)):
        mark = log.last_tombstone()
        try:
            found = _snapshot(log, state, mark, position, progress)
            if found.cursor() == position:  # opened, it stays, whatever becomes of its name
                return found
        except Unavailable as error:
            if not left or not (log.last_tombstone() != mark or _is_gone(error)):
                raise
    raise Held("log_moved", "Texts are being redacted at this moment.", "Try again in a moment.")


def _is_gone(error: Unavailable) -> bool:
    """Whether a file that was there a moment ago is not there any more."""
    return isinstance(error.__cause__, FileNotFoundError)


def _snapshot(log: Log, state: str, mark: int, position: int, progress: Progress) -> PrivateCopy:
    shelf = Shelf(state, mark)
    base, start = _nearest(log, shelf, state, position)
    if base and start == position:
        shelf.touch(base)
        return PrivateCopy(state, base)
    draft = _begun(log, shelf, state, base, max(start + 1, mark), position)
    try:
        _fold(log, shelf, draft, position, progress)
        return shelf.keep(draft, position)
    finally:
        if draft.file:
            draft.close()


def _nearest(log: Log, shelf: Shelf, state: str, position: int) -> tuple[str, int]:
    """The snapshot at or before `position`, and where it stands. One of another log, or a changed one, is removed."""
    for start, path in shelf.at_or_before(position):
        if not shelf.sound(path):
            continue
        with closing(PrivateCopy(state, path)) as snapshot:
            if _belongs(log, snapshot, start):
                return path, start
        discard(path)
    return "", 0


def _begun(log: Log, shelf: Shelf, state: str, base: str, first: int, position: int) -> PrivateCopy:
    """A draft to fold on from: the shared views, if they are between `first` and `position`; otherwise `base`."""
    with closing(PrivateCopy(state)) as live:
        cursor = live.cursor()
        usable = first <= cursor <= position and _belongs(log, live, cursor)
    if usable:
        draft = shelf.draft(None)
        draft.begin()
        draft.commit()
        if draft.cursor() <= position and _belongs(log, draft, draft.cursor()):
            return draft
        draft.close()  # they moved on meanwhile
    return shelf.draft(base)


def _belongs(log: Log, store: Store, position: int) -> bool:
    cursor, commit, _ = store.standing()
    event = _event(log, position)
    return cursor == position and (event is None or event.commit == commit)


def _fold(log: Log, shelf: Shelf, draft: PrivateCopy, position: int, progress: Progress) -> None:
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
                raise Unavailable("log_ends", f"The log ends at {at}.", "`moot verify` tells what is wrong with it.")
            batch.fold(events)
            at = events[-1].position
        batch.flush()
        draft.commit()
        if at + _STOP < position:
            shelf.keep(draft, at, copy=True)
    progress("going back", position, position)
