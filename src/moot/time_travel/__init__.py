"""Reading the past (`--at`): a log that ends at an earlier position, and views that are folded up to it, in memory.

They replace the real log and views, and a stopped clock replaces the real one, so verbs need no special code. This
module does not change the log or the shared views.
"""

from __future__ import annotations

from contextlib import nullcontext

from moot.core import timestamps
from moot.core.errors import Usage
from moot.core.event import Commit
from moot.core.record import Record
from moot.engine.clock import Clock
from moot.engine.engine import Engine
from moot.engine.presence import Presence
from moot.log import Appended, Duplicate, Handle, Log, last_redaction
from moot.place.settings import seconds as duration
from moot.views.private_copy import PrivateCopy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import apsw

    from moot.core.event import Draft, Event, Key
    from moot.log import Conflict, Mismatch

_PAGE = 1000
_LARGEST = 1 << 63


class Moment(Record):
    """A moment in the past: the end position of the log, and the time (None: before the first event)."""

    position: int
    seconds: float | None
    said: bool = False  # the position differs from the requested one, so it should be shown


class PastLog(Log):
    """The events of another log up to one position. Read-only."""

    def __init__(self, log: Log, end: int) -> None:
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


class PastViews(PrivateCopy):
    """Views in memory. They are folded anew when text that they may contain was redacted since."""

    def __init__(self, directory: str, whole: Log) -> None:
        super().__init__(directory, empty=True)
        self._whole, self._tombstone = whole, 0

    def _open(self) -> apsw.Connection:
        self._tombstone = last_redaction(self._whole)
        return super()._open()

    def exchanged(self) -> bool:
        return self._db is not None and self._tombstone != last_redaction(self._whole)


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


def engine_at(log: Log, state: str, then: Moment, clock: Clock) -> Engine:
    """An engine for that moment. Its views are folded by its first read."""
    engine = Engine(PastLog(log, then.position), PastViews(state, log), clock, {}, ())
    engine.whole = log
    return engine


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
    return Moment(position=_end_of_commit(log, _event(log, last_before(log, seconds))), seconds=seconds, said=True)


def moment(text: str, now: float) -> float | None:
    """Seconds since 1970; None if the text is not a moment. A date alone means its start, in UTC.

    A bare number is not a moment: it could be seconds or a position of the log.
    """
    text = text.strip()
    if text.isdigit():
        return None
    ago = duration(text.removesuffix("ago").strip())
    if ago is not None:
        return now - ago
    found = timestamps.parse(text)
    return timestamps.parse(f"{text}T00:00:00Z") if found is None and len(text) == len("2031-05-08") else found


def last_before(log: Log, seconds: float) -> int:
    """The last position up to that time, by binary search. If the clock once jumped back, one of the candidates."""
    low, high = 0, log.head() + 1
    while high - low > 1:
        middle = (low + high) // 2
        event = _event(log, middle)
        if event is not None and (timestamps.parse(event.at) or 0.0) <= seconds:
            low = middle
        else:
            high = middle
    return low


def _event(log: Log, position: int) -> Event | None:
    return next(iter(log.read(position - 1, 1)), None) if position else None


def _end_of_commit(log: Log, event: Event | None) -> int:
    if event is None:
        return 0
    known = log.append(Commit(id=event.commit, at="", by=""), {}, ())
    return known.last if isinstance(known, Duplicate) else event.position
