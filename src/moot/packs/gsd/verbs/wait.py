"""gsd wait: block until tasks or plans of a phase have ended, until a plan has what it needs, or until it is answered.

A wait always ends: with success, with failures that make success impossible, or at its time limit.
"""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.api.verbs.events import deadline_of, until
from moot.core.errors import AwaitedFailed, TimedOut, Usage
from moot.core.record import Record
from moot.core.text import age, counted, one_line
from moot.packs.gsd import status, status_lines
from moot.packs.gsd.ids import phase_name, phase_of, plan_of
from moot.packs.gsd.status_records import COMPLETED, DONE, FAILED, PLANNED, STALLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moot.api.call import Call
    from moot.core.deciders.checkpoint import Checkpoint
    from moot.core.event import Event
    from moot.packs.gsd.status_records import MissingArtifact, MissingPlan, PhaseStatus, TaskStatus

_CODES = {"completed": 0, "failed": AwaitedFailed.exit_code, "timeout": TimedOut.exit_code}


class PhaseOutcome(Record):
    """How the wait for a phase ended: `outcome` is completed, failed or timeout.

    `completed` and `failed` are in the order of their ends. `running` has the tasks that have not ended, with the last
    sign of life of their agents; `stalled` those of them whose agents are silent for too long.
    """

    outcome: str
    phase: str
    counted: str  # tasks, plans
    expected: int
    reached: int  # completed tasks, or plans that are done
    completed: tuple[TaskStatus, ...] = ()
    failed: tuple[TaskStatus, ...] = ()
    running: tuple[TaskStatus, ...] = ()
    stalled: tuple[TaskStatus, ...] = ()
    done: tuple[str, ...] = ()  # plans


class PlanOutcome(Record):
    """How the wait for a plan ended: `outcome` is completed or timeout. `blocked`: why its file cannot be read."""

    outcome: str
    plan: str
    missing: tuple[MissingArtifact, ...] = ()
    before: tuple[MissingPlan, ...] = ()
    blocked: str = ""
    answers: tuple[Checkpoint, ...] = ()


def wait(
    call: Call,
    phase: str | None,
    tasks: int | None,
    plans: int | None,
    plan: str | None,
    checkpoint: bool,
    first_failure: bool,
    timeout: float | None,
) -> Answer:
    end = deadline_of(call, status.settings(call)["wait_limit"] if timeout is None else timeout)
    if plan is not None and not (phase or tasks or plans or first_failure):
        if plan_of(plan) is None:
            raise _usage(f"{plan!r} is not a plan such as 01-02.")
        return _for_answers(call, plan, end) if checkpoint else _for_needs(call, plan, end)
    if phase is None or plan is not None or checkpoint or (tasks is None) == (plans is None):
        raise _usage("`gsd wait` waits for --phase with --tasks or --plans, or for --plan.")
    number = phase_of(phase)
    if number is None:
        raise _usage(f"{phase!r} is not a phase such as 01.")
    expected = tasks or plans or 0
    if expected < 1:
        raise _usage("The number to wait for must be at least 1.")
    return PhaseWait(call, phase_name(number), expected, by_plans=plans is not None, first_failure=first_failure).run(
        end
    )


class PhaseWait:
    """One wait for a phase."""

    def __init__(self, call: Call, phase: str, expected: int, *, by_plans: bool, first_failure: bool) -> None:
        self._call, self._phase, self._expected = call, phase, expected
        self._by_plans, self._first = by_plans, first_failure

    def run(self, end: float) -> Answer:
        return _until(self._call, end, self._look, lambda: self._answer("timeout", self._found()))

    def _found(self) -> PhaseStatus:
        return status.Snapshot(self._call).phase(self._phase)

    def _look(self, _events: list[Event]) -> Answer | None:
        found = self._found()
        completed, failed = self._ended(found)
        if completed >= self._expected:
            return self._answer("completed", found)
        if failed and (self._first or completed + failed >= self._expected):
            return self._answer("failed", found)
        self._call.progress(f"Waiting for phase {found.phase}", completed, self._expected)
        return None

    def _ended(self, found: PhaseStatus) -> tuple[int, int]:
        """How many have succeeded, and how many have failed."""
        if not self._by_plans:
            return found.completed, found.failed
        failed = [plan for plan in found.plans if plan.state == FAILED]
        return found.done, len(failed)

    def _answer(self, outcome: str, found: PhaseStatus) -> Answer:
        self._call.progress(f"Waiting for phase {found.phase}", self._expected, self._expected)
        tasks = [task for plan in found.plans for task in plan.tasks]
        ended = sorted(tasks, key=lambda task: task.number)
        result = PhaseOutcome(
            outcome=outcome,
            phase=found.phase,
            counted="plans" if self._by_plans else "tasks",
            expected=self._expected,
            reached=self._ended(found)[0],
            completed=tuple(task for task in ended if task.state == COMPLETED),
            failed=tuple(task for task in ended if task.state == FAILED),
            running=tuple(task for task in tasks if task.state not in (COMPLETED, FAILED, PLANNED)),
            stalled=tuple(task for task in tasks if task.state == STALLED),
            done=tuple(plan.plan for plan in found.plans if plan.state == DONE),
        )
        return Answer(result=result, say=tuple(_lines(result)), code=_CODES[outcome])


