"""The parts of a session that looks at the past."""

from __future__ import annotations

from moot.engine.past import NoPresence, PastLog, StoppedClock, find
from moot.engine.visitor import Visitor, moment
from moot.log import Shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

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
    store = moment(whole, state, then.position, progress)
    stopped = clock if then.seconds is None else StoppedClock(then.seconds)
    return PastLog(whole, then.position), store, stopped, NoPresence(state, stopped), then


def visitor(state: str) -> Callable[[Log, Any, Clock, Any, Any], Visitor]:
    """What makes the engine of such a session."""
    return lambda *parts: Visitor(*parts, state=state)
