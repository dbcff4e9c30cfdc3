"""The status of runs in words: as a tree, short enough for a screen, and as a section of `moot watch`."""

from __future__ import annotations

from moot.api.protocol.pack_views import PackView
from moot.api.verbs.runs.status import COMPLETED, INTERRUPTED, PENDING, RUNNING, WAITING, RunStatus, newest, status_of
from moot.core.run import PASSED
from moot.core.text import ELLIPSIS, age, bullets, cells, one_line
from moot.runs.steps import INTERRUPTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moot.api.call import Call
    from moot.api.protocol.pack_views import Line
    from moot.api.verbs.runs.status import StageStatus, WavesStatus

MARKS = {
    COMPLETED: "✓",
    "reused": "=",
    "skipped": "-",
    RUNNING: "▶",
    WAITING: "?",
    "failed": "✗",
    INTERRUPTED: "!",
    PENDING: "·",
}
TONES = {"✓": "good", "=": "dim", "-": "dim", "▶": "busy", "?": "warn", "✗": "bad", "!": "warn", "·": "dim"}
_WIDTH = 200
_TITLE = 28  # cells of a title on a screen
_STAGES = 72  # cells of a line with stages on a screen
_RUNS = 3  # ended ones in a section
_DONE = (COMPLETED, "reused", "skipped")


# --- as a tree --------------------------------------------------------------------------------------------------------


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
        for line in _notes(stage):
            yield f"{indent}    {line}"


def _notes(stage: StageStatus) -> Iterator[str]:
    """The problems of a stage, without the one that its line already says, and its warnings."""
    mark = "" if stage.state == "failed" else "error: "
    yield from bullets([f"{mark}{text}" for text in stage.problems if text != stage.text], width=_WIDTH)
    yield from bullets([f"warning: {text}" for text in stage.warnings], width=_WIDTH)


def stage_line(stage: StageStatus) -> str:
    again = f", {stage.attempts} attempts" if stage.attempts > 1 else ""
    told = stage.state in ("failed", "skipped", WAITING) or (stage.state == INTERRUPTED and stage.text != INTERRUPTION)
    text = f": {stage.text}" if stage.text and told else ""
    errors = " with errors" if stage.problems and stage.state == COMPLETED else ""
    return f"{MARKS[stage.state]} {stage.stage} {stage.state}{errors}{_time(stage)}{again}{text}"


def _time(stage: StageStatus) -> str:
    took = f" {age(stage.seconds)}" if stage.seconds >= 1 else ""
    return f"{took}, usually {age(stage.estimate)}" if stage.estimate and stage.state == RUNNING else took


# --- on a screen ------------------------------------------------------------------------------------------------------


def headline(found: RunStatus | WavesStatus) -> str:
    """A run in one line: how far it is, and how long the rest will take if that is known."""
    if isinstance(found, RunStatus):
        return one_line(f"{_short(found.title)}: {found.state}{_left(found, 1)} ({found.run})", _WIDTH)
    targets = [one for wave in found.waves for one in wave]
    busy = sum(one.state == RUNNING for one in targets)
    state = "" if found.state == RUNNING else f"{found.state}, "
    done = f"{state}{sum(_mark(one) == MARKS[COMPLETED] for one in targets)} of {len(targets)} finished"
    bad = sum(_mark(one) == MARKS["failed"] for one in targets)
    failed = f", {bad} failed" if bad else ""
    return one_line(f"{found.run} {found.pack}: {done}{failed}{_left(found, busy)}", _WIDTH)


def screen_lines(found: RunStatus | WavesStatus) -> Iterator[tuple[str, str]]:
    """What is below the headline, each line with its tone: the stages of a target; of waves, their targets."""
    if isinstance(found, RunStatus):
        for stage in found.stages:
            yield one_line(stage_line(stage), _WIDTH), TONES[MARKS[stage.state]]
            yield from ((line, "") for line in _notes(stage))
        return
    several = len(found.waves) > 1
    for number, wave in enumerate(found.waves):
        if several:
            yield f"wave {wave[0].wave if wave else number}", "bold"
        yield from _wave_lines(wave)


