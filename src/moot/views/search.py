"""The full-text index over all events, in a file of its own that is made from the log like the views.

A search brings the index up to date, so that writing costs nothing extra. The index stores no texts: hits are shown
from the log. This module knows the shape of events, but no rules.
"""

from __future__ import annotations

import os

from moot.core import timestamps
from moot.core.json_codec import dumps
from moot.core.kind import find, kinds, payload_of
from moot.core.payload import ALL
from moot.core.principal import name_of
from moot.core.record import Record
from moot.views.store import Store, named_queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from moot.core.event import Event

VERSION = 8  # raise it with every change of search.sql or of what is folded into it

OTHERS = "events"  # the name in search for events of kinds without a plural
_OPEN, _CLOSE = "\x02", "\x03"
_BLANKS = {ord(_OPEN): " ", ord(_CLOSE): " "}


class Filters(Record):
    """Conditions for a hit, besides its text. Times are seconds since 1970."""

    upto: int
    kinds: tuple[str, ...] = ()
    by: str | None = None
    task: str | None = None
    since: float | None = None
    until: float | None = None


class Hit(Record):
    position: int
    stream: str
    kind: str


class Index(Store):
    """The open index of one workspace, for one thread at a time."""

    kind, version, schema, sql = "search", VERSION, "search.sql", named_queries("search_queries.sql")

    def fold(self, events: Sequence[Event]) -> None:
        """Index the text of `events`. The caller holds the transaction."""
        self.run_many("add", [row for event in events if (row := _row(event)) is not None])
        if events:
            self.move(events[-1].position, events[-1].commit)

    def begin(self) -> None:
        """See `Store.begin`. Deleted content is overwritten, also when FTS5 merges its segments."""
        self.db.execute("PRAGMA secure_delete = ON").fetchall()
        super().begin()

    def replace(self, positions: Sequence[int], events: Sequence[Event]) -> None:
        """Replace the indexed text at these positions by that of `events`.

        The old text is no longer found. `tidy` removes its remains from the file. The caller holds the transaction.
        """
        self.run_many("remove", [(position,) for position in positions])
        self.run_many("add", [row for event in events if (row := _row(event)) is not None])
        self.run("set_meta", "untidy", 1)

    def begin_without(self, tombstone: int) -> None:
        """Note that this empty index is filled without the text redacted up to this tombstone.

        The caller holds the transaction.
        """
        self.run("set_meta", "redacted", tombstone)

    def lacks(self, tombstone: int) -> bool:
        """Whether the index was filled without the text that this tombstone redacts."""
        return tombstone <= int((self.row("redacted") or (0,))[0])

    def untidy(self) -> bool:
        """Whether the file still has to be tidied, for example because an earlier `tidy` was interrupted."""
        return self.row("untidy") is not None

    def tidy(self) -> None:
        """Remove all traces of replaced text from the files. Idempotent."""
        with self.writing():
            self.run("merge")  # until segments are merged, FTS5 only marks deleted rows
            self.commit()
        self._sweep(keep=os.path.basename(self.path), alone=True)  # older index files have the text, too
        busy, *_ = self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1,)
        if not busy:  # else a reader still needs the old pages, and the next search tidies again
            self.run("tidied")

    def hits(self, expression: str, filters: Filters, *, newest: bool) -> Iterator[Hit]:
        """The matching events, best first or newest first, read lazily."""
        kinds = dumps(list(filters.kinds)) if filters.kinds else None
        by = filters.by.lower() if filters.by else None
        bound = (expression, filters.upto, kinds, by, filters.task, filters.since, filters.until)
        for position, stream, kind, _ in self.rows("newest" if newest else "best", *bound):
            yield Hit(position=position, stream=stream, kind=kind)


def texts(event: Event) -> str:
    """The searchable text of the event, one value per line. All fields of an unknown type count as text."""
    kind, known = find(event.stream.partition("/")[0]), payload_of(event)
    if kind is not None and known is not None and kind.text is not None:
        return kind.text(event.data)
    names = list(event.data)
    if known is not None and ALL not in known.words:
        names = [name for name in names if name in known.words or name in known.names]
    return "\n".join(text for name in names for text in _strings(event.data[name]))


def places() -> tuple[str, ...]:
    """The values of the kind filter: the plurals of kinds, and one name for all other events."""
    return (*(kind.plural for kind in kinds() if kind.plural), OTHERS)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _row(event: Event) -> tuple[Any, ...] | None:
    text = texts(event)
    if not text:
        return None
    kind, _, key = event.stream.partition("/")
    task = key if kind == "task" else event.data.get("task")
    about = task if isinstance(task, str) else None
    who = name_of(event.by).lower()
    known = find(kind)
    place = (known.plural if known is not None else "") or OTHERS
    facts = (place, event.stream, about, who, timestamps.parse(event.at))
    return (event.position, key, _storable(text), *facts)


def _storable(text: str) -> str:
    """The text with lone surrogates replaced: SQLite does not accept them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def excerpts(expression: str, events: Sequence[Event]) -> dict[int, tuple[str, tuple[tuple[int, int], ...]]]:
    """The best matching excerpt of each event's text, by position, with the spans of the matched words.

    The texts go through an index in memory that uses the same tokenizer as the real one.
    """
    import apsw

    sql = Index.sql
    page = apsw.Connection(":memory:")
    page.execute(sql["page"])
    for event in events:
        line = " ".join(_storable(texts(event)).translate(_BLANKS).split())
        page.execute(sql["write_page"], (event.position, event.stream.partition("/")[2], line))
    found = {position: _marks(said) for position, said in page.execute(sql["marked"], (expression, _OPEN, _CLOSE))}
    page.close()
    return found


def _marks(said: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    pieces = said.replace(_CLOSE, _OPEN).split(_OPEN)  # alternately outside and inside a match
    text, marks = "", []
    for number, piece in enumerate(pieces):
        if number % 2:
            marks.append((len(text), len(text) + len(piece)))
        text += piece
    return text, tuple(marks)
