"""What `moot run PACK FILE --dry-run` shows: which stages would be reused, and which would run, and why."""

from __future__ import annotations

from moot.core.record import Record
from moot.core.text import one_line
from moot.pipelines.running import TargetRun
from moot.place.locks import Driver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.pipelines.contract import Pipeline, Target
    from moot.pipelines.steps import RunOptions


class PlannedStage(Record):
    """A stage that would be reused, or run. Those after the first that runs are decided when it has passed."""

    stage: str
    reused: bool
    reason: str = ""
    command: tuple[str, ...] = ()


class PlannedTarget(Record):
    target: str
    title: str
    stages: tuple[PlannedStage, ...]

    @property
    def lines(self) -> list[str]:
        found = [self.title]
        for one in self.stages:
            does = "would be reused" if one.reused else f"would run: {' '.join(one.command) or 'built in'}"
            text = f"{one.stage} {does}{f' ({one.reason})' if one.reason else ''}"
            found.append(f"  {one_line(text, 300)}")
        return found


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
