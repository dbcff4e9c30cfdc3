"""Whether a lease has lapsed. All rules about silence are here.

A lease (of a task, a file claim, an agent's name or an effect) never ends by the clock alone. Its holder keeps it while
it is active. Once the holder has been silent for longer than the lease's ttl, anybody may end the lease by an event.
"""

from __future__ import annotations

from moot.core.principal import name_of
from moot.core.task import LapseAssignment, LapseTask
from moot.core.text import age

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.principal import Actor
    from moot.core.task import Task


def has_lapsed(silent_for: float | None, ttl: float) -> bool:
    """Whether this silence, in seconds, is longer than the ttl. A ttl of 0 never lapses. None: unknown, so no."""
    return silent_for is not None and ttl > 0 and silent_for > ttl


def lapse_of(task: Task, silent_for: float, *, here: bool) -> LapseTask | None:
    """The command that ends the lease of a holder that is silent or not `here` any more; None if it keeps it."""
    silent_for = round(silent_for, 3)
    if not here:
        reason = f"{task.holder} is no longer active"
    elif has_lapsed(silent_for, task.ttl):
        reason = f"{name_of(task.holder or '')} was silent for {age(silent_for)}"
    else:
        return None
    return LapseTask(silent_for=silent_for, ttl=task.ttl, reason=reason)


def assignment_lapse(task: Task, silent_for: float, *, gone: str, actor: Actor) -> LapseAssignment | None:
    """The command that ends the assignment to an agent that left or fell silent; None if the agent keeps it.

    `gone`: that the agent has left, as the predicate of a sentence.
    """
    if gone:
        return LapseAssignment(actor=actor, reason=f"{task.assigned} {gone}")
    silent_for = round(silent_for, 3)
    if not has_lapsed(silent_for, task.ttl):
        return None
    reason = f"{task.assigned} was silent for {age(silent_for)}"
    return LapseAssignment(actor=actor, reason=reason, silent_for=silent_for, ttl=task.ttl)
