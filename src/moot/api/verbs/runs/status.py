"""Where runs stand: each stage with its state, times and attempts; of a run with waves, also its targets.

`concerns` has what a person should know: runs that nobody goes on with, and those that failed.
Reads only. A run whose process has ended is shown as interrupted, even before that is recorded.
"""

from __future__ import annotations

from moot.api.protocol.pack_views import Concern
from moot.core.deciders.permit import STAGES
from moot.core.record import Record
from moot.core.run import BEHIND, FAILED, PASSED
from moot.core.text import command_line, one_line, option
from moot.core.timestamps import parse
from moot.place.locks import is_alive
from moot.runs.history import runs_of, usual_seconds
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moot.api.call import Call
    from moot.core.run import Run, StageTry

_LOOKED_AT = 200  # newest runs that may concern a person
COMPLETED, RUNNING, PENDING, INTERRUPTED = "completed", "running", "pending", "interrupted"
WAITING = "waiting"  # a stage: for the answer of a person


class StageStatus(Record):
    """A stage. state: completed, reused, skipped, running, waiting, failed, interrupted or pending.

    text: why it failed, was skipped or was interrupted, or the question that it waits for. problems: why it failed; of
    a completed one, the errors that it found, such as failed tests.
    seconds: how long it took, or has been running. estimate: seconds that it usually takes, while it runs or is
    pending; 0 if unknown.
    """

    stage: str
    state: str
    attempts: int = 0
    started: str = ""
    ended: str = ""
    seconds: float = 0.0
    estimate: float = 0.0
    text: str = ""
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class RunStatus(Record):
    """A run of one target. state: running, waiting, or how it ended. `stages` in order."""

    run: str
    pack: str
    target: str
    title: str
    state: str
    since: str = ""
    ended: str = ""
    reason: str = ""
    wave: int = 0
    warnings: int = 0
    stages: tuple[StageStatus, ...] = ()


class WavesStatus(Record):
    """A run with waves: the runs of its targets by wave. A target that has not begun has no run yet."""

    run: str
    pack: str
    title: str
    state: str
    since: str = ""
    ended: str = ""
    reason: str = ""
    waves: tuple[tuple[RunStatus, ...], ...] = ()


def status_of(call: Call, run: Run) -> RunStatus | WavesStatus:
    """The status of a run, with those of its targets if it has waves."""
    if not run.waves:
        return of_target(call, run)
    usual = usual_seconds(call.engine.read(), run.pack) if run.open else {}
    waves = tuple(
        tuple(_child(call, run, target, number, usual) for target in wave) for number, wave in enumerate(run.waves)
    )
    return WavesStatus(
        run=run.id,
        pack=run.pack,
        title=run.title,
        state=_state(call, run),
        since=run.at,
        ended=run.ended,
        reason=run.reason,
        waves=waves,
    )


def _child(call: Call, parent: Run, target: str, wave: int, usual: Mapping[str, float]) -> RunStatus:
    found = next((run for run in runs_of(call.engine.read(), target) if run.parent == parent.id), None)
    if found is None:
        title = target.removeprefix(f"{parent.pack}:")
        return RunStatus(run="", pack=parent.pack, target=target, title=title, state=PENDING, wave=wave)
    return of_target(call, found, usual)


def of_target(call: Call, run: Run, usual: Mapping[str, float] | None = None) -> RunStatus:
    """The status of a run of one target. `usual`: how long its stages take, if that is known already."""
    if usual is None:
        usual = usual_seconds(call.engine.read(), run.pack) if run.open else {}
    now = call.clock.wall_seconds()
    dead = run.open and bool(run.driver) and not is_alive(call.place.state, run.driver)
    return RunStatus(
        run=run.id,
        pack=run.pack,
        target=run.target,
        title=run.title or run.target,
        state=_state(call, run),
        since=run.at,
        ended=run.ended,
        reason=run.reason,
        wave=run.wave,
        warnings=run.warnings,
        stages=tuple(_stage(run, name, usual, now, dead=dead) for name in run.stages),
    )


