"""What `moot run PACK FILE --dry-run` shows: which stages would be reused, and which would run, and why."""

from __future__ import annotations

from moot.pipelines.running import TargetRun
from moot.place.locks import Driver
from moot.runs.steps import PlannedStage, PlannedTarget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.pipelines.contract import Pipeline, Target
    from moot.runs.steps import RunOptions


def planned(call: Call, pipeline: Pipeline, target: Target, options: RunOptions) -> PlannedTarget:
    """What would happen to a target now. Starts and records nothing."""
    run = TargetRun(call, pipeline, target, options, Driver(call.place.state), None)
    stages, plan = run.preview()
    found = [PlannedStage(stage.name, reused=True) for stage in stages[: len(plan.kept)]]
    for number, stage in enumerate(stages[len(plan.kept) :]):
        command = run.command(stage)
        reason = plan.reason if not number else f"if {stages[len(plan.kept)].name} passes"
        found.append(PlannedStage(stage.name, reused=False, reason=reason, command=command))
    return PlannedTarget(target=target.id, title=target.said, stages=tuple(found))
