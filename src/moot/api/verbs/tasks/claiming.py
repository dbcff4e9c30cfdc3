"""Which tasks an agent can claim: ready ones, its own assignments, and those that another lost by silence."""

from __future__ import annotations

from moot.api.verbs.tasks.answers import told, with_files
from moot.core.lifecycle import CORE
from moot.core.principal import Actor, name_of, same_agent
from moot.core.task import TYPES, MoveTask, Unassigned, refusals
from moot.core.task.leases import assignment_lapse, lapse_of
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.core.deciders.agent import Agent
    from moot.core.task import LapseAssignment, Task
    from moot.engine.unit_of_work import Work

_LOOKED_AT = 1000  # maximum number of tasks that `task claim` without a name considers


def claim(call: Call, task: str | None) -> Answer:
    mine = False

    def act(work: Work) -> None:
        nonlocal mine
        actor = call.actor(work)
        mine = task is not None and _is_held(work.known_task(task), actor)
        if mine:
            return
        for name in (task,) if task else _candidates(work, actor):
            _end_silent_lease(work, name, actor)
            if work.task(name).phase == "open" or (task and not work.drafts):
                flags = call.packs.move(work, work.task(name), "claim", None)
                work.do("task", name, MoveTask(verb="claim", actor=actor, flags=flags))
                return
        if not work.drafts:
            raise refusals.nothing_ready()
        # The silent holder has lost the task, but it cannot be claimed: its attempts are used up, or it is flagged.

    outcome = call.commit(act)
    if task is not None and mine and not outcome.repeated:
        answer = with_files(call, outcome, told(call, outcome, task, "is already yours", moved=True))
        return _with_brief(call, answer.replace(result=answer.result.replace(again=True)))
    started = next((event for event in outcome.events if event.type == TYPES["claim"]), None)
    if started is None:
        if task:  # raise the same error as a later caller gets
            call.try_out(lambda work: work.do("task", task, MoveTask(verb="claim", actor=call.actor(work))))
        raise refusals.nothing_ready()
    name = started.stream.partition("/")[2]
    answer = with_files(call, outcome, told(call, outcome, name, "is yours", moved=True))
    if (freed := next((e for e in outcome.events if e.type == Unassigned.type), None)) is not None:
        answer = answer.replace(say=(*answer.say, f"It was assigned to {freed.data['to']}: {freed.data['reason']}."))
    return answer if outcome.repeated else _with_brief(call, answer)


def _is_held(task: Task, actor: Actor) -> bool:
    """Whether claiming the task again is no move. The lifecycle of a pack says itself what a claim does."""
    return task.lifecycle == CORE.name and task.phase == "working" and task.holder == actor.principal


def _with_brief(call: Call, answer: Answer) -> Answer:
    from moot.api.verbs.tasks.brief import body_lines, brief_of, next_line

    task: Task = answer.result
    return answer.replace(say=(*answer.say, *body_lines(call, task), next_line(brief_of(call, task))))


def startable(work: Work, actor: Actor) -> Iterator[str]:
    """The tasks that the actor can claim now, the most urgent first.

    It ends the leases of silent agents, as a claim does. So use it in a rehearsal, or to claim the first of them.
    """
    for name in _candidates(work, actor):
        _end_silent_lease(work, name, actor)
        if work.task(name).phase == "open":
            yield name


def _end_silent_lease(work: Work, name: str, actor: Actor) -> None:
    """Release the task if another agent holds it or has it assigned, and that agent is silent or gone."""
    if work.known_task(name).holder != actor.principal:
        lapse_if_silent(work, work.task(name))
    end_idle_assignment(work, work.task(name), actor)


def _candidates(work: Work, actor: Actor) -> Iterator[str]:
    """Tasks that the actor may start: those assigned to it, then other ready ones, each most urgent first.

    Held tasks come last: their holders may be silent.
    """
    for state in _ready_for(work, actor):
        if _may_start(work, state, actor):
            yield state.id
    held = [work.task(name) for name in queries.held_tasks(work.store)]
    work.facts.silences(state.holder for state in held if state.holder)  # one lookup for all
    for state in held:
        life = work.lifecycles.get(state.lifecycle)
        if life and not state.waits and _may_start(work, state.replace(state=life.initial), actor):
            yield state.id


def _ready_for(work: Work, actor: Actor) -> list[Task]:
    assigned = queries.assigned_tasks(work.store)
    kept = kept_for_others(work.agent, work.facts.silences, assigned, actor.principal)
    own = [state for state in assigned if not state.waits and is_for(state, actor.principal)]
    return [*own, *queries.ready(work.store, _LOOKED_AT, besides=[*kept, *(state.id for state in own)])]


def _may_start(work: Work, state: Task, actor: Actor) -> bool:
    life = work.lifecycles.get(state.lifecycle)  # None if its pack was disabled
    edge = life.edge("claim", state.state) if life else None
    return edge is not None and edge.open_to(actor.roles, person=actor.person)


def lapse_if_silent(work: Work, state: Task) -> None:
    """Release the task if its holder fell silent, left, or was replaced by a newer incarnation."""
    if state.holder is None:
        return
    agent = work.agent(name_of(state.holder)) if "#" in state.holder else None
    here = agent is None or (agent.here and agent.principal == state.holder)
    command = lapse_of(state, work.facts.silence(state.holder), here=here)
    if command is not None:
        work.do("task", state.id, command)


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


def end_idle_assignment(work: Work, state: Task, actor: Actor) -> None:
    """End the assignment to another agent if that agent left or fell silent."""
    if state.assigned is None or is_for(state, actor.principal):
        return
    agent = work.agent(state.assigned)
    command = _lapse(state, agent, work.facts.silence(agent.principal) if agent.here else 0.0, actor)
    if command is not None:
        work.do("task", state.id, command)


def _lapse(task: Task, agent: Agent, silent_for: float, actor: Actor) -> LapseAssignment | None:
    return assignment_lapse(task, silent_for, gone=agent.gone, actor=actor)
