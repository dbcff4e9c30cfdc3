"""Runs: work that goes through stages in order, such as a task that agents assign, build and review.

What always holds:
- A run is opened once, with the names of its stages, and ended once. Nothing happens to it after its end.
- At most one stage of a run is running. It ends in one of three ways: passed, failed or interrupted.
- A stage can be started again until it has passed, and then neither it nor an earlier one. Its attempts are numbered.
- A run ends only when no stage is running.

A run may have a parent: that of the program that drives it. Such a parent has no stages; it says that the program runs.
What a stage is for, and when it has passed, is decided elsewhere. This kind only keeps the record.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.core.ids import is_plain
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.record import Record, unreachable
from moot.core.text import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from moot.core.kind import Meta

PASSED, FAILED, INTERRUPTED, STOPPED = "passed", "failed", "interrupted", "stopped"
OUTCOMES = (PASSED, FAILED, STOPPED)  # of a run. stopped: it was left, because its task went another way
ENDINGS = (PASSED, FAILED, INTERRUPTED)  # of a stage
_STAGES = 100
_TRIES = 1000


# --- commands --------------------------------------------------------------------------------------------------------


class OpenRun(Record):
    """`attempt`: of the task. `pid`: of the driving program."""

    pack: str  # whose protocol it carries out
    stages: tuple[str, ...] = ()
    task: str | None = None
    attempt: int = 0
    parent: str | None = None
    pid: int = 0


class StartStage(Record):
    """`who` carries it out with this command, within so many seconds."""

    stage: str
    who: str = ""
    command: tuple[str, ...] = ()
    timeout: float = 0.0


class _Ending(Record):
    """How a stage ended. `output` and `errors` name blobs with the end of what its command wrote."""

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


class EndStage(_Ending):
    """End the stage that is running."""

    how: str = PASSED  # one of ENDINGS


class EndRun(Record):
    outcome: str  # one of OUTCOMES
    reason: str = ""
    counts: dict[str, int] = {}  # noqa: RUF012 (a record's default is never changed)


# --- events ----------------------------------------------------------------------------------------------------------


class RunOpened(OpenRun, Payload):
    type = "run:opened"
    said = "opened {pack} {task}"
    asides = (("attempt", "attempt {attempt}"), ("parent", "part of {parent}"), ("pid", "process {pid}"))
    names = ("pack", "task")
    marks = ("stages", "parent")


class StageStarted(StartStage, Payload):
    type = "run:started"
    said = "{who} starts {stage}: {command:words}"
    asides = (("attempt", "attempt {attempt}"),)
    words = ("command",)
    names = ("stage",)
    marks = ("who",)
    attempt: int = 1


_WORDS, _NAMES, _BLOBS = ("reason",), ("stage",), ("output", "errors")
_ASIDES = (("timed_out", "timed out"), ("crashed", "its driver died"), ("code", "exit code {code}"))


class StagePassed(_Ending, Payload):
    type = "run:passed"
    said = "{stage} passed after {seconds:age}"
    words, names, marks, blobs, asides = _WORDS, _NAMES, _BLOBS, _BLOBS, _ASIDES


class StageFailed(_Ending, Payload):
    type = "run:failed"
    said = "{stage} failed after {seconds:age}"
    words, names, marks, blobs, asides = _WORDS, _NAMES, _BLOBS, _BLOBS, _ASIDES


class StageInterrupted(_Ending, Payload):
    type = "run:interrupted"
    said = "{stage} was interrupted"
    words, names, marks, blobs, asides = _WORDS, _NAMES, _BLOBS, _BLOBS, _ASIDES


class RunEnded(EndRun, Payload):
    type = "run:ended"
    said = "ended: {outcome}"
    asides = (("counts", "{counts}"),)
    words = ("reason",)
    marks = ("outcome", "counts")


_ENDED: dict[str, type[Payload]] = {PASSED: StagePassed, FAILED: StageFailed, INTERRUPTED: StageInterrupted}
EVENTS: dict[str, type[Payload]] = {
    cls.type: cls for cls in (RunOpened, StageStarted, StagePassed, StageFailed, StageInterrupted, RunEnded)
}


# --- state -----------------------------------------------------------------------------------------------------------


class StageTry(Record):
    """One attempt at a stage. `status`: running, or how it ended."""

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


class Run(Record):
    """`outcome`: empty while it is open."""

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
        """How many of the stages lie behind it: those up to the last one that passed."""
        done = [self.stages.index(one.stage) + 1 for one in self.tries if one.status == PASSED]
        return max(done, default=0)

    def tries_of(self, stage: str) -> list[StageTry]:
        return [one for one in self.tries if one.stage == stage]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        run = super().of(data)
        return run.replace(tries=tuple(StageTry.of(one) for one in data.get("tries", ())))


# --- rules -----------------------------------------------------------------------------------------------------------


def decide(state: Run, command: OpenRun | StartStage | EndStage | EndRun, _facts: object = None) -> list[Payload]:
    if isinstance(command, OpenRun):
        return _open(state, command)
    known(state)
    if not state.open:
        raise Refused(
            "run_ended",
            f"The run {state.id} has ended ({state.outcome}).",
            f"Start another one: `{command_line('run', state.pack)}`.",
            run=state.id,
        )
    match command:
        case StartStage():
            return _start(state, command)
        case EndStage():
            return _end_stage(state, command)
        case EndRun():
            return _end(state, command)
        case _:
            unreachable(command)


def known(state: Run) -> Run:
    """The run. Raises if there is none."""
    if not state.exists:
        raise Unknown("unknown_run", f"There is no run {state.id[:80]!r}.", "`moot runs` lists them.", run=state.id)
    return state


def _open(state: Run, command: OpenRun) -> list[Payload]:
    if state.exists:
        raise Refused("run_exists", f"The run {state.id} already exists.", "Choose another id.", run=state.id)
    if len(set(command.stages)) != len(command.stages) or len(command.stages) > _STAGES:
        raise Refused("bad_stages", "The stages of a run are at most 100 different words.", "Rename or merge stages.")
    if not all(map(is_plain, command.stages)):
        raise Refused(
            "bad_stages",
            "A stage is a word of letters, digits, `-` and `_`.",
            "Rename the stage.",
            stages=list(command.stages),
        )
    return [RunOpened(**command.__dict__)]


def _start(state: Run, command: StartStage) -> list[Payload]:
    if command.stage not in state.stages:
        raise Refused(
            "unknown_stage",
            f"The run {state.id} has no stage {command.stage[:80]!r}.",
            f"Its stages: {', '.join(state.stages) or 'none'}.",
            run=state.id,
        )
    if state.running is not None:
        raise Held(
            "stage_running",
            f"The stage {state.running.stage} of {state.id} is running (attempt {state.running.attempt}).",
            "Wait until it has ended.",
            run=state.id,
        )
    if state.stages.index(command.stage) < state.passed:
        raise Refused(
            "stage_passed", f"{state.id} is past the stage {command.stage}.", "Start a later one.", run=state.id
        )
    if len(state.tries) >= _TRIES:
        raise Refused("run_too_long", f"{state.id} has {_TRIES} attempts.", "End it, and open another.", run=state.id)
    return [StageStarted(**command.__dict__, attempt=len(state.tries_of(command.stage)) + 1)]


def _end_stage(state: Run, command: EndStage) -> list[Payload]:
    running = state.running
    if running is None or (running.stage, running.attempt) != (command.stage, command.attempt):
        raise Held(
            "stage_not_running",
            f"Attempt {command.attempt} of the stage {command.stage[:80]} of {state.id} is not running.",
            f"`{command_line('run show', state.id)}` shows what happened.",
            run=state.id,
        )
    fields = {name: value for name, value in command.__dict__.items() if name != "how"}
    return [_ENDED[command.how](**fields)]


def _end(state: Run, command: EndRun) -> list[Payload]:
    if state.running is not None:
        raise Held(
            "stage_running",
            f"The stage {state.running.stage} of {state.id} is still running.",
            "End the stage first.",
            run=state.id,
        )
    if command.outcome not in OUTCOMES:
        raise Refused("bad_outcome", f"{command.outcome[:80]!r} is not an outcome.", f"Use {', '.join(OUTCOMES)}.")
    return [RunEnded(**command.__dict__)]


def evolve(state: Run, event: Payload, meta: Meta) -> Run:
    match event:
        case RunOpened():
            return Run(id=state.id, at=meta.at, **event.__dict__)
        case StageStarted():
            return state.replace(tries=(*state.tries, StageTry(at=meta.at, **event.__dict__)))
        case StagePassed() | StageFailed() | StageInterrupted():
            *before, last = state.tries
            how = event.type.partition(":")[2]
            return state.replace(tries=(*before, last.replace(status=how, ended=meta.at, **event.__dict__)))
        case RunEnded():
            return state.replace(ended=meta.at, **event.__dict__)
        case _:
            raise TypeError(f"not an event of a run: {event!r}")


def columns(state: Run) -> dict[str, Any]:
    title = f"{state.pack} {state.task}, attempt {state.attempt}" if state.task else state.pack
    return {"open": state.open, "task": state.task, "title": title, "state": state.outcome or "open"}


KIND = Kind(
    name="run",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Run,
    columns=columns,
    plural="runs",
    made_by="`moot run`",
    check="moot.core.integrity.import_checks:run",
)
