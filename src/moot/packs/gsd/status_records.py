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
# The states of a plan. `waiting`: for artifacts or other plans. `blocked`: its file cannot be read, so what it waits
# for is not known. `asking`: a task waits for the user. `idle`: it has begun, is not done, and none of its tasks runs.
READY, BLOCKED, ASKING, IDLE, DONE = "ready", "blocked", "asking", "idle", "done"


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
    commit: str = ""
    error: str = ""
    checkpoint: str = ""  # while it waits: the id of its oldest open checkpoint, its type, and what it awaits
    checkpoint_type: str = ""
    awaiting: str = ""
    silent_for: float | None = None
    flags: tuple[str, ...] = ()
    number: int = 0  # of the event that ended it


class MissingArtifact(Record):
    """An artifact that a plan waits for."""

    artifact: str
    since: str


class MissingPlan(Record):
    """A plan that is not done, and that another one waits for."""

    plan: str
    since: str


class WaitingPlan(Record):
    """A plan that waits for artifacts or for other plans, or is blocked: `blocked` is the reason, `path` its file."""

    plan: str
    missing: tuple[MissingArtifact, ...] = ()
    plans: tuple[MissingPlan, ...] = ()
    blocked: str = ""
    path: str = ""


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
    before: tuple[MissingPlan, ...] = ()  # of `depends_on`, those that are not done
    blocked: str = ""  # why it is not known what it waits for
    path: str = ""  # of its file
    claims: tuple[HeldPath, ...] = ()
    decisions: tuple[str, ...] = ()  # the ids of those that affect it
    problems: tuple[str, ...] = ()

    @property
    def may_go_on(self) -> bool:
        """Whether it waits for nothing."""
        return self.state == DONE or not (self.missing or self.before or self.blocked)

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

    def plans_in(self, state: str) -> int:
        return sum(plan.state == state for plan in self.plans)
