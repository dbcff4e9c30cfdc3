"""Which blocks of a spec file moot may replace: those that are still as one of its stages left them.

A stage has written a block if it was not there, or was another one, when the attempt began.
"""

from __future__ import annotations

from moot.core.run import INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moot.core.run import Run


def written(
    runs: Iterable[Run], path: str, first: str, blob: Callable[[str], bytes], blocks: Callable[[bytes], set[bytes]]
) -> frozenset[bytes] | None:
    """The texts of the blocks that stages left. None: the last attempt was interrupted, so all of it may be replaced.

    `runs`: that write this file, newest first. `first`: the stage that makes the blocks. `blocks`: their texts in a
    content of the file.
    """
    found: set[bytes] = set()
    writers = [one for run in runs for one in reversed(run.tries) if path in one.writes]
    if writers and writers[0].stage == first and writers[0].status == INTERRUPTED:
        return None
    for one in writers:
        if path in one.left:
            before = one.snapshots.get(path)
            found |= blocks(blob(one.left[path])) - (blocks(blob(before)) if before else set())
    return frozenset(found)
