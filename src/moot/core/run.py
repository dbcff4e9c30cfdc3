"""Runs as values: the commands, events and state that `moot.core.deciders.run` decides on.

Three sorts of runs share one kind. A run of a task or of a *target* (a source file, say) has stages. A run with *waves*
is the parent of the runs of its targets. A run without either says that a program drives agents.
"""

from __future__ import annotations

from moot.core.payload import Payload
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

PASSED, FAILED, INTERRUPTED, STOPPED = "passed", "failed", "interrupted", "stopped"
SKIPPED, REUSED = "skipped", "reused"
OUTCOMES = (PASSED, FAILED, INTERRUPTED, STOPPED)  # of a run. stopped: it was left, as asked, or because others went on
ENDINGS = (PASSED, SKIPPED, FAILED, INTERRUPTED)  # of a stage that was started
BEHIND = (PASSED, SKIPPED, REUSED)  # the next stage may start


# --- commands --------------------------------------------------------------------------------------------------------


class OpenRun(Record):
    """`attempt`: of the task. `pid`: of the driving program; `driver` is the token of its lock.

    Of a target: its id, its title, the id of its document, the paths of its files by role, its wave in the parent.
    `repeats`: a stage that has passed can be started again, such as the turn of an agent.
    """

    pack: str  # whose protocol it carries out
    stages: tuple[str, ...] = ()
    task: str | None = None
    attempt: int = 0
    parent: str | None = None
    pid: int = 0
    target: str = ""
    title: str = ""
    document: str = ""
    root: str = ""
    paths: Mapping[str, Any] = {}
    parameters: Mapping[str, Any] = {}
    wave: int = 0
    waves: tuple[tuple[str, ...], ...] = ()
    driver: str = ""
    repeats: bool = False


class ResumeRun(Record):
    """Go on with a run that ended without having passed."""

    reason: str = ""
    pid: int = 0
    driver: str = ""


class StartStage(Record):
    """`who` carries it out with this command, within so many seconds.

    inputs: a digest of each thing that the stage reads; `key` is the digest of all of them (the step key).
    checks: the prerequisites that were checked. writes: the paths that it may write; one that ends with `/` is a
    folder. snapshots: blobs with the files that were there, by path.
    """

    stage: str
    who: str = ""
    command: tuple[str, ...] = ()
    timeout: float = 0.0
    reason: str = ""  # why it runs, and no earlier result is used
    key: str = ""
    inputs: Mapping[str, str] = {}
    checks: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    snapshots: Mapping[str, str] = {}


class ReuseStage(Record):
    """An earlier result of the stage is used: that of the run `source`."""

    stage: str
    source: str
    reason: str = ""
    key: str = ""
    inputs: Mapping[str, str] = {}
    outputs: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()
    answer: str | None = None


class _Ending(Record):
    """How a stage ended. `output` and `errors` name blobs with the end of what its command wrote.

    outputs: a digest of each thing that it left. left: blobs with the files that it changed, by path. criteria: those
    that hold. answer: a blob with its answer as JSON. asked: it has done nothing, because a person must decide first.
    """

    stage: str
    attempt: int
    reason: str = ""
    code: int | None = None  # the exit code of its command, if it exited
    seconds: float = 0.0
    timed_out: bool = False
    crashed: bool = False  # interrupted: its driver died before it could record the end
    output: str | None = None
    output_size: int = 0  # of all of it
    errors: str | None = None
    errors_size: int = 0
    outputs: Mapping[str, str] = {}
    left: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    details: str = ""
    suggestion: str = ""
    answer: str | None = None
    asked: bool = False


class EndStage(_Ending):
    """End the stage that is running."""

    how: str = PASSED  # one of ENDINGS


class EndRun(Record):
    """`at`: the stage at which it failed, was interrupted or was stopped. `warnings`: how many there were."""

    outcome: str  # one of OUTCOMES
    reason: str = ""
    counts: dict[str, int] = {}  # noqa: RUF012 (a record's default is never changed)
    at: str = ""
    warnings: int = 0


