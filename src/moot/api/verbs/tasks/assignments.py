"""Which assigned tasks an agent can claim: its own, and those whose agent left or fell silent."""

from __future__ import annotations

from moot.core.principal import Actor, same_agent
from moot.core.task.leases import assignment_lapse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.core.deciders.agent import Agent
    from moot.core.task import LapseAssignment, Task
    from moot.engine.unit_of_work import Work


def is_for(task: Task, principal: str) -> bool:
    """Whether the task is assigned to this principal."""
    return task.assigned is not None and same_agent(task.assigned, principal)


def kept_for_others(
    agent: Callable[[str], Agent], silences: Callable[[list[str]], dict[str, float]], tasks: list[Task], me: str
) -> list[str]:
    """The ids of those of these assigned tasks that only another agent can claim.

    `silences`: for how many seconds each of the given principals has been silent.
    """
    others = [(task, agent(task.assigned or "")) for task in tasks if not is_for(task, me)]
    silent = silences([state.principal for _, state in others if state.here]) if others else {}
    actor = Actor(principal=me)
    return [t.id for t, a in others if _lapse(t, a, silent.get(a.principal, 0.0), actor) is None]


def end_if_idle(work: Work, state: Task, actor: Actor) -> None:
    """End the assignment to another agent if that agent left or fell silent."""
    if state.assigned is None or is_for(state, actor.principal):
        return
    agent = work.agent(state.assigned)
    command = _lapse(state, agent, work.facts.silence(agent.principal) if agent.here else 0.0, actor)
    if command is not None:
        work.do("task", state.id, command)


def _lapse(task: Task, agent: Agent, silent_for: float, actor: Actor) -> LapseAssignment | None:
    return assignment_lapse(task, silent_for, gone=agent.gone, actor=actor)
