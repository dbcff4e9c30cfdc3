"""Phases and plans as text. Untrusted text is made safe and short here. A line starts with what matters most."""

from __future__ import annotations

from moot.core.text import age, counted, first_few, one_line
from moot.packs.gsd.status_records import (
    BLOCKED,
    COMPLETED,
    DONE,
    FAILED,
    IDLE,
    READY,
    RUNNING,
    STALLED,
    UNREADABLE,
    WAITING,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from moot.api.protocol.pack_views import Line
    from moot.packs.gsd.status_records import HeldPath, MissingArtifact, PhaseStatus, PlanStatus, TaskStatus

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
    "unreadable": "bad",
    "blocked": "dim",
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


_URGENCY = (FAILED, STALLED, UNREADABLE, WAITING, RUNNING, IDLE, BLOCKED, READY)


def _now(plan: PlanStatus) -> Line:
    """What a plan does now, or why it does nothing."""
    task = next((task for task in plan.tasks if task.state == plan.state), None)
    if task is not None:
        return task_line(task)
    if plan.missing:
        return missing_line(plan.missing[0])
    return problem_line(plan.problems[0]) if plan.problems else ()


def phase_lines(phase: PhaseStatus) -> Iterator[Line]:
    """Each plan with its tasks, by wave."""
    wave = None
    for plan in sorted(phase.plans, key=lambda plan: plan.wave):
        if plan.wave != wave and plan.wave:
            yield ((f"wave {plan.wave}", "dim"),)
        wave = plan.wave
        yield plan_line(plan)
        yield from (task_line(task, indent="  ") for task in plan.tasks)
        yield from (missing_line(one, indent="  ") for one in plan.missing)
        yield from (unannounced_line(one, indent="  ") for one in plan.unannounced)
        yield from (claim_line(one, indent="  ") for one in plan.claims)
        yield from (problem_line(one, indent="  ") for one in plan.problems)


def plan_line(plan: PlanStatus) -> Line:
    total = plan.declared or len(plan.tasks)
    tasks = f" {plan.count(COMPLETED)}/{total}" if total else ""
    after = f" after {first_few(plan.depends_on)}" if plan.depends_on and plan.state == "blocked" else ""
    return ((plan.plan, "bold"), (f" {plan.state}", _TONES.get(plan.state, "")), (f"{tasks}{after}", ""))


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


def missing_line(one: MissingArtifact, indent: str = "") -> Line:
    tone = "warn" if one.maker or one.expected_from else "bad"
    return ((f"{indent}needs ", "dim"), (one_line(one.artifact, _LONG), "warn"), (f" ({who_makes(one)})", tone))


_BUT = {WAITING: ", and waits for you", STALLED: ", and is stalled", FAILED: ", and has failed"}


def who_makes(one: MissingArtifact) -> str:
    """Who works on an artifact, or should."""
    if one.maker:
        return f"{one.maker} works on it"
    if not one.expected_from:
        return "nobody is known to make it"
    return f"{one.expected_from} makes it{_BUT.get(one.expected_state, '')}"


def unannounced_line(one: MissingArtifact, indent: str = "") -> Line:
    """An artifact that a plan could expect, because the plan that makes it is done."""
    return ((f"{indent}! {one_line(one.artifact, _LONG)} ({unannounced(one)})", "warn"),)


def unannounced(one: MissingArtifact) -> str:
    return f"{one.expected_from} is done, and has not announced it"


def claim_line(one: HeldPath, indent: str = "") -> Line:
    left = "" if one.expires_in is None else f", ends in {age(max(one.expires_in, 0.0))} without an event"
    return (
        (f"{indent}holds ", "dim"),
        (one_line(one.path, _LONG), "busy"),
        (f" ({one_line(one.agent, _SHORT)}{left})", "dim"),
    )


def problem_line(problem: str, indent: str = "") -> Line:
    """What is wrong in the file of a plan."""
    return ((f"{indent}! {one_line(problem, _PROBLEM)}", "bad"),)


def decision_line(row: Mapping[str, Any]) -> Line:
    affects = f" ({first_few([str(one) for one in row['affects']])})" if row["affects"] else ""
    return ((f"{row['id']} ", "bold"), (one_line(str(row["decision"]), _LONG), ""), (affects[:_LONG], "dim"))


def text(lines: Iterable[Line]) -> tuple[str, ...]:
    """The lines without tones."""
    return tuple("".join(piece for piece, _ in line).rstrip() for line in lines)
