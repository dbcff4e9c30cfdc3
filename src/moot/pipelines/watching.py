"""The section of `moot watch` with the runs of files: those that work now, and the last ones that ended."""

from __future__ import annotations

from moot.api.protocol.pack_views import PackView
from moot.pipelines.status import lines_of, newest, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call

_RUNS = 3  # ended ones
_TONES = {"✓": "good", "=": "dim", "-": "dim", "▶": "busy", "✗": "bad", "!": "warn", "·": "dim"}


def views(call: Call) -> tuple[PackView, ...]:
    """The section; none if no active pack has stages, or nothing has run yet."""
    if not any(pack.stages for pack in call.packs.packs):
        return ()
    runs = newest(call)
    shown = [run for run in runs if run.open] or runs[:_RUNS]
    if not shown or call.past is not None:
        return ()
    found = [status_of(call, run) for run in shown]
    lines = tuple(((line, _tone(line)),) for one in found for line in lines_of(one))
    return (PackView("runs", "Runs", [one.full() for one in found], lines),)


def _tone(line: str) -> str:
    return _TONES.get(line.strip()[:1], "")
