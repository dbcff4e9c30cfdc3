"""Search: catch the index up with the log, query it, and group the hits by entity.

Commits do not update the index. The first search after many events indexes them in steps, one transaction each. If that
search is interrupted, the next one continues from the last step.
"""

from __future__ import annotations

from itertools import islice

from moot.core.errors import Unavailable
from moot.core.record import Record
from moot.log import REDACTIONS, Shown
from moot.views.private_copy import PrivateCopy
from moot.views.search import OTHERS, Index, excerpts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moot.core.event import Event
    from moot.core.query import Query
    from moot.log import Log
    from moot.views.search import Filters, Hit

    Progress = Callable[[str, int, int], None]

_PAGE = 1000
_STEP = 20_000  # events per transaction
_PATIENCE_MS = 2_000  # to wait for another process that updates the index
_LOOKED_AT = 5_000  # maximum number of hits to group


class Thing(Record):
    """One search result: the best matching event of an entity, and the number of its events that match."""

    event: Event
    kind: str
    hits: int
    excerpt: str
    marks: tuple[tuple[int, int], ...]


class PrivateIndex(PrivateCopy, Index):
    """Used when the shared index cannot be written."""


def search(
    log: Log, directory: str, query: Query, filters: Filters, limit: int, *, newest: bool, progress: Progress
) -> tuple[list[Thing], bool]:
    """The results, and whether there are more than `limit`. `log` is the whole log, independent of the filters."""
    index = _caught_up(log, directory, progress)
    try:
        expression = query.expression()
        groups: dict[str, list[Hit]] = {}
        for hit in islice(index.hits(expression, filters, newest=newest), _LOOKED_AT):
            groups.setdefault(_thing(hit), []).append(hit)
    finally:
        index.close()
    shown = list(groups.values())[:limit]
    events = [event for hits in shown for event in log.read(hits[0].position - 1, 1)]
    found = excerpts(expression, events)
    things = [
        Thing(event=event, kind=hits[0].kind, hits=len(hits), excerpt=text, marks=marks)
        for hits, event in zip(shown, events, strict=True)
        for text, marks in (found.get(event.position, ("", ())),)
    ]
    return things, len(groups) > limit


def _caught_up(log: Log, directory: str, progress: Progress) -> Index:
    """The shared index, or a private copy if it cannot be written or another process blocks it."""
    index = Index(directory)
    index.wait_ms = _PATIENCE_MS
    try:
        _catch_up(log, index, progress)
    except Unavailable as error:
        index.close()
        if error.code not in ("disk_full", "views_unusable"):
            raise
        index = PrivateIndex(directory)
        _catch_up(log, index, progress)
    return index


def forget(log: Log, directory: str, positions: Sequence[int]) -> None:
    """Remove the words of these events from the index, except for those that are still in the log.

    The index is caught up first, so the words do not come back.
    """
    index = Index(directory)
    try:
        _catch_up(log, index, lambda *_: None)
        with index.writing():
            _reread(log, index, positions)
            index.commit()
        index.tidy()
    finally:
        index.close()


def _reread(log: Log, index: Index, positions: Sequence[int]) -> None:
    index.replace(positions, [event for position in positions for event in log.read(position - 1, 1)])


def _thing(hit: Hit) -> str:
    """The group of a hit. Claims and custom events share streams, so each of their events is a group of its own."""
    return f"#{hit.position}" if hit.kind == OTHERS else hit.stream


def _catch_up(log: Log, index: Index, progress: Progress) -> None:
    _bind(log, index)
    while (position := index.cursor()) < (head := log.head()):  # the head moves back if an event cannot be read
        progress("indexing", position, head)
        gone: list[int] = []
        with index.writing():
            position = index.cursor()  # another search may have advanced it
            if not position:
                index.begin_without(Shown(log).last_tombstone())
            for _ in range(_STEP // _PAGE):
                events = log.read(position, _PAGE)
                index.fold(events)
                gone += [e.data["position"] for e in events if _takes_away(index, e)]
                position = events[-1].position if events else head
                if position >= head:
                    break
            if gone:
                _reread(log, index, gone)
            index.commit()
    if index.untidy():
        index.tidy()
    progress("indexing", head, head)


def _takes_away(index: Index, event: Event) -> bool:
    return event.stream == REDACTIONS and "position" in event.data and not index.lacks(event.position)


def _bind(log: Log, index: Index) -> None:
    """Replace the index if it belongs to another log (one that a restore replaced)."""
    position, commit, _ = index.standing()
    event = log.read(position - 1, 1) if position else []
    if position and (not event or event[0].position != position or event[0].commit != commit):
        index.close()
        index.renew()