def _wave_lines(wave: Sequence[RunStatus]) -> Iterator[tuple[str, str]]:
    """Those that work or wait come first, then those that failed, then those that finished. The others are counted."""
    order = "▶?✗!✓·"
    for one in sorted(wave, key=lambda one: order.index(_mark(one))):
        if one.state == PENDING:
            continue
        mark = _mark(one)
        at = next((stage for stage in one.stages if stage.state not in (*_DONE, PENDING)), None)
        doing = one.state if at is None else f"{at.stage}{'' if at.state == RUNNING else f' {at.state}'}{_time(at)}"
        yield f"{mark} {_short(one.title)}: {one_line(doing, _WIDTH)}", TONES[mark]
        if mark != MARKS[COMPLETED]:
            yield from ((f"    {line}", "dim") for line in _joined(one.stages))
        if mark == MARKS["failed"] and at is not None:
            yield from ((line, "") for line in bullets(at.problems or [at.text], most=3, width=_WIDTH))
        elif mark == MARKS[COMPLETED]:
            errors = [text for stage in one.stages for text in stage.problems]
            yield from ((line, "") for line in bullets(errors, most=3, width=_WIDTH))
    pending = sum(one.state == PENDING for one in wave)
    if pending:
        yield f"{MARKS[PENDING]} {pending} pending", "dim"


def _joined(stages: Sequence[StageStatus]) -> Iterator[str]:
    """All stages with marks and times, as many in a line as fit."""
    line = ""
    for stage in stages:
        took = f" {age(stage.seconds)}" if stage.seconds >= 1 else ""
        word = f"{MARKS[stage.state]} {one_line(stage.stage, _STAGES)}{took}"
        if line and cells(line) + 2 + cells(word) > _STAGES:
            yield line
            line = ""
        line = f"{line}  {word}" if line else word
    if line:
        yield line


def _mark(one: RunStatus) -> str:
    if one.state in (RUNNING, PENDING):
        return MARKS[one.state]
    if one.state.startswith("finished") or one.state == PASSED:
        return MARKS[COMPLETED]
    if one.state.startswith("failed"):
        return MARKS["failed"]
    if any(stage.state == WAITING for stage in one.stages):
        return MARKS[WAITING]
    return MARKS[PENDING] if one.state == "waiting" else MARKS[INTERRUPTED]


def _left(found: RunStatus | WavesStatus, busy: int) -> str:
    """How long the rest takes, if every stage of it has an estimate and everything has begun."""
    targets = [found] if isinstance(found, RunStatus) else [one for wave in found.waves for one in wave]
    working = [one for one in targets if one.state == RUNNING]
    if not working or any(one.state == PENDING for one in targets):
        return ""
    rest = [stage for one in working for stage in one.stages if stage.state in (RUNNING, PENDING)]
    if not rest or not all(stage.estimate for stage in rest):
        return ""
    seconds = sum(max(stage.estimate - stage.seconds, 0.0) for stage in rest) / max(busy, 1)
    return f", about {age(max(seconds, 1.0))} left"


def _short(title: str) -> str:
    """A title that fits: without what it has in parentheses, or only its end, which tells one path from another."""
    line = one_line(title, 1000)
    name = line.partition(" (")[0] if line.endswith(")") else line
    for whole in (line, name):
        if cells(whole) <= _TITLE:
            return whole
    while cells(line) >= _TITLE:
        line = line[1:]
    return f"{ELLIPSIS}{line}"


# --- in `moot watch` --------------------------------------------------------------------------------------------------


def views(call: Call) -> tuple[PackView, ...]:
    """The section with the runs that work now, or the last ones that ended; none if nothing has run yet."""
    runs = newest(call)
    shown = [run for run in runs if run.open] or runs[:_RUNS]
    if not shown or call.past is not None:
        return ()
    found = [status_of(call, run) for run in shown]
    lines = tuple(line for one in found for line in run_lines(one))
    return (PackView("runs", "Runs", [one.full() for one in found], lines),)


def run_lines(found: RunStatus | WavesStatus) -> Iterator[Line]:
    """A run: its headline, and what it does."""
    yield ((headline(found), "bold"),)
    for text, tone in screen_lines(found):
        yield ((f"  {text}", tone),)
