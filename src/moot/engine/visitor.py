"""The engine of one who looks at a moment of the past, for as long as it likes.

The moment stays the same, and what may be seen of it does not: a text that is taken out of sight meanwhile is gone from
it, too. So the views are made anew when the log has another last tombstone than the one that they were made upon.
"""

from __future__ import annotations

from moot.engine.loop import Engine
from moot.engine.past import TOMBSTONES, views_at
from moot.views.snapshots import Snapshot
from moot.views.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moot.core.lifecycle import Lifecycle
    from moot.core.reactions import Reaction
    from moot.engine.clock import Clock
    from moot.engine.past import PastLog, Progress
    from moot.log import Log


class Visitor(Engine):
    """See the module."""

    def __init__(
        self,
        log: PastLog,
        store: Store,
        clock: Clock,
        lifecycles: Mapping[str, Lifecycle],
        reactions: Sequence[Reaction],
        *,
        state: str,
    ) -> None:
        super().__init__(log, store, clock, lifecycles, reactions)
        self.whole = log.whole
        self._state = state

    def read(self) -> Store:
        """The views of the moment, without what is out of sight by now."""
        if not self.store.pinned:
            self._look_again()
        return super().read()

    def _look_again(self) -> None:
        store = self.store
        if not isinstance(store, Snapshot) or _stands(self.whole, store.mark):
            return
        store.become(moment(self.whole, self._state, self.log.head(), self.progress))
        self._bound = False


def _stands(log: Log, mark: int) -> bool:
    """Whether this is still the position of the last tombstone, 0 if there was none."""
    found = log.read(max(mark - 1, 0), 2, TOMBSTONES)
    return [event.position for event in found] == ([mark] if mark else [])


def moment(log: Log, state: str, position: int, progress: Progress | None) -> Snapshot:
    """The views as they were there."""
    live = Store(state)
    try:
        return views_at(log, live, state, position, progress or (lambda *_: None))
    finally:
        live.close()
