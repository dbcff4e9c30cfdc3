"""How a run that did not finish is reported: which stage failed or was interrupted, and how to go on."""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.text import bullets, command_line
from moot.pipelines.leaving import left_behind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.api.call import Call
    from moot.runs.steps import PipelineStep

_OVER = ("passed", "skipped", "failed", "waits")


def failed(call: Call, run: str, steps: Sequence[PipelineStep]) -> Refused:
    """The error of a run that has failed: that of its first stage that did."""
    step = next((one for one in steps if one.what == "failed"), None)
    if step is None:
        last = next((one for one in reversed(steps) if one.what == "ended" and one.text), steps[-1])
        advice = last.suggestion or "`moot run status` shows more."
        return Refused("run_failed", f"{last.title}: {last.text}", advice, run=run)
    details = [*step.problems, *([step.details] if step.details else [])]
    advice = f"{step.suggestion.rstrip('.')}. " if step.suggestion else ""
    left = f"{found} " if (found := left_behind(call, step)) else ""
    return Refused(
        "stage_failed",
        "\n".join((f"{step.stage} failed for {step.title}: {step.text}", *bullets(unsaid(step.text, details)))),
        f"{advice}{left}To go on from {step.stage}: `{command_line('rspec resume', run)}`.",
        run=step.run,
        stage=step.stage,
        problems=list(step.problems),
    )


def interruption(run: str, steps: Sequence[PipelineStep]) -> str:
    """What was interrupted, and how to go on."""
    if not run:
        return "Interrupted before the run began."
    over = {(one.run, one.stage) for one in steps if one.what in _OVER}
    working = [one for one in steps if one.what == "started" and (one.run, one.stage) not in over]
    what = ", ".join(f"{one.stage} of {one.title}" for one in working) or f"{run}, while no stage was at work"
    return f"Interrupted: {what}. To go on: `{command_line('rspec resume', run)}`."


def unsaid(text: str, details: Sequence[str]) -> list[str]:
    """The details that a text does not already contain."""
    return [one for one in details if one not in text]
