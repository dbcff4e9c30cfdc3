"""Runs: work that goes through stages in order, such as a task that agents assign, build and review.

What always holds:
- A run is opened once, with the names of its stages, and ended. Nothing happens to it after its end, except that the
  run of a target can be resumed, and that its files can be restored.
- At most one stage of a run is running. It ends in one of four ways: passed, skipped, failed or interrupted.
- A stage can be started again until it has passed, and then neither it nor an earlier one, unless the run `repeats`.
  Its attempts are numbered.
- In a run of a target, a stage starts only after all earlier ones have passed, were skipped or were reused. After it
  was resumed, the stages begin again with the first: each is reused or started.
- A run ends only when no stage is running.

A run may have a parent: that of the program that drives it. Such a parent has no stages; it says that the program runs.
What a stage is for, and when it has passed, is decided elsewhere. This kind only keeps the record.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.core.ids import is_plain
from moot.core.kind import Kind
from moot.core.record import unreachable
from moot.core.run import (
    BEHIND,
    ENDED,
    ENDINGS,
    EVENTS,
    FAILED,
    INTERRUPTED,
    OUTCOMES,
    PASSED,
    SKIPPED,
    STOPPED,
    EndRun,
    EndStage,
    FilesRestored,
    OpenRun,
    RestoreFiles,
    ResumeRun,
    ReuseStage,
    Run,
    RunEnded,
    RunOpened,
    RunResumed,
    StageFailed,
    StageInterrupted,
    StagePassed,
    StageReused,
    StageSkipped,
    StageStarted,
    StageTry,
    StartStage,
)
from moot.core.text import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.kind import Meta
    from moot.core.payload import Payload

__all__ = [
    "BEHIND",
    "ENDINGS",
    "FAILED",
    "INTERRUPTED",
    "KIND",
    "OUTCOMES",
    "PASSED",
    "SKIPPED",
    "STOPPED",
    "EndRun",
    "EndStage",
    "OpenRun",
    "RestoreFiles",
    "ResumeRun",
    "ReuseStage",
    "Run",
    "StageTry",
    "StartStage",
    "decide",
    "evolve",
    "known",
    "of_target",
]
_STAGES = 100
_TRIES = 1000
Command = OpenRun | ResumeRun | StartStage | ReuseStage | EndStage | EndRun | RestoreFiles


# --- rules -----------------------------------------------------------------------------------------------------------


def decide(state: Run, command: Command, _facts: object = None) -> list[Payload]:
    if isinstance(command, OpenRun):
        return _open(state, command)
    known(state)
    if isinstance(command, ResumeRun):
        return _resume(state, command)
    if isinstance(command, RestoreFiles):
        return [FilesRestored(**command.__dict__)]
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
        case ReuseStage():
            _check_next(state, command.stage)
            return [StageReused(**command.__dict__, attempt=len(state.tries_of(command.stage)) + 1)]
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


def _resume(state: Run, command: ResumeRun) -> list[Payload]:
    if state.open or not (state.target or state.waves):
        raise Refused(
            "not_resumable",
            f"The run {state.id} {'is open' if state.open else 'has no target'}.",
            "Only the ended run of a target can be resumed.",
            run=state.id,
        )
    return [RunResumed(**command.__dict__)]


def _start(state: Run, command: StartStage) -> list[Payload]:
    _check_next(state, command.stage)
    return [StageStarted(**command.__dict__, attempt=len(state.tries_of(command.stage)) + 1)]


def _check_next(state: Run, stage: str) -> None:
    """Refuse a stage that cannot be started now."""
    if stage not in state.stages:
        raise Refused(
            "unknown_stage",
            f"The run {state.id} has no stage {stage[:80]!r}.",
            f"Its stages: {', '.join(state.stages) or 'none'}.",
            run=state.id,
        )
    if state.running is not None:
        raise Held(
            "stage_running",
            f"The stage {state.running.stage} of {state.id} is running (attempt {state.running.attempt}, since "
            f"{state.running.at}).",
            "Wait until it has ended.",
            run=state.id,
            stage=state.running.stage,
            since=state.running.at,
        )
    number, passed = state.stages.index(stage), state.passed
    if number < passed and not state.repeats:
        raise Refused("stage_passed", f"{state.id} is past the stage {stage}.", "Start a later one.", run=state.id)
    if state.target and number > passed:
        missing = state.stages[passed]
        raise Refused(
            "stage_too_early",
            f"{missing} has not completed successfully.",
            f"Run {missing} first.",
            run=state.id,
            stage=missing,
        )
    if len(state.tries) >= _TRIES:
        raise Refused("run_too_long", f"{state.id} has {_TRIES} attempts.", "End it, and open another.", run=state.id)


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
    return [ENDED[command.how](**fields)]


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
        case RunResumed():
            fresh = {"outcome": "", "reason": "", "ended": "", "stopped_at": "", "warnings": 0}
            return state.replace(**fresh, pid=event.pid, driver=event.driver, since=len(state.tries))
        case StageStarted():
            fields = {**event.__dict__, "why": event.reason, "reason": ""}
            return state.replace(tries=(*state.tries, StageTry(at=meta.at, **fields)))
        case StageReused():
            fields = {**event.__dict__, "why": event.reason, "reason": "", "status": "reused"}
            return state.replace(tries=(*state.tries, StageTry(at=meta.at, ended=meta.at, **fields)))
        case StagePassed() | StageSkipped() | StageFailed() | StageInterrupted():
            *before, last = state.tries
            how = event.type.partition(":")[2]
            return state.replace(tries=(*before, last.replace(status=how, ended=meta.at, **event.__dict__)))
        case FilesRestored():
            return state
        case RunEnded():
            ended = {name: value for name, value in event.__dict__.items() if name != "at"}
            return state.replace(ended=meta.at, stopped_at=event.at, **ended)
        case _:
            raise TypeError(f"not an event of a run: {event!r}")


def of_target(target: str) -> str | None:
    """The value of the column `task` for the runs of a target. No task can have such an id."""
    return f"target:{target}" if target else None


def columns(state: Run) -> dict[str, Any]:
    title = state.pack
    if state.task:
        title = f"{state.pack} {state.task}, attempt {state.attempt}"
    elif state.target:
        title = f"{state.pack} {state.title or state.target}"
    return {
        "open": state.open,
        "task": state.task or of_target(state.target),
        "title": title,
        "state": state.outcome or "open",
    }


KIND = Kind(
    name="run",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Run,
    columns=columns,
    plural="runs",
    made_by="`moot run`",
)
