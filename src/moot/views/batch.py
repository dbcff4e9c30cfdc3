"""Folding many events at once: each state is read and written once for many of its events.

`project` does the folding. `Batch` is a write-back cache between it and the file: cached rows are written before any
query reads them from the file, at the latest by `flush`. The caller holds the transaction.
"""

from __future__ import annotations

from moot.core.json_codec import storable
from moot.views.project import project
from moot.views.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from moot.core.event import Event
    from moot.core.record import Record
    from moot.views.store import State

_MOST = 20_000  # cached states
# Queries whose rows are cached by their first column; the number is a column that keeps its first value.
_KEPT = {"put_task": 6, "put_mailbox": None}
_APART = frozenset(("standing", "entries", "message", "feed_row"))  # queries that read no cached rows


class Batch(Store):
    """Replaces the store while many events are folded into it."""

    def __init__(self, store: Store) -> None:  # no `super().__init__()`: it has no file of its own
        self._store = store
        self.sql = store.sql
        self._states: dict[str, tuple[Record, int]] = {}
        self._changed: set[str] = set()
        self._rows: dict[str, dict[Any, tuple[Any, ...]]] = {query: {} for query in _KEPT}

    def fold(self, events: Sequence[Event]) -> None:
        project(self, events)
        if len(self._states) > _MOST:
            self.flush()
            self._states.clear()

    def flush(self) -> None:
        """Write the cached rows."""
        states = [(name, self._states[name][1], storable(self._states[name][0].plain())) for name in self._changed]
        self._changed.clear()
        if states:
            self._store.run_many("put_entity", states)
        for query, rows in self._rows.items():
            if rows:
                self._store.run_many(query, list(rows.values()))
                rows.clear()

    def state(self, stream: str, kind: type[State]) -> tuple[State, int] | None:
        found: Any = self._states.get(stream) or self._store.state(stream, kind)
        if found is not None:
            self._states[stream] = found
        return found  # type: ignore[no-any-return]

    def put(self, stream: str, version: int, state: Record) -> None:
        self._states[stream] = (state, version)
        self._changed.add(stream)

    def run(self, query: str, *bindings: Any) -> None:
        if query not in _KEPT:
            if query == "put_entity":  # bypasses the cache
                self._forget(bindings[0])
            self._store.run(query, *bindings)
            return
        kept, first = self._rows[query], _KEPT[query]
        before = kept.get(bindings[0])
        if first is not None and before is not None:
            bindings = (*bindings[:first], before[first], *bindings[first + 1 :])
        kept[bindings[0]] = bindings

    def _forget(self, stream: str) -> None:
        self._states.pop(stream, None)
        self._changed.discard(stream)

    def run_many(self, query: str, bindings: Iterable[tuple[Any, ...]]) -> None:
        self._store.run_many(query, bindings)

    def row(self, query: str, *bindings: Any) -> tuple[Any, ...] | None:
        if query == "mailbox":
            kept = self._rows["put_mailbox"].get(bindings[0])
            return kept[1:] if kept is not None else self._store.row(query, *bindings)
        if query not in _APART:
            self.flush()
        return self._store.row(query, *bindings)

    def rows(self, query: str, *bindings: Any) -> Iterator[tuple[Any, ...]]:
        if query not in _APART:
            self.flush()
        return self._store.rows(query, *bindings)

    def standing(self) -> tuple[int, str, str | None]:
        return self._store.standing()

    def met_newer(self, what: str) -> None:
        self._store.met_newer(what)

    def note_rules(self, text: str) -> None:
        self._store.note_rules(text)

    def move(self, position: int, commit: str, *, marked: bool = False) -> None:
        self._store.move(position, commit, marked=marked)
