"""What changed in the files while a stage ran that failed, in words for its user."""

from __future__ import annotations

from moot.core.errors import MootError
from moot.core.text import command_line, unbroken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.runs.steps import PipelineStep


def left_behind(call: Call, step: PipelineStep) -> str:
    """Which files changed while a stage that failed ran, and how to put them back; empty if there are none."""
    from moot.pipelines.restoring import restore

    try:
        found = restore(call, step.run, step.stage, None, dry_run=True).result
    except MootError:  # it had nothing to write, or cannot be asked now
        return ""
    files = unbroken(", ".join((*found.restored, *found.removed)))
    back = command_line("run restore", step.run)
    changed = f"What changed while it ran is still in {files}; `{back}` puts all of that back as it was before."
    return changed if files else ""
