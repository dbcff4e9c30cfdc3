"""The parts of a workspace that is opened with `--at`."""

from __future__ import annotations

from moot.engine.engine import Engine
from moot.log import Shown
from moot.time_travel import NoPresence, PastLog, StoppedClock, find, views_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.engine.clock import Clock
    from moot.log import Log
    from moot.time_travel import Progress


class PastWorkspace:
    """One moment in the past: its clock, its presence, and its engines."""

    def __init__(
        self, open_log: Callable[[], Log], state: str, at: str | int, clock: Clock, progress: Progress | None
    ) -> None:
        self._open_log = open_log
        self._state = state
        self._progress = progress
        self._first: Shown | None = self._opened()
        self.then = find(self._first, at, clock.wall_seconds())
        self.clock = clock if self.then.seconds is None else StoppedClock(self.then.seconds)
        self.presence = NoPresence(state, self.clock)

    def engine(self) -> Engine:
        whole, self._first = self._first or self._opened(), None
        store = views_at(whole, self._state, self.then.position, self._progress or (lambda *_: None))
        engine = Engine(PastLog(whole, self.then.position), store, self.clock, {}, ())
        engine.whole = whole
        return engine

    def _opened(self) -> Shown:
        return Shown(self._open_log())  # over the whole log: a later redaction also applies to the past
