"""The full-text index: what was said anywhere, by its words. A file of its own, made from the log like the views.

It is caught up by whoever searches, so that whoever sends pays nothing for it. It keeps no texts: those are in the log,
and whoever shows a hit reads them there. It knows the shape of events, and no rule.
"""

from __future__ import annotations

import os

from moot.core import timestamps
from moot.core.compact import dumps
from moot.core.principal import name_of
from moot.core.record import Record
from moot.views.store import Store, named_queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.core.event import Event

VERSION = 3  # raise it with every change of search.sql or of what is folded into it

KINDS = {
    "message": "messages",
    "task": "tasks",
    "decision": "decisions",
    "artifact": "artifacts",
    "checkpoint": "checkpoints",
    "receipt": "receipts",
}
OTHERS = "events"

# Fields of the core's own events that are names, ids and states: they are asked for with `explain`, `board` and the
# filters, and would make every task that was ever reviewed a hit for “review”.
_MACHINERY = frozenset({
    "affects", "attempt", "author", "awaiting", "by", "code", "creator", "done", "holder", "id", "ids", "incarnation",
    "kind", "left", "lifecycle", "maker", "message", "mirror", "mode", "modifier", "name", "needs", "on", "phase",
    "priority", "redacted", "replaces", "reply", "reply_to", "report", "role", "roles", "sender", "sha256", "source",
    "state", "target", "task", "to", "trace", "verb", "waits", "wants", "who", "worktree",
})  # fmt: skip
_CORE = frozenset(("agent", "claims", "entry", *KINDS))
# They are about things that were said, and say nothing themselves.
_SILENT = frozenset(("dependency", "graph", "mailbox"))
# Of what programs say, only why something failed is for people. Their output is `moot explain`'s and `moot effects`'.
_ONLY = {"effect": ("reason",), "redactions": ("reason",)}
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
        self.begin()
        try:
            self.run("merge")  # until its parts are merged, the index only strikes out what was deleted
        except BaseException:
            self.rollback()
            raise
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
    """Everything that the event says in words, one text a line."""
    kind = event.stream.partition("/")[0]
    if kind in _SILENT:
        return ""
    if kind == "receipt":
        return _receipt(event.data)
    skipped = _MACHINERY if kind in _CORE else frozenset[str]()
    names = _ONLY.get(kind) or [name for name in event.data if name not in skipped]
    return "\n".join(text for name in names for text in _strings(event.data.get(name)))


def _receipt(data: Mapping[str, Any]) -> str:
    """What was run, what came of it, and what for. Its output would be found for every word that a test prints."""
    code = data.get("code")
    outcome = "timed out" if data.get("timed_out") else "passed" if code == 0 else f"failed with exit code {code}"
    return "\n".join([" ".join(_strings(data.get("argv"))), outcome, *_strings(data.get("task"))])


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
    facts = (KINDS.get(kind, OTHERS), event.stream, about, who, timestamps.parse(event.at))
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
