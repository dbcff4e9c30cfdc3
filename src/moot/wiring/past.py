"""The parts of a session that looks at the past."""

from __future__ import annotations

from moot.engine.past import NoPresence, PastLog, StoppedClock, find, views_at
from moot.log import Shown
from moot.views.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.engine.clock import Clock
    from moot.engine.past import Progress, Then
    from moot.engine.presence import Presence
    from moot.log import Log


def go_back(
    log: Log, state: str, at: str | int, clock: Clock, progress: Progress | None
) -> tuple[Log, Store, Clock, Presence, Then]:
    log = Shown(log)  # below the past: what was redacted later is gone from every moment before, too
    then = find(log, at, clock.wall_seconds())
    live = Store(state)
    try:
        store = views_at(log, live, state, then.position, progress or (lambda *_: None))
    finally:
        live.close()
    stopped = clock if then.seconds is None else StoppedClock(then.seconds)
    return PastLog(log, then.position), store, stopped, NoPresence(state, stopped), then
