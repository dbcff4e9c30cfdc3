"""Phases and plans as text. Untrusted text is made safe and short here. A line starts with what matters most."""

from __future__ import annotations

from moot.core.text import age, counted, first_few, one_line
from moot.engine.clock import local
from moot.packs.gsd.status_records import (
    ASKING,
    BLOCKED,
    COMPLETED,
    DONE,
    FAILED,
    IDLE,
    READY,
    RUNNING,
    STALLED,
    WAITING,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.pack_views import Line
    from moot.packs.gsd.status_records import HeldPath, PhaseStatus, PlanStatus, TaskStatus, WaitingPlan

_LONG = 200
_SHORT = 60
_PROBLEM = 300
_TONES = {
    "completed": "good",
    "done": "good",
    "running": "busy",
    "waiting": "warn",
    "stalled": "bad",
    "failed": "bad",
    "asking": "warn",
    "blocked": "bad",
    "planned": "dim",
}


def phase_title(phase: PhaseStatus) -> str:
    """`Phase 01: 2 of 5 tasks completed, 1 failed; 1 of 3 plans done`."""
    said = [f"{phase.completed} of {counted(phase.tasks, 'task')} completed"]
    counts = ((FAILED, phase.failed), (RUNNING, phase.running), (STALLED, phase.stalled))
    said += [f"{number} {state}" for state, number in counts if number]
    said += [f"{phase.waiting} waiting for you"] if phase.waiting else []
    return f"Phase {phase.phase}: {', '.join(said)}; {phase.done} of {counted(len(phase.plans), 'plan')} done"


def short_title(phase: PhaseStatus) -> str:
    """`Phase 01: tasks 2/5, 1 failed, plans 1/3`: for narrow screens."""
    counts = ((FAILED, phase.failed), (STALLED, phase.stalled), (RUNNING, phase.running), ("for you", phase.waiting))
    said = [f"tasks {phase.completed}/{phase.tasks}", *(f"{number} {word}" for word, number in counts if number)]
    return f"Phase {phase.phase}: {', '.join(said)}, plans {phase.done}/{len(phase.plans)}"


def summary_lines(phase: PhaseStatus) -> Iterator[Line]:
    """One line for each plan that is not done, the most urgent one first: what it does, or what it waits for."""
    open_plans = [plan for plan in phase.plans if plan.state != DONE]
    for plan in sorted(open_plans, key=lambda plan: _URGENCY.index(plan.state)):
        yield (*plan_line(plan), ("  ", ""), *_now(plan))


_URGENCY = (FAILED, STALLED, BLOCKED, ASKING, RUNNING, IDLE, WAITING, READY)


def _now(plan: PlanStatus) -> Line:
    """What a plan does now, or why it does nothing."""
    state = {ASKING: WAITING, WAITING: ""}.get(plan.state, plan.state)  # that of its task
    task = next((task for task in plan.tasks if task.state == state), None)
    return task_line(task) if task is not None else next(iter(needs_lines(plan)), ())


def phase_lines(phase: PhaseStatus) -> Iterator[Line]:
    """Each plan with its tasks, by wave."""
    wave = None
    for plan in sorted(phase.plans, key=lambda plan: plan.wave):
        if plan.wave != wave and plan.wave:
            yield ((f"wave {plan.wave}", "dim"),)
        wave = plan.wave
        yield plan_line(plan)
        yield from (task_line(task, indent="  ") for task in plan.tasks)
        yield from needs_lines(plan, indent="  ")
        yield from (claim_line(one, indent="  ") for one in plan.claims)


def plan_line(plan: PlanStatus) -> Line:
    total = plan.declared or len(plan.tasks)
    tasks = f" {plan.count(COMPLETED)}/{total}" if total else ""
    tone = "dim" if plan.state == WAITING else _TONES.get(plan.state, "")
    return ((plan.plan, "bold"), (f" {plan.state}", tone), (tasks, ""))


def task_line(task: TaskStatus, indent: str = "") -> Line:
    about = {
        "completed": task.commit[:10],
        "failed": task.error,
        "stalled": f"silent {age(task.silent_for or 0.0)}",
        "waiting": f"for you: {task.checkpoint} ({task.checkpoint_type}: {task.awaiting})",
    }.get(task.state, "")
    again = f" run {task.runs}" if task.runs > 1 else ""
    took = f" {task.duration}" if task.duration else ""
    return (
        (f"{indent}{task.task} ", "bold"),
        (f"{task.state}{again}", _TONES.get(task.state, "")),
        (f" {one_line(task.name, _SHORT)}" if task.name else "", ""),
        (f" {one_line(about, _LONG)}" if about else "", _TONES.get(task.state, "")),
        (f" {one_line(task.agent, _SHORT)}{took}".rstrip(), "dim"),
    )


def needs_lines(plan: PlanStatus, indent: str = "") -> Iterator[Line]:
    """What a plan waits for, and what is wrong in its file."""
    for problem in plan.problems:
        yield ((f"{indent}! {one_line(f'{plan.path}: {problem}', _PROBLEM)}", "bad"),)
    if plan.before and plan.state != DONE:
        yield ((f"{indent}after ", "dim"), (first_few([one.plan for one in plan.before]), "warn"))
    for one in plan.missing:
        yield ((f"{indent}needs ", "dim"), (one_line(one.artifact, _LONG), "warn"))


def waits_for(plan: PlanStatus) -> str:
    """What keeps a plan from going on, in one line."""
    if plan.may_go_on:
        return f"{plan.plan} has what it needs"
    if plan.blocked:
        return one_line(f"{plan.plan} is blocked: {plan.path}: {plan.blocked}", _PROBLEM)
    names = [*(one.plan for one in plan.before), *(one.artifact for one in plan.missing)]
    return one_line(f"{plan.plan} waits for {first_few(names)}", 500)


def waiting_rows(one: WaitingPlan) -> list[tuple[str, str, str]]:
    """What a plan waits for: the plan, each thing, and since when."""
    things = [(before.plan, local(before.since)) for before in one.plans]
    things += [(missing.artifact, local(missing.since)) for missing in one.missing]
    things += [(f"blocked: {one.path}: {one.blocked}", "")] if one.blocked else []
    return [(one.plan, one_line(what, _PROBLEM), since) for what, since in things]


def adopted_lines(call: Call) -> Iterator[str]:
    """The phases of an adopted project, and how many of their plans are done, ready, waiting and blocked."""
    from moot.packs.gsd.status import Snapshot

    view = Snapshot(call)
    for name in view.phases():
        phase = view.phase(name)
        counts = ((state, phase.plans_in(state)) for state in (READY, RUNNING, IDLE, ASKING, FAILED, WAITING, BLOCKED))
        rest = "".join(f", {number} {state}" for state, number in counts if number)
        yield f"Phase {name}: {phase.done} of {counted(len(phase.plans), 'plan')} done{rest}"


def claim_line(one: HeldPath, indent: str = "") -> Line:
    left = "" if one.expires_in is None else f", ends in {age(max(one.expires_in, 0.0))} without an event"
    return (
        (f"{indent}holds ", "dim"),
        (one_line(one.path, _LONG), "busy"),
        (f" ({one_line(one.agent, _SHORT)}{left})", "dim"),
    )


def decision_line(row: Mapping[str, Any]) -> Line:
    affects = f" ({first_few([str(one) for one in row['affects']])})" if row["affects"] else ""
    return ((f"{row['id']} ", "bold"), (one_line(str(row["decision"]), _LONG), ""), (affects[:_LONG], "dim"))


def text(lines: Iterable[Line]) -> tuple[str, ...]:
    """The lines without tones."""
    return tuple("".join(piece for piece, _ in line).rstrip() for line in lines)
