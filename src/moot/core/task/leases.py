"""When a holder has lost its lease: the one place that judges silence.

A lease (a task, a claim on files, an agent's name, an effect that a runner performs) never ends by the clock. Its
holder keeps it while it gives signs of life. Once the holder was silent for longer than the lease's ttl, anybody who
needs the thing may end the lease by an event.
"""

from __future__ import annotations

from moot.core.principal import name_of
from moot.core.task import LapseTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.task import Task


def has_lapsed(silent_for: float | None, ttl: float) -> bool:
    """Whether this silence, in seconds, is longer than the ttl. A ttl of 0 never ends; None is unknown, so no."""
    return silent_for is not None and ttl > 0 and silent_for > ttl


def lapse_of(task: Task, silent_for: float, *, here: bool) -> LapseTask | None:
    """What ends the holding of a task whose holder was silent for too long, or is not `here` any more."""
    silent_for = round(silent_for, 3)
    if not here:
        reason = f"{task.holder} is not here any more"
    elif has_lapsed(silent_for, task.ttl):
        reason = f"{name_of(task.holder or '')} was silent for {silent_for:.0f} s"
    else:
        return None
    return LapseTask(silent_for=silent_for, ttl=task.ttl, reason=reason)
