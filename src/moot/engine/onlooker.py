"""The engine of one who only looks: it takes no lock and writes no file.

As a rule the shared views are up to date, for whoever appends brings them there. Where they stay behind, or cannot be
read, what is missing is folded into a private copy, until they are well again.
"""

from __future__ import annotations

import time

from moot.core.errors import Refused
from moot.engine.loop import Engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

    from moot.core.event import Key
    from moot.core.lifecycle import Lifecycle
    from moot.core.reactions import Reaction
    from moot.engine.clock import Clock
    from moot.engine.loop import Outcome
    from moot.engine.work import Work
    from moot.log import Log
    from moot.views.aside import Aside
    from moot.views.store import Store

_PATIENCE = 0.3  # seconds: between an append and its fold there is a moment
_GLANCE = 0.005
_AGAIN = 5.0  # seconds between looks at shared views that were of no use


class Onlooker(Engine):
    """See the module."""

    def __init__(
        self,
        log: Log,
        store: Aside,
        clock: Clock,
        lifecycles: Mapping[str, Lifecycle],
        reactions: Sequence[Reaction],
    ) -> None:
        super().__init__(log, store, clock, lifecycles, reactions)
        self._aside = store
        self._tried = -_AGAIN

    def read(self) -> Store:
        """The views, as far as the log goes now."""
        if self.store.pinned:
            return self.store
        self.notice_new_views()
        head = self.log.head()
        if self._aside.private and self.clock.monotonic() - self._tried >= _AGAIN:
            self._go_back(head)
        if not self._reached(head):
            shared = None if self._aside.private else self.store.cursor()
            self._aside.part()
            self._fold()
            if shared is not None:
                self._tried, self.behind = self.clock.monotonic(), head - shared
        elif not self._aside.private:
            self.behind = 0
        return self.store

    def commit(
        self,
        by: str | Callable[[Work], str],  # noqa: ARG002
        act: Callable[[Work], None],  # noqa: ARG002
        key: Callable[[str], Key] | None = None,  # noqa: ARG002
    ) -> Outcome:
        _refuse()

    def _bind(self, *, inside: bool = True) -> None:  # noqa: ARG002 (what it leaves behind nobody else sees)
        super()._bind(inside=True)

    def _go_back(self, head: int) -> None:
        self._tried = self.clock.monotonic()
        cursor = self._aside.rejoin(head)
        self._bound = self._aside.private  # whether these are views of this log is to be found out again
        self.behind = None if cursor is None and head else max(0, head - (cursor or 0))
        self._bind()

    def _reached(self, head: int) -> bool:
        """Whether the views have come so far; shared ones are given the moment that it takes."""
        end = self.clock.monotonic() + _PATIENCE
        while self.store.cursor() < head:
            if self._aside.private or self.clock.monotonic() > end:
                return False
            time.sleep(_GLANCE)
        return True

    def _fold(self) -> None:
        try:
            self.store.begin()
            self.catch_up()
            self.store.commit()
        except BaseException:
            self.store.rollback()
            raise


def _refuse() -> NoReturn:
    raise Refused("only_looking", "Whoever only looks changes nothing.", "Open the workspace to act in it.")
