"""Which blocks of a spec file moot may replace: those that are still as one of its stages left them.

A stage has written a block if it was not there, or was another one, when the attempt began.
"""

from __future__ import annotations

from moot.core.run import INTERRUPTED
from moot.packs.rspec.agents import ARCHITECT, IMPLEMENTER
from moot.packs.rspec.spec_blocks import blocks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moot.core.run import Run


def written(blob: Callable[[str], bytes], runs: Iterable[Run], path: str, class_name: str) -> frozenset[bytes] | None:
    """The texts of the blocks that stages left. None: the last attempt was interrupted, so all of it may be replaced.

    `runs`: of the document, newest first.
    """

    def blocks(digest: str | None) -> set[bytes]:
        if not digest:
            return set()
        found = blocks_of(blob(digest), class_name)
        return {found.source(one) for one in found.blocks}

    found: set[bytes] = set()
    for number, one in enumerate(one for run in runs for one in reversed(run.tries) if one.stage in _WRITERS):
        if number == 0 and one.stage == ARCHITECT and one.status == INTERRUPTED:
            return None
        if path in one.left:
            found |= blocks(one.left[path]) - blocks(one.snapshots.get(path))
    return frozenset(found)


_WRITERS = (ARCHITECT, IMPLEMENTER)