def _state(call: Call, run: Run) -> str:
    if run.ending:
        return run.ending
    if run.driver and not is_alive(call.place.state, run.driver):
        at = run.running.stage if run.running is not None else ""
        return f"interrupted at {at}" if at else INTERRUPTED
    seat = states.state(call.engine.peek(), "permit", STAGES)[0].seat(run.id)
    return "waiting" if seat is not None and not seat.held else RUNNING


def _stage(run: Run, name: str, usual: Mapping[str, float], now: float, *, dead: bool) -> StageStatus:
    tries = run.tries_of(name)
    current = [one for one in run.tries[run.since :] if one.stage == name]
    shown = current[-1] if current else tries[-1] if tries and run.outcome and not run.passed else None
    refused = run.outcome == "failed" and run.stopped_at == name and (shown is None or shown.status in BEHIND)
    if refused:
        return StageStatus(name, "failed", attempts=len(tries), text=run.reason, ended=run.ended)
    estimate = usual.get(name, 0.0) if run.open and not dead else 0.0
    if shown is None:
        return StageStatus(name, PENDING, attempts=len(tries), estimate=estimate)
    state = WAITING if run.asks and shown is run.tries[-1] else _word(shown, dead=dead)
    running = state == RUNNING
    return StageStatus(
        stage=name,
        state=state,
        attempts=len(tries),
        started=shown.at,
        ended=shown.ended,
        seconds=max(now - (parse(shown.at) or now), 0.0) if running else shown.seconds,
        estimate=estimate if running else 0.0,
        text=shown.reason or ("" if state == INTERRUPTED else shown.why),  # why it began is not why it ended
        warnings=shown.warnings,
        problems=shown.problems,
    )


def _word(one: StageTry, *, dead: bool) -> str:
    if one.status == RUNNING and dead:
        return INTERRUPTED
    return COMPLETED if one.status == PASSED else one.status


def without_clock(found: RunStatus | WavesStatus) -> RunStatus | WavesStatus:
    """The status without what changes as time passes: how long a stage has been running."""
    if isinstance(found, WavesStatus):
        waves = tuple(tuple(_timeless(one) for one in wave) for wave in found.waves)
        return found.replace(waves=waves)
    return _timeless(found)


def _timeless(found: RunStatus) -> RunStatus:
    stages = (one.replace(seconds=0.0) if one.state == RUNNING else one for one in found.stages)
    return found.replace(stages=tuple(stages))


def newest(call: Call, pack: str | None = None, limit: int = 20) -> list[Run]:
    """The newest runs with targets or waves that are not part of another one."""
    found = []
    for run in queries.things(call.engine.read(), "run", 1000, ended=True):
        if (run.target or run.waves) and not run.parent and pack in (None, run.pack):
            found.append(run)
            if len(found) == limit:
                break
    return found


def concerns(call: Call, pack: str) -> Iterator[Concern]:
    """For each unfinished task whose last run stopped in the middle. None while a driver lives."""
    store, seen = call.engine.read(), set[str]()
    newest = [run for run in queries.things(store, "run", _LOOKED_AT, ended=True) if run.pack == pack and run.task]
    if not newest or call.past is not None or is_alive(call.place.state, pack):
        return
    for run in newest:
        if run.task in seen:
            continue
        seen.add(run.task)
        task, _ = states.task(store, run.task)
        if task.attempt != run.attempt or task.phase not in ("open", "working", "review"):
            continue
        stage = run.tries[-1].stage if run.tries else "its first stage"
        if run.open:
            said = f"{run.id} of {task.id} was interrupted in {stage}, and nobody goes on with it."
            yield Concern("run_interrupted", task.id, said, command_line(f"run {pack}"), run.at, who=pack)
        elif run.outcome == FAILED:
            again = command_line(f"run {pack}", options=option("--task", task.id))
            said = one_line(f"{run.id} of {task.id} failed: {run.reason}", 500)
            yield Concern("run_failed", task.id, said, again, run.ended, who=pack)
