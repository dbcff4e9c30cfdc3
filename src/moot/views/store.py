"""The file behind the views: opening, transactions, the cursor, and what to do when the file is not usable.

The views hold nothing that the log does not, so their durability is relaxed and any doubt ends in a new file.
"""

from __future__ import annotations

import os

import apsw

from moot.core.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

VERSION = 1  # raise it with every change of schema.sql or of what is folded into it
_HERE = os.path.dirname(__file__)
_WAIT_MS = 30_000
_DAY = 86_400


def _named_queries() -> dict[str, str]:
    with open(os.path.join(_HERE, "queries.sql"), encoding="utf-8") as file:
        parts = file.read().split("-- name: ")[1:]
    return {name.strip(): sql.strip() for name, _, sql in (part.partition("\n") for part in parts)}


SQL = _named_queries()


class Store:
    """The open views of one workspace. Not shared between threads or across a fork."""

    failures = (apsw.Error, OSError, Unavailable)

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.path = ""
        self._db: apsw.Connection | None = None
        self._pid = 0

    @property
    def db(self) -> apsw.Connection:
        if self._db is None or self._pid != os.getpid():
            self._db, self._pid = self._open(), os.getpid()
        return self._db

    def _open(self) -> apsw.Connection:
        try:
            self.path = self._current()
            if self.path:
                try:
                    db = _connect(self.path)
                    if _sound(db):
                        return db
                except (apsw.NotADBError, apsw.CorruptError):
                    pass  # a new one takes its place
            return self.renew()
        except (apsw.Error, OSError) as error:
            raise _unavailable(self.directory, error) from error

    def _current(self) -> str:
        try:
            with open(os.path.join(self.directory, "views"), encoding="ascii") as pointer:
                path = os.path.join(self.directory, pointer.read().strip())
        except (FileNotFoundError, UnicodeDecodeError):
            return ""
        return path if os.path.exists(path) else ""

    def renew(self) -> apsw.Connection:
        """Start over with an empty file. Others who have the old one open go on with it until they end.

        The file in use is named by a pointer that is replaced in one step: a database file and its journal
        can not be, and a mixture of two generations would be worse than any stale view.
        """
        name = f"views-{VERSION}-{os.urandom(6).hex()}.db"
        self.path = os.path.join(self.directory, name)
        self._db, self._pid = _create(self.path), os.getpid()
        draft = f"{self.path}.pointer"
        with open(draft, "w", encoding="ascii") as pointer:
            pointer.write(name)
        os.rename(draft, os.path.join(self.directory, "views"))
        self._sweep(keep=name)
        return self._db

    def _sweep(self, keep: str) -> None:
        """Remove generations that nobody has used for a day."""
        for item in os.scandir(self.directory):
            old = item.name.startswith("views-") and not item.name.startswith(keep)
            if old and os.stat(self.directory).st_mtime - item.stat().st_mtime > _DAY:
                os.unlink(item.path)

    def rows(self, query: str, *bindings: Any) -> Iterator[tuple[Any, ...]]:
        return self.db.execute(SQL[query], bindings)

    def row(self, query: str, *bindings: Any) -> tuple[Any, ...] | None:
        return next(iter(self.db.execute(SQL[query], bindings)), None)

    def all_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Everything in one of the tables of schema.sql."""
        return self.db.execute(SQL["everything"].format(table=table))

    def run(self, query: str, *bindings: Any) -> None:
        self.db.execute(SQL[query], bindings)

    def run_many(self, query: str, bindings: Iterable[tuple[Any, ...]]) -> None:
        self.db.executemany(SQL[query], bindings)

    def cursor(self) -> int:
        """The position up to which the log is folded in."""
        row = self.row("cursor")
        return int(row[0]) if row else 0

    def begin(self) -> None:
        try:
            self.db.execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            raise _unavailable(self.directory, error) from error

    def commit(self) -> None:
        try:
            self.db.execute("COMMIT")
        except apsw.Error as error:
            self.rollback()
            raise _unavailable(self.directory, error) from error

    def rollback(self) -> None:
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _connect(path: str) -> apsw.Connection:
    db = apsw.Connection(path)
    db.set_busy_timeout(_WAIT_MS)
    db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8000")
    return db


def _create(path: str) -> apsw.Connection:
    with open(os.path.join(_HERE, "schema.sql"), encoding="utf-8") as file:
        schema = file.read()
    db = _connect(path)
    db.execute(f"BEGIN; {schema}; PRAGMA user_version = {VERSION}; COMMIT")
    return db


def _sound(db: apsw.Connection) -> bool:
    return bool(next(iter(db.execute("PRAGMA user_version")))[0] == VERSION)


def _unavailable(path: str, error: Exception) -> Unavailable:
    return Unavailable(
        "views_unusable",
        f"The views cannot be used: {error}.",
        f"Look at the disk and the rights of {path}. What was acknowledged is safe in the log.",
    )