def _lines(found: PhaseOutcome) -> Iterable[str]:
    said = {"completed": "completed", "failed": "ended with failures", "timeout": "timed out"}[found.outcome]
    yield f"phase {found.phase} {said}: {found.reached} of {counted(found.expected, found.counted[:-1])}"
    for task in found.completed:
        about = " ".join(filter(None, (task.commit, task.duration, task.agent)))
        yield "  " + one_line(f"{_titled(task)}: {about}".rstrip(": "), 300)
        yield from (f"    ! {one_line(flag, 300)}" for flag in task.flags)
    for task in found.failed:
        yield "  " + one_line(f"{_titled(task)} ({task.agent}): {task.error}", 500)
    for task in found.running:
        silent = f"last sign of life {age(task.silent_for)} ago" if task.silent_for is not None else ""
        asks = f"{task.checkpoint}, {task.checkpoint_type}: {task.awaiting}" if task.checkpoint else ""
        yield "  " + one_line(f"{_titled(task)} ({', '.join(filter(None, (task.agent, silent, asks)))})", 300)


def _for_needs(call: Call, plan: str, end: float) -> Answer:
    """Until all artifacts that a plan needs exist, and the plans before it are done."""

    def outcome(word: str) -> Answer:
        found = status.plan_status(call, plan)
        result = PlanOutcome(
            outcome=word, plan=found.plan, missing=found.missing, before=found.before, blocked=found.blocked
        )
        return Answer(result=result, say=(status_lines.waits_for(found),), code=_CODES[word])

    def look(_events: list[Event]) -> Answer | None:
        return outcome("completed") if status.plan_status(call, plan).may_go_on else None

    return _until(call, end, look, lambda: outcome("timeout"))


def _for_answers(call: Call, plan: str, end: float) -> Answer:
    """Until a plan has no open checkpoint."""

    def outcome(word: str) -> Answer:
        found = status.checkpoints(call, plan)
        lines = [f"{one.id} {one.question}: {one.answer or 'no answer'} {one.text}".rstrip() for one in found]
        result = PlanOutcome(outcome=word, plan=plan, answers=tuple(found))
        said = tuple(one_line(line, 500) for line in lines) or (f"{plan} has reached no checkpoint",)
        return Answer(result=result, say=said, code=_CODES[word])

    def look(_events: list[Event]) -> Answer | None:
        return None if any(one.open for one in status.checkpoints(call, plan)) else outcome("completed")

    return _until(call, end, look, lambda: outcome("timeout"))


def _until(call: Call, end: float, look: Callable[[list[Event]], Answer | None], late: Callable[[], Answer]) -> Answer:
    start = call.engine.log.head()
    try:
        return look([]) or until(call, start, end, look, lambda: "")
    except TimedOut:
        return late()


def _titled(task: TaskStatus) -> str:
    return " ".join(filter(None, (f"{task.plan} task {task.task}", task.state, task.name)))


def _usage(message: str) -> Usage:
    return Usage("bad_arguments", message, "For example: moot gsd wait --phase 01 --tasks 4")


WAIT = Verb(
    "gsd wait",
    "Wait until tasks or plans of a phase have ended, or until a plan has what it needs.",
    wait,
    kind="look",
    params=(
        Param("phase", "The phase, such as 01."),
        Param("tasks", "Wait until this many different tasks of the phase are completed.", type="int"),
        Param("plans", "Wait until this many plans of the phase are done.", type="int"),
        Param("plan", "Wait until this plan has what it needs: artifacts, and the plans before it."),
        Param("checkpoint", "With --plan: wait until its checkpoints are answered.", type="flag"),
        Param("first_failure", "End at the first failure.", type="flag"),
        Param("timeout", "Give up after this long. Default: wait_limit of [pack.gsd], 30 minutes.", type="seconds"),
    ),
    examples=(
        "moot gsd wait --phase 01 --tasks 4",
        "moot gsd wait --phase 01 --plans 2 --first-failure --timeout 2h",
        "moot gsd wait --plan 01-02",
    ),
    detail=(
        "Ends within a second of the deciding event, and at once if that has happened before. Exit codes: 0 all are "
        "completed, 6 completed and failed ones together reach the number (or, with --first-failure, one has failed), "
        "5 timeout. With --json the result has `outcome` (completed, failed, timeout) and the tasks in `completed` (in "
        "the order of completion, with agent, commit and duration), `failed` (with the error), `running` and "
        "`stalled`. The latest run of a task counts, and each task counts once."
    ),
    writes=False,
)
