"""Takes back the last `run restore` of a run, or what a stage that began again has put back by itself."""

from __future__ import annotations

from moot.core.errors import Unknown
from moot.core.run import PASSED, REUSED, FilesRestored, StageTry
from moot.core.text import command_line
from moot.runs.step_keys import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.core.run import Run

_PAGE = 500


def last_replaced(call: Call, run: Run) -> StageTry:
    """What the last restore has replaced or removed, as an attempt whose files are put back."""
    last = None
    for event in _restored(call, run):
        last = event
    if last is None:
        raise Unknown(
            "nothing_restored",
            f"No files of {run.id} were restored.",
            f"What could be restored: `{command_line('run restore', run.id, options='--dry-run')}`.",
            run=run.id,
        )
    data, replaced = last.data, last.data.get("replaced", {})
    made = {f"{FILE}{path}": digest for path, digest in data.get("restored", {}).items() if path not in replaced}
    status = PASSED if made else REUSED  # one that was reused has made nothing
    return StageTry(data["stage"], data["attempt"], status, snapshots=replaced, outputs=made)


def restores_of(call: Call, run: Run) -> Iterator[Mapping[str, str]]:
    """The contents that each restore has put back, by path."""
    for event in _restored(call, run):
        yield event.data.get("restored", {})


def _restored(call: Call, run: Run) -> Iterator[Event]:
    after = 0
    while events := call.engine.log.read(after, _PAGE, f"run/{run.id}"):
        yield from (event for event in events if event.type == FilesRestored.type)
        after = events[-1].position
