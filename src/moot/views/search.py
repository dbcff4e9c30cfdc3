"""The full-text index: what was said anywhere, by its words. A file of its own, made from the log like the views.

It is caught up by whoever searches, so that whoever sends pays nothing for it. It keeps no texts: those are in the log,
and whoever shows a hit reads them there. It knows the shape of events, and no rule.
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

VERSION = 4  # raise it with every change of search.sql or of what is folded into it

OTHERS = "events"  # what search calls the events of kinds that have no name for many of them
_OPEN, _CLOSE = "\x02", "\x03"
_BLANKS = {ord(_OPEN): " ", ord(_CLOSE): " "}


class Filters(Record):
    """What a hit must be, beside its words. Times are seconds since 1970."""

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
        """Take the words of `events` in. The caller holds the transaction."""
        self.run_many("add", [row for event in events if (row := _row(event)) is not None])
        if events:
            self.move(events[-1].position, events[-1].commit)

    def begin(self) -> None:
        """See `Store.begin`. What is deleted is overwritten, also where the index merges its parts by itself."""
        self.db.execute("PRAGMA secure_delete = ON").fetchall()
        super().begin()

    def replace(self, positions: Sequence[int], events: Sequence[Event]) -> None:
        """Forget the words of what stood at these positions; take in what stands there.

        They are not found any more; what is left of them in the file goes when it is tidied. The caller holds the
        transaction.
        """
        self.run_many("remove", [(position,) for position in positions])
        self.run_many("add", [row for event in events if (row := _row(event)) is not None])
        self.run("set_meta", "untidy", 1)

    def begin_without(self, tombstone: int) -> None:
        """An empty index is filled with what is in sight after this tombstone. The caller holds the transaction."""
        self.run("set_meta", "redacted", tombstone)

    def lacks(self, tombstone: int) -> bool:
        """Whether an index was begun without what this tombstone takes out of sight."""
        return tombstone <= int((self.row("redacted") or (0,))[0])

    def untidy(self) -> bool:
        """Whether the file still has to be tidied, maybe because one who was about to was stopped."""
        return self.row("untidy") is not None

    def tidy(self) -> None:
        """Leave no trace of what was forgotten. It does no harm to do it again."""
        with self.writing():
            self.run("merge")  # until its parts are merged, the index only strikes out what was deleted
            self.commit()
        self._sweep(keep=os.path.basename(self.path), alone=True)  # an index that was left behind has the words, too
        busy, *_ = self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1,)
        if not busy:  # else one who reads just now keeps the old pages, and the next searcher sees to it
            self.run("tidied")

    def hits(self, expression: str, filters: Filters, *, newest: bool) -> Iterator[Hit]:
        """The events that fit, best first or newest first, read as one asks for them."""
        kinds = dumps(list(filters.kinds)) if filters.kinds else None
        by = filters.by.lower() if filters.by else None
        bound = (expression, filters.upto, kinds, by, filters.task, filters.since, filters.until)
        for position, stream, kind, _ in self.rows("newest" if newest else "best", *bound):
            yield Hit(position=position, stream=stream, kind=kind)


def texts(event: Event) -> str:
    """Everything that the event says in words, one text a line. What moot does not know is all words."""
    kind, known = find(event.stream.partition("/")[0]), payload_of(event)
    if kind is not None and known is not None and kind.text is not None:
        return kind.text(event.data)
    names = list(event.data)
    if known is not None and ALL not in known.words:
        names = [name for name in names if name in known.words or name in known.names]
    return "\n".join(text for name in names for text in _strings(event.data[name]))


def places() -> tuple[str, ...]:
    """What can be asked for by itself: entities of these kinds, or all other events."""
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
    """Half a surrogate pair is no word, and SQLite does not take it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def excerpts(expression: str, events: Sequence[Event]) -> dict[int, tuple[str, tuple[tuple[int, int], ...]]]:
    """The part of each event's text that fits best, by position, and where in it the words that were looked for stand.

    The texts go through an index in memory that splits them into words as the real one did.
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
    pieces = said.replace(_CLOSE, _OPEN).split(_OPEN)  # in turn: beside a hit, in a hit
    text, marks = "", []
    for number, piece in enumerate(pieces):
        if number % 2:
            marks.append((len(text), len(text) + len(piece)))
        text += piece
    return text, tuple(marks)
