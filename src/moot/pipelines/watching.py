"""The section of `moot watch` with the runs of files: those that work now, and the last ones that ended."""

from __future__ import annotations

from moot.api.protocol.pack_views import PackView
from moot.pipelines.status import newest, status_of
from moot.pipelines.status_lines import headline, screen_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.pipelines.status import RunStatus, WavesStatus

    Line = tuple[tuple[str, str], ...]  # pieces: text and tone

_RUNS = 3  # ended ones


def views(call: Call) -> tuple[PackView, ...]:
    """The section; none if no active pack has stages, or nothing has run yet."""
    if not any(pack.stages for pack in call.packs.packs):
        return ()
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