class RestoreFiles(Record):
    """Files were put back as they were before an attempt.

    `removed`: those that it had made. `replaced`: blobs with what all these files contained, by path.
    """

    stage: str
    attempt: int
    restored: Mapping[str, str] = {}
    replaced: Mapping[str, str] = {}
    removed: tuple[str, ...] = ()


# --- events ----------------------------------------------------------------------------------------------------------


class RunOpened(OpenRun, Payload):
    type = "run:opened"
    said = "opened {pack} {task}{title}"
    asides = (("attempt", "attempt {attempt}"), ("parent", "part of {parent}"), ("pid", "process {pid}"))
    names = ("pack", "task", "target", "title", "root", "paths", "parameters", "waves")
    marks = ("stages", "parent", "document", "driver")


class RunResumed(ResumeRun, Payload):
    type = "run:resumed"
    said = "resumed"
    asides = (("pid", "process {pid}"),)
    words = ("reason",)
    marks = ("driver",)


class StageStarted(StartStage, Payload):
    type = "run:started"
    said = "{who} starts {stage}: {command:words}"
    asides = (("attempt", "attempt {attempt}"), ("reason", "{reason}"))
    words = ("command", "reason")
    names = ("stage", "writes")
    marks = ("who", "key", "inputs", "checks", "snapshots")
    blobs = ("snapshots",)
    attempt: int = 1


class StageReused(ReuseStage, Payload):
    type = "run:reused"
    said = "{stage} is unchanged: its result of {source} is used"
    words = ("reason", "warnings")
    names = ("stage",)
    marks = ("source", "key", "inputs", "outputs", "answer")
    blobs = ("answer",)
    attempt: int = 1


_WORDS, _NAMES, _BLOBS = ("reason", "warnings", "problems", "details", "suggestion"), ("stage",), ("output", "errors")
_ANSWERED = (*_BLOBS, "answer", "left")
_MARKS = (*_ANSWERED, "outputs", "criteria")
_ASIDES = (
    ("timed_out", "timed out"),
    ("crashed", "its driver died"),
    ("code", "exit code {code}"),
    ("warnings", "warnings: {warnings:json}"),
)


class StagePassed(_Ending, Payload):
    type = "run:passed"
    said = "{stage} passed after {seconds:age}"
    words, names, marks, blobs, asides = _WORDS, _NAMES, _MARKS, _ANSWERED, _ASIDES


class StageSkipped(_Ending, Payload):
    type = "run:skipped"
    said = "{stage} was skipped: {reason}"
    words, names, marks, blobs, asides = _WORDS, _NAMES, _MARKS, _ANSWERED, _ASIDES


class StageFailed(_Ending, Payload):
    type = "run:failed"
    said = "{stage} failed after {seconds:age}: {reason}"
    words, names, marks, blobs, asides = _WORDS, _NAMES, _MARKS, _ANSWERED, _ASIDES


class StageInterrupted(_Ending, Payload):
    type = "run:interrupted"
    said = "{stage} was interrupted"
    words, names, marks, blobs, asides = _WORDS, _NAMES, _MARKS, _ANSWERED, _ASIDES


class RunEnded(EndRun, Payload):
    type = "run:ended"
    said = "ended: {outcome} {at}"
    asides = (("counts", "{counts}"), ("warnings", "{warnings} warnings"))
    words = ("reason",)
    marks = ("outcome", "counts")
    names = ("at",)


class FilesRestored(RestoreFiles, Payload):
    type = "run:restored"
    said = "restored what was there before {stage}, attempt {attempt}: {restored:json}"
    asides = (("removed", "{removed} removed"),)
    names = ("stage",)
    marks = ("restored", "replaced", "removed")
    blobs = ("replaced",)


