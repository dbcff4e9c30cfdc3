"""Where runs stand: each stage with its state, times and attempts; of a run with waves, also its targets.

Reads only. A run whose process has ended is shown as interrupted, even before that is recorded.
"""

from __future__ import annotations

from moot.core.deciders.permit import STAGES
from moot.core.record import Record
from moot.core.run import BEHIND, PASSED
from moot.core.text import age, one_line
from moot.pipelines.driver import is_alive
from moot.pipelines.running import runs_of
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.run import Run, StageTry

COMPLETED, RUNNING, PENDING, INTERRUPTED = "completed", "running", "pending", "interrupted"
MARKS = {
    COMPLETED: "✓",
    "reused": "=",
    "skipped": "-",
    RUNNING: "▶",
    "failed": "✗",
    INTERRUPTED: "!",
    PENDING: "·",
}
_WIDTH = 200


class StageStatus(Record):
    """A stage. state: completed, reused, skipped, running, failed, interrupted or pending."""

    stage: str
    state: str
    attempts: int = 0
    started: str = ""
    ended: str = ""
    seconds: float = 0.0
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
    waves = tuple(tuple(_child(call, run, target, number) for target in wave) for number, wave in enumerate(run.waves))
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


def _child(call: Call, parent: Run, target: str, wave: int) -> RunStatus:
    found = next((run for run in runs_of(call, target) if run.parent == parent.id), None)
    if found is None:
        return RunStatus(run="", pack=parent.pack, target=target, title=target, state=PENDING, wave=wave)
    return of_target(call, found)


def of_target(call: Call, run: Run) -> RunStatus:
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
        stages=tuple(_stage(run, name, dead=dead) for name in run.stages),
    )


def _state(call: Call, run: Run) -> str:
    if run.ending:
        return run.ending
    if run.driver and not is_alive(call.place.state, run.driver):
        at = run.running.stage if run.running is not None else ""
        return f"interrupted at {at}" if at else INTERRUPTED
    seat = states.state(call.engine.peek(), "permit", STAGES)[0].seat(run.id)
    return "waiting" if seat is not None and not seat.held else RUNNING


def _stage(run: Run, name: str, *, dead: bool) -> StageStatus:
    tries = run.tries_of(name)
    current = [one for one in run.tries[run.since :] if one.stage == name]
    shown = current[-1] if current else tries[-1] if tries and run.outcome and not run.passed else None
    refused = run.outcome == "failed" and run.stopped_at == name and (shown is None or shown.status in BEHIND)
    if refused:
        return StageStatus(name, "failed", attempts=len(tries), text=run.reason, ended=run.ended)
    if shown is None:
        return StageStatus(name, PENDING, attempts=len(tries))
    return StageStatus(
        stage=name,
        state=_word(shown, dead=dead),
        attempts=len(tries),
        started=shown.at,
        ended=shown.ended,
        seconds=shown.seconds,
        text=shown.reason or shown.why,
        warnings=shown.warnings,
        problems=shown.problems,
    )


def _word(one: StageTry, *, dead: bool) -> str:
    if one.status == RUNNING and dead:
        return INTERRUPTED
    return COMPLETED if one.status == PASSED else one.status


# --- words ------------------------------------------------------------------------------------------------------------


def lines_of(found: RunStatus | WavesStatus) -> Iterator[str]:
    """The status as a tree."""
    if isinstance(found, RunStatus):
        yield from _target_lines(found, "")
        return
    yield one_line(f"{found.run} {found.pack}{f' {found.title}' if found.title else ''}: {found.state}", _WIDTH)
    if found.reason:
        yield f"  {one_line(found.reason, _WIDTH)}"
    for number, wave in enumerate(found.waves):
        yield f"  wave {wave[0].wave if wave else number}"
        for one in wave:
            yield from _target_lines(one, "    ")


def _target_lines(one: RunStatus, indent: str) -> Iterator[str]:
    name = f" ({one.run})" if one.run else ""
    yield f"{indent}{one_line(f'{one.title}: {one.state}{name}', _WIDTH)}"
    for stage in one.stages:
        yield f"{indent}  {one_line(stage_line(stage), _WIDTH)}"
        if stage.state == "failed":
            yield from (f"{indent}      {one_line(problem, _WIDTH)}" for problem in stage.problems)
        yield from (f"{indent}      warning: {one_line(text, _WIDTH)}" for text in stage.warnings)


def stage_line(stage: StageStatus) -> str:
    took = f" {age(stage.seconds)}" if stage.seconds >= 1 else ""
    again = f", {stage.attempts} attempts" if stage.attempts > 1 else ""
    text = f": {stage.text}" if stage.text and stage.state in ("failed", "skipped", INTERRUPTED) else ""
    return f"{MARKS[stage.state]} {stage.stage} {stage.state}{took}{again}{text}"


def newest(call: Call, pack: str | None = None, limit: int = 20) -> list[Run]:
    """The newest runs with targets or waves that are no part of another one."""
    found = []
    for run in queries.things(call.engine.read(), "run", 1000, ended=True):
        if (run.target or run.waves) and not run.parent and pack in (None, run.pack):
            found.append(run)
            if len(found) == limit:
                break
    return found
