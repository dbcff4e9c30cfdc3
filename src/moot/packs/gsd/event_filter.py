"""Which events somebody asked for: by type, phase, plan, task, agent, path and time. Pure."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.gsd.ids import phase_of, plan_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.packs.gsd.ids import Phase, PlanId

_PLANS = ("plan", "createdBy", "modifiedBy", "madeBy")
_PATHS = ("path", "artifact")


class EventFilter(Record):
    """An event must fit all of these; an empty one fits everything. `types` and `path` may end with `*`."""

    types: tuple[str, ...] = ()
    phase: Phase | None = None
    plan: PlanId | None = None
    task: int | None = None
    agent: str | None = None
    path: str | None = None
    since: float | None = None  # of the arrival, in seconds since 1970
    until: float | None = None

    def fits(self, event: Mapping[str, Any], at: float) -> bool:
        """Whether an event that arrived at this time is among them."""
        return (
            (not self.types or any(_like(str(event.get("type", "")), pattern) for pattern in self.types))
            and (self.phase is None or any(plan.phase == self.phase for plan in plans_of(event)))
            and (self.plan is None or self.plan in plans_of(event))
            and (self.task is None or event.get("task") == self.task)
            and (self.agent is None or event.get("agent") == self.agent)
            and (self.path is None or any(_like(str(event.get(key, "")), self.path) for key in _PATHS))
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
        )


def plans_of(event: Mapping[str, Any]) -> list[PlanId]:
    """The plans that an event is of, or about."""
    return [plan for text in _texts(event) if (plan := plan_of(text)) is not None]


def filter_of(
    types: tuple[str, ...] = (), phase: str | None = None, plan: str | None = None, **more: Any
) -> EventFilter | str:
    """The filter, or what is wrong with the words that describe it."""
    if phase is not None and phase_of(phase) is None:
        return f"{phase!r} is not a phase such as 01 or 05.2"
    if plan is not None and plan_of(plan) is None:
        return f"{plan!r} is not a plan such as 01-02"
    return EventFilter(
        types=types,
        phase=None if phase is None else phase_of(phase),
        plan=None if plan is None else plan_of(plan),
        **more,
    )


def _texts(event: Mapping[str, Any]) -> Iterator[Any]:
    yield from (event[key] for key in _PLANS if key in event)
    required = event.get("requiredBy")
    if isinstance(required, (list, tuple)):
        yield from required


def _like(word: str, pattern: str) -> bool:
    return word == pattern or (pattern.endswith("*") and word.startswith(pattern[:-1]))
