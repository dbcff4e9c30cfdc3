"""What earlier runs of a target have left: results that may be reused, and work that a stage goes on with."""

from __future__ import annotations

from moot.core.record import Record
from moot.core.run import PASSED
from moot.pipelines import reuse
from moot.runs import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moot.api.call import Call
    from moot.api.protocol.stage import Stage
    from moot.core.run import Run, StageTry
    from moot.pipelines.reuse import Earlier
    from moot.runs.steps import RunOptions


def runs_of(call: Call, target: str) -> Sequence[Run]:
    """The runs of a target, newest first."""
    return history.runs_of(call.engine.read(), target)


class TargetHistory(Record):
    """See the module."""

    current: Run | None = None  # the run to go on with; None to open a new one
    earlier: Mapping[str, Earlier] = {}  # results that may be reused, by stage
    last: StageTry | None = None  # the last attempt of any run, which may have left unfinished work
    tried: tuple[StageTry, ...] = ()  # attempts at the stage that is to run alone, newest first


def history_of(runs: Sequence[Run], stages: Sequence[Stage], options: RunOptions) -> TargetHistory:
    """What these runs of a target have left, newest first. `stages`: all of its pipeline."""
    current, alone = _resumed(runs, stages, options), options.only
    earlier = {}
    for stage in stages if alone or not options.again else ():
        cached = stage.replace(cache="run") if alone and stage.cache == "never" else stage
        found = reuse.earlier_of(runs, cached, current.id if current is not None else None)
        if found is not None and stage.name != alone:
            earlier[stage.name] = found
    last = runs[0].tries[-1] if runs and runs[0].tries else None
    tried = tuple(one for run in runs for one in reversed(run.tries_of(alone))) if alone else ()
    return TargetHistory(current=current, earlier=earlier, last=last, tried=tried)


def _resumed(runs: Sequence[Run], stages: Sequence[Stage], options: RunOptions) -> Run | None:
    names = tuple(stage.name for stage in stages)
    alone = bool(options.only) and options.only != names[0]
    last = next((run for run in runs if run.stages == names), None)
    if last is None or last.open or not (options.resume or alone):
        return None
    ours = options.parent is not None and last.parent == options.parent
    return last if alone or ours or last.outcome != PASSED else None
