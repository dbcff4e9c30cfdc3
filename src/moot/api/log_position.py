"""The position of a follower in the log. It remembers the commits it has passed to notice that the log was replaced."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.core.event import Event
    from moot.log import Log

_REMEMBERED = 1000  # commits
_NEAR = 100  # events before the start that are all remembered; before those, fewer and fewer


class LogPosition:
    """Starts at a position. `after` is the last position that was passed. Call `lost` before each step."""

    def __init__(self, log: Log, after: int) -> None:
        self._log = log
        self._marks: list[tuple[int, str | None]] = [(after, None)]
        self._begun = False

    def _begin(self, after: int) -> None:
        near = max(0, after - _NEAR)
        self._marks = [(0, None)]
        self._marks += [(position, self._commit_at(position)) for position in _spread(near)]
        self._marks += [(e.position, e.commit) for e in self._log.read(near, after - near)]
        if self.after != after:  # the log does not reach this position yet
            self._marks.append((after, None))
        self._begun = True

    @property
    def after(self) -> int:
        return self._marks[-1][0]

    def pass_by(self, events: Sequence[Event]) -> None:
        self._marks += [(e.position, e.commit) for e in events if e.commit != self._marks[-1][1]]
        self._marks[-1] = (events[-1].position, events[-1].commit)
        del self._marks[1:-_REMEMBERED]

    def lost(self) -> bool:
        """Whether the log was replaced. Then `after` moves back to where both logs diverge, or to before that."""
        if not self._begun:
            self._begin(self.after)
        lost = False
        while not self._holds(*self._marks[-1]):
            self._marks.pop()
            lost = True
        return lost

    def _holds(self, position: int, commit: str | None) -> bool:
        return commit is None or self._commit_at(position) == commit

    def _commit_at(self, position: int) -> str | None:
        found = self._log.read(position - 1, 1) if position else []
        return found[0].commit if found and found[0].position == position else None


def _spread(position: int) -> list[int]:
    """Positions up to this one, further and further apart towards the start."""
    found, step = [], _NEAR
    while position > 0:
        found.append(position)
        position -= step
        step *= 2
    return found[::-1]
