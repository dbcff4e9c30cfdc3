"""One stage of one document, started by hand: all that it needs is in the log."""

from __future__ import annotations

from moot.api.answer import Answer, Notice
from moot.core.errors import Refused, Unknown
from moot.core.record import Record
from moot.core.text import bullets, command_line
from moot.packs.rspec.cover_ends import unsaid
from moot.packs.rspec.cover_history import answer_of, newest_of
from moot.packs.rspec.cover_options import CoverOptions
from moot.packs.rspec.cover_run import Cover, report_step
from moot.packs.rspec.pipeline import RspecPipeline
from moot.pipelines.leaving import left_behind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.call import Call


class SingleStage(Record):
    """What came of the stage. `answer`: as the agent or moot gave it."""

    run: str
    slug: str
    stage: str
    outcome: str
    answer: Mapping[str, Any] = {}
    warnings: tuple[str, ...] = ()


def run(call: Call, slug: str, stage: str, *, keep: bool = False, output: bool = False) -> Answer:
    from moot.pipelines.running import run_target
    from moot.runs.steps import RunOptions

    parent = newest_of(call, slug)
    if parent is None:
        raise Unknown("unknown_document", f"No run has a document {slug[:200]!r}.", "Start one: `moot rspec cover`.")
    cover = Cover(call, parent.parameters, CoverOptions(output=output), parent.id)
    cover.check_allowed()
    target = cover.reached(slug)
    again = command_line("rspec stage", slug, stage)
    around = cover.surroundings(target).replace(keeps=f"{again} --keep")
    pipeline = RspecPipeline(cover.protocol.pack, {target.id: around})
    options = RunOptions(only=stage, output=output, parent=parent.id, keep=keep)
    steps = []
    try:
        for step in run_target(call, pipeline, target, options):
            steps.append(step)
            report_step(call, step)
    except KeyboardInterrupt:
        report = getattr(call, "report", None)
        if report is not None:
            report(f"Interrupted: {stage} of {slug}. To run it again: `{again}`.")
        raise
    failed = next((step for step in steps if step.what == "failed"), None)
    if failed is not None:
        raise Refused(
            "stage_failed",
            "\n".join((f"{failed.stage}: {failed.text}", *bullets(unsaid(failed.text, failed.problems)))),
            " ".join(filter(None, (failed.suggestion, left_behind(call, failed), f"Correct it, then: `{again}`."))),
            run=failed.run,
            stage=failed.stage,
            problems=list(failed.problems),
        )
    done = next(step for step in reversed(steps) if step.stage == stage)
    found = SingleStage(done.run, slug, stage, done.what, answer_of(call, done.run, stage), done.warnings)
    more = f": {done.text}" if done.what == "skipped" else ""
    return Answer(
        result=found,
        say=(f"{stage} {done.what}{more}",),
        warnings=tuple(Notice("rspec", text) for text in done.warnings),
        code=2 if done.warnings else 0,
    )
