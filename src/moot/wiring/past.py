"""The parts of a session that looks at the past."""

from __future__ import annotations

from moot.engine.past import NoPresence, PastLog, StoppedClock, find, views_at
from moot.log import Shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.engine.clock import Clock
    from moot.engine.past import Progress, Then
    from moot.engine.presence import Presence
    from moot.log import Log
    from moot.views.store import Store


def go_back(
    log: Log, state: str, at: str | int, clock: Clock, progress: Progress | None
) -> tuple[PastLog, Store, Clock, Presence, Then]:
    whole = Shown(log)  # below the past: what was redacted later is gone from every moment before, too
    then = find(whole, at, clock.wall_seconds())
    store = views_at(whole, state, then.position, progress or (lambda *_: None))
    stopped = clock if then.seconds is None else StoppedClock(then.seconds)
    return PastLog(whole, then.position), store, stopped, NoPresence(state, stopped), then
