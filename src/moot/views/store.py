"""The content of a view file: rows, states, the cursor, transactions. `file.py` manages the file.

Values are cached as long as no other process has written to the file.
"""

from __future__ import annotations

import os

import apsw

from moot.core.errors import Unavailable
from moot.core.json_codec import loads, storable
from moot.place.private_files import discard
from moot.views.file import DAMAGE, ViewsFile, unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    from moot.core.record import Record

    State = TypeVar("State", bound=Record)

VERSION = 39  # raise it with every change of schema.sql or of what is folded into it

# SQLite's errors for a damaged file or a failing disk. All others are bugs and propagate unchanged.
_TROUBLE = (
    *DAMAGE,
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.FullError,
    apsw.IOError,
    apsw.LockedError,
    apsw.NoMemError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
)
_REMEMBERED = 1000  # states
_NO_MARK = -1


def _named_queries() -> dict[str, str]:
    """The statements of queries.sql. Each starts with `-- name:`."""
    with open(os.path.join(os.path.dirname(__file__), "queries.sql"), encoding="utf-8") as file:
        parts = file.read().split("-- name: ")[1:]
    return {name.strip(): sql.strip() for name, _, sql in (part.partition("\n") for part in parts)}


SQL = _named_queries()


class Store(ViewsFile):
    """The open views of one workspace, for one thread at a time."""

    version, sql = VERSION, SQL
    shared = True  # other processes see what is written
    behind: int | None = 0  # events that the shared views lack, set by a read-only copy; None: unreadable

    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self.pinned = False
        self.rules = ""  # as the log last recorded them, in the form of `moot.core.deciders.settings`; see `standing`
        self._standing: tuple[int, str, str | None] | None = None  # known while a transaction is open
        self._decoded: dict[str, tuple[int, Any]] = {}  # by stream: its version and its state
        self._sure: set[str] = set()  # streams whose cached state is current for the open transaction
        self._writing = False
        self.writer = 0  # identifies the `ViewsTransaction` that began the last transaction
        self._mark = _NO_MARK  # SQLite's change count after our last commit. If it is the same, nobody else wrote

    def rows(self, query: str, *bindings: Any) -> Iterator[tuple[Any, ...]]:
        return self._steps(self.sql[query], bindings)

    def row(self, query: str, *bindings: Any) -> tuple[Any, ...] | None:
        try:
            return (self._db or self.db).execute(self.sql[query], bindings).fetchone()
        except _TROUBLE as error:
            raise self._given_up(error) from error

    def value(self, query: str, *bindings: Any) -> Any:
        """The first column of the first row; None if there is no row."""
        row = self.row(query, *bindings)
        return row[0] if row is not None else None

    def all_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Everything in one of the tables of schema.sql, sorted by key."""
        sql = self.sql.get(f"everything_of_{table}") or self.sql["everything"].format(table=table)
        return self._steps(sql, ())

    def _steps(self, sql: str, bindings: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        try:
            yield from (self._db or self.db).execute(sql, bindings)
        except _TROUBLE as error:
            raise self._given_up(error) from error

    def run(self, query: str, *bindings: Any) -> None:
        try:
            (self._db or self.db).execute(self.sql[query], bindings)
        except _TROUBLE as error:
            raise self._given_up(error) from error

    def run_many(self, query: str, bindings: Iterable[tuple[Any, ...]]) -> None:
        self._sure.clear()  # some of them may be states
        try:
            self.db.executemany(self.sql[query], bindings)
        except _TROUBLE as error:
            raise self._given_up(error) from error

    def state(self, stream: str, kind: type[State]) -> tuple[State, int] | None:
        """The state of a stream and its version. It is decoded only if the version changed since the last call."""
        known = self._decoded.get(stream)
        if known is not None and self._writing and stream in self._sure:
            return known[1], known[0]
        row = self.row("newer_entity", stream, known[0] if known is not None else None)
        if row is None:
            return None
        version, text = row
        state = known[1] if known is not None and text is None else kind.of(loads(text))
        self._remember(stream, version, state)
        return state, version

    def put(self, stream: str, version: int, state: Record) -> None:
        """Replace the state of an entity, in the transaction that folds the events in."""
        self.run("put_entity", stream, version, storable(state.plain()))
        self._remember(stream, version, state)

    def _remember(self, stream: str, version: int, state: Any) -> None:
        if len(self._decoded) >= _REMEMBERED:
            self._decoded.clear()
            self._sure.clear()
        self._decoded[stream] = version, state
        if self._writing:
            self._sure.add(stream)

    def forget(self) -> None:
        """Drop all cached values."""
        self._decoded.clear()
        self._doubt()

    def _doubt(self) -> None:
        """Drop what another writer, or a rollback, may have changed."""
        self._standing, self._mark = None, _NO_MARK
        self._sure.clear()

    def _given_up(self, error: apsw.Error) -> Unavailable:
        """The error to raise. A damaged file is removed: the next use starts a new one."""
        if not isinstance(error, DAMAGE):
            return unavailable(self.directory, error, self._db.system_errno if self._db else None)
        if not self.exchanged():
            discard(self.path)
        self.close()
        return Unavailable(
            "views_damaged",
            f"The views are damaged: {error}.",
            "Try again: they will be rebuilt from the log.",
            path=self.path,
        )

    def cursor(self) -> int:
        """The position up to which the log is folded in."""
        return self.standing()[0]

    def is_behind(self, head: int) -> bool:
        """Whether events up to `head` are still to be folded in."""
        return self.standing()[0] < head

    def standing(self) -> tuple[int, str, str | None]:
        """The cursor, the commit at the cursor (to detect views of another log), and the first unknown event.

        Also sets `rules`.
        """
        if self._standing is not None and (self._writing or self.pinned):
            return self._standing
        mark, newer, last, *rules = self.row("standing") or (None, None, None)
        self.rules = (rules[0] or "") if rules else ""
        cursors = [str(one or "0").partition(" ") for one in (mark, last)]
        position, commit = max((int(position), commit) for position, _, commit in cursors)
        found = position, commit, newer
        if self._writing or self.pinned:
            self._standing = found  # no other process can change it now
        return found

    def move(self, position: int, commit: str, *, marked: bool = False) -> None:
        """Move the cursor, in the transaction that folds the events. `marked`: the row of the last event has it."""
        newer = self.standing()[2]
        if not marked:
            self.run("set_meta", "cursor", f"{position} {commit}")
        self._standing = (position, commit, newer) if self._writing else None

    def met_newer(self, what: str) -> None:
        """Note an event that this version does not know, in the same transaction."""
        self.run("set_meta", "newer", what)
        self._standing = None

    def note_rules(self, text: str) -> None:
        """Note which rules are in force since an event, in the same transaction."""
        self.run("set_meta", "rules", text)
        self._standing = None

    def pin(self) -> None:
        """Read from one snapshot until `unpin`."""
        self._doubt()
        self._using = True
        try:
            self.db.execute("BEGIN")
        except apsw.Error as error:
            self._using = False
            raise self._given_up(error) from error
        self.pinned = True
        self.standing()  # SQLite takes the snapshot at the first read

    def unpin(self) -> None:
        self.pinned = False
        self.rollback()

    def begin(self) -> None:
        """Begin a write transaction. Cached values stay valid if nobody else has written since our last commit."""
        self._using = True
        try:
            db = self.db
            db.execute("BEGIN IMMEDIATE")
            if db.data_version() != self._mark:
                self._doubt()
            self._writing = True
        except apsw.Error as error:
            self._using = False
            raise self._given_up(error) from error

    def writing(self) -> ViewsTransaction:
        """A write transaction as a context manager. It is rolled back at the end unless it was committed."""
        return ViewsTransaction(self, self.begin)

    def end(self) -> None:
        """Roll back a transaction that is still open, after an error or an interrupt."""
        if self._using:
            self.rollback()

    def commit(self) -> None:
        """Commit the transaction."""
        db = self.db
        try:
            db.execute("COMMIT")
            self._mark = db.data_version()
            self._writing = self._using = False
        except apsw.Error as error:
            refusal = self._given_up(error)  # before the rollback, which resets the errno and drops a private copy
            self.rollback()
            raise refusal from error

    def rollback(self) -> None:
        """Roll back the transaction."""
        self._writing = False
        self._doubt()
        if self._db is not None and self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._using = False

    def close(self) -> None:
        super().close()
        self._writing = self._using = False
        self.forget()


class ViewsTransaction:
    """One transaction. If an interrupt comes before `__exit__` runs, `__del__` ends the transaction."""

    _number = 0  # tells the store whose transaction is open

    def __init__(self, store: Store, begin: Callable[[], None]) -> None:
        self._store = store
        self._begin = begin

    def __enter__(self) -> None:
        self._number = self._store.writer = id(self)
        self._begin()

    def __exit__(self, *_: object) -> None:
        if self._store.writer == self._number:
            self._store.end()
        self._number = 0

    def __del__(self) -> None:
        if self._number:
            self.__exit__()
