"""The lists of the feed inside a commit: what was committed, and what this commit has decided so far."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from moot.core.deciders.feed import merged
from moot.views import feeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.event import Draft
    from moot.engine.unit_of_work import Work


class Rows:
    """The rows as of the events decided so far. One object per commit: see `rows_of`."""

    def __init__(self, work: Work, feed: str) -> None:
        self._store, self._stream, self._feed = work.store, f"feed/{feed}", feed
        self._drafts = work.drafts
        self._news: dict[str, dict[str, Any]] = {}  # by list and key; None: dropped
        self._upto = 0
        self._last: Draft | None = None

    def get(self, name: str, key: str) -> Any:
        """A row; None if there is none."""
        self._follow()
        return self._before(name, key)

    def _before(self, name: str, key: str) -> Any:
        news = self._news.get(name, _NONE)
        return news[key] if key in news else feeds.row(self._store, self._feed, name, key)

    def between(self, name: str, first: str, end: str) -> dict[str, Any]:
        """The rows with a key from `first` on and before `end`."""
        self._follow()
        found = feeds.rows(self._store, self._feed, name, (first, end))
        found |= {key: value for key, value in self._news.get(name, _NONE).items() if first <= key < end}
        return {key: value for key, value in found.items() if value is not None}

    def _follow(self) -> None:
        """Take in the events since the last time. If some were undone, start again."""
        if self._upto > len(self._drafts) or (self._upto and self._drafts[self._upto - 1] is not self._last):
            self._news, self._upto = {}, 0
        for draft in self._drafts[self._upto :]:
            if draft.type == "feed:listed" and draft.stream == self._stream:
                name = draft.data["list"]
                news = self._news.setdefault(name, {})
                news |= dict.fromkeys(draft.data.get("drops", ()))
                for key, value in draft.data.get("puts", _NONE).items():
                    news[key] = merged(self._before(name, key), value) if draft.data.get("merges") else value
        self._upto = len(self._drafts)
        self._last = self._drafts[-1] if self._drafts else None


_NONE: dict[str, Any] = {}
_known: WeakKeyDictionary[Work, Rows] = WeakKeyDictionary()


def rows_of(work: Work, feed: str) -> Rows:
    found = _known.get(work)
    if found is None:
        found = _known[work] = Rows(work, feed)
    return found
