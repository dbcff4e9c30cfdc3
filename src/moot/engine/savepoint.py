"""A part of a commit that can fail alone: if it raises an error, its decisions are undone."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.engine.unit_of_work import Work


class Savepoint:
    """See `Work.savepoint`. States are immutable, so a shallow copy is enough."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __enter__(self) -> None:
        work = self._work
        self._before = len(work.drafts), dict(work._states), dict(work._sent)  # noqa: SLF001

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        if kind is not None:
            work = self._work
            decided, work._states, work._sent = self._before  # noqa: SLF001
            del work.drafts[decided:]
