"""What a run of files reports while it works, what its caller can ask for, and what it would do."""

from __future__ import annotations

from moot.core.record import Record
from moot.core.text import command_line, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

INTERRUPTION = "it was interrupted"  # the reason of a run that its caller broke off


class AwaitedRun(Record):
    """A run that another one waits for. `stage`: the one that works now, `since` when; empty while it waits itself."""

    run: str
    title: str = ""
    stage: str = ""
    since: str = ""
    pid: int = 0

    @property
    def said(self) -> str:
        at = f"{self.stage} since {self.since}" if self.stage else f"waiting since {self.since}"
        return f"{self.run} ({self.title}: {at}, process {self.pid})"


class PipelineStep(Record):
    """One thing that happened.

    what: opened, waiting (for a seat), ready (the prerequisites hold), started, passed, skipped, reused, failed, waits
    (for an answer of a person), ended.
    text: in words. checks: the prerequisites that were checked. estimate: seconds that the stage usually takes, 0 if
    unknown. outcome: of an ended run. problems: each with its place. counts: of a parent, runs by outcome. awaits: the
    runs that one waits for.
    """

    what: str
    run: str
    target: str = ""
    title: str = ""
    stage: str = ""
    attempt: int = 0
    text: str = ""
    outcome: str = ""
    seconds: float = 0.0
    estimate: float = 0.0
    code: int | None = None
    timed_out: bool = False
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    details: str = ""
    suggestion: str = ""
    checks: tuple[str, ...] = ()
    wave: int = 0
    counts: Mapping[str, int] = {}
    awaits: tuple[AwaitedRun, ...] = ()

    @property
    def advice(self) -> str:
        """What helps after a stage has failed."""
        found = [f"{self.suggestion.rstrip('.')}."] if self.suggestion else []
        if self.code is not None:
            log, back = command_line("run log", self.run), command_line("run restore", self.run, self.stage)
            found.append(f"What its command printed: `{log} --stage {self.stage}`. To put its files back: `{back}`.")
        return " ".join(found)


class RunOptions(Record):
    """What the caller wants.

    resume: go on with the last run of the target. only: run this stage alone, on what the earlier ones left. first:
    stages that may run before it, if they have to; all others must have passed. until: stop after this stage. again:
    use no earlier result. wait: wait while another process works on the target, instead of refusing. limit: how many
    runs may work at once in the workspace. keep_going: a target that failed does not end the others. parent: the run
    with the waves that it belongs to.
    """

    resume: bool = False
    only: str = ""
    first: tuple[str, ...] = ()
    until: str = ""
    again: bool = False
    wait: bool = False
    limit: int = 1
    output: bool = False  # show the output of commands
    parent: str | None = None
    keep_going: bool = False


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


class RestoredFiles(Record):
    """Files that were put back as they were before an attempt. removed: those that it had made."""

    run: str
    stage: str
    attempt: int
    restored: tuple[str, ...]
    removed: tuple[str, ...] = ()
