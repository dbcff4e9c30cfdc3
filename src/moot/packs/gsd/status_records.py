"""What the verbs of the pack and its section of `moot watch` show: tasks, plans, phases and what waits for what."""

from __future__ import annotations

from moot.core.record import Record

# The states of a task, in the words of the protocol. `planned`: it is known, and nobody has started it.
PLANNED, RUNNING, STALLED, WAITING, COMPLETED, FAILED = (
    "planned",
    "running",
    "stalled",
    "waiting",
    "completed",
    "failed",
)
# The states of a plan. `blocked`: it waits for artifacts or for other plans. `idle`: some of its tasks are completed,
# none runs, and it is not done. `unreadable`: its file says no task.
READY, BLOCKED, IDLE, DONE, UNREADABLE = "ready", "blocked", "idle", "done", "unreadable"


class TaskStatus(Record):
    """A task by its latest run. `waiting` is waiting for the user; `silent_for` is given while it runs."""

    plan: str
    task: int
    name: str
    state: str
    agent: str = ""
    runs: int = 0
    started: str = ""
    ended: str = ""
    duration: str = ""
    seconds: float | None = None
    commit: str = ""
    error: str = ""
    checkpoint: str = ""  # while it waits: the id of its oldest open checkpoint, its type, and what it awaits
    checkpoint_type: str = ""
    awaiting: str = ""
    silent_for: float | None = None
    flags: tuple[str, ...] = ()
    number: int = 0  # of the event that ended it


class MissingArtifact(Record):
    """An artifact that a plan waits for. `maker` is the running plan that is known to work on it, if there is one.

    `expected_state`: of the tasks of `expected_from`: running, waiting, stalled, failed; empty if none has begun.
    """

    artifact: str
    since: str
    maker: str = ""
    expected_from: str = ""  # the plan whose file says that it makes it
    expected_state: str = ""


class WaitingPlan(Record):
    """A plan that waits for artifacts."""

    plan: str
    missing: tuple[MissingArtifact, ...]


class HeldPath(Record):
    """A claimed path. `silent_for` and `expires_in` are seconds; None if the claim does not expire."""

    path: str
    agent: str
    plan: str
    task: int | None
    since: str
    silent_for: float
    expires_in: float | None


class PlanStatus(Record):
    """A plan. `declared` is the number of its tasks in its file; 0 if that is unknown."""

    plan: str
    phase: str
    state: str
    wave: int = 0
    declared: int = 0
    depends_on: tuple[str, ...] = ()
    tasks: tuple[TaskStatus, ...] = ()
    missing: tuple[MissingArtifact, ...] = ()
    unannounced: tuple[MissingArtifact, ...] = ()  # of plans before it that are done; it does not wait for them
    claims: tuple[HeldPath, ...] = ()
    decisions: tuple[str, ...] = ()  # the ids of those that affect it
    problems: tuple[str, ...] = ()

    def count(self, state: str) -> int:
        return sum(task.state == state for task in self.tasks)


class PhaseStatus(Record):
    """A phase, and the number of its tasks in each state."""

    phase: str
    plans: tuple[PlanStatus, ...]
    tasks: int
    completed: int
    failed: int
    running: int
    stalled: int
    waiting: int
    done: int  # plans