ENDED: dict[str, type[Payload]] = {
    PASSED: StagePassed,
    SKIPPED: StageSkipped,
    FAILED: StageFailed,
    INTERRUPTED: StageInterrupted,
}
_ALL: tuple[type[Payload], ...] = (
    RunOpened,
    RunResumed,
    StageStarted,
    StageReused,
    *ENDED.values(),
    RunEnded,
    FilesRestored,
)
EVENTS: dict[str, type[Payload]] = {cls.type: cls for cls in _ALL}


# --- state -----------------------------------------------------------------------------------------------------------


class StageTry(Record):
    """One attempt at a stage. `status`: running, or how it ended. `why`: why it was started, or reused."""

    stage: str
    attempt: int
    status: str = "running"
    who: str = ""
    command: tuple[str, ...] = ()
    timeout: float = 0.0
    at: str = ""
    ended: str = ""
    reason: str = ""
    code: int | None = None
    seconds: float = 0.0
    timed_out: bool = False
    crashed: bool = False
    output: str | None = None
    output_size: int = 0
    errors: str | None = None
    errors_size: int = 0
    why: str = ""
    key: str = ""
    source: str = ""
    inputs: Mapping[str, str] = {}
    checks: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    snapshots: Mapping[str, str] = {}
    outputs: Mapping[str, str] = {}
    left: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    details: str = ""
    suggestion: str = ""
    answer: str | None = None
    asked: bool = False


class Run(Record):
    """`outcome`: empty while it is open. `since`: how many attempts there were when it was last resumed."""

    id: str
    pack: str = ""
    stages: tuple[str, ...] = ()
    task: str | None = None
    attempt: int = 0
    parent: str | None = None
    pid: int = 0
    at: str = ""
    tries: tuple[StageTry, ...] = ()
    outcome: str = ""
    reason: str = ""
    counts: Mapping[str, int] = {}
    ended: str = ""
    target: str = ""
    title: str = ""
    document: str = ""
    root: str = ""
    paths: Mapping[str, Any] = {}
    parameters: Mapping[str, Any] = {}
    wave: int = 0
    waves: tuple[tuple[str, ...], ...] = ()
    driver: str = ""
    stopped_at: str = ""
    warnings: int = 0
    since: int = 0
    repeats: bool = False

    @property
    def exists(self) -> bool:
        return bool(self.pack)

    @property
    def open(self) -> bool:
        return self.exists and not self.outcome

    @property
    def running(self) -> StageTry | None:
        """The attempt that is running."""
        return self.tries[-1] if self.tries and self.tries[-1].status == "running" else None

    @property
    def passed(self) -> int:
        """How many of the stages lie behind it since it was last resumed: those up to the last one that passed."""
        done = [self.stages.index(one.stage) + 1 for one in self.tries[self.since :] if one.status in BEHIND]
        return max(done, default=0)

    @property
    def asks(self) -> bool:
        """Whether it was left because a stage needs the answer of a person first."""
        last = self.tries[-1] if self.tries else None
        return (
            last is not None
            and self.outcome == STOPPED
            and last.status == INTERRUPTED
            and last.stage == self.stopped_at
        )

    @property
    def ending(self) -> str:
        """How it ended, in words; empty while it is open."""
        match self.outcome:
            case "passed" if self.target or self.waves:
                return "finished with warnings" if self.warnings else "finished"
            case "failed" | "interrupted" if self.stopped_at:
                return f"{self.outcome} at {self.stopped_at}"
            case "stopped" if self.asks:
                return f"waits for an answer at {self.stopped_at}"
            case "stopped" if self.stopped_at:
                return f"stopped after {self.stopped_at}"
        return self.outcome

    def tries_of(self, stage: str) -> list[StageTry]:
        return [one for one in self.tries if one.stage == stage]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        run = super().of(data)
        return run.replace(tries=tuple(StageTry.of(one) for one in data.get("tries", ())))
