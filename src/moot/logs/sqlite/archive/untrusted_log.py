"""Reads an untrusted file as rows of a log. Nothing in the file can make SQLite do anything else.

Triggers, views and virtual tables are not used, functions in its schema are not trusted, and queries that take too long
or too much space are aborted. Each column of a row is checked for its type; an error names the row.
"""

from __future__ import annotations

import os
import stat

import apsw

from moot.core.errors import Usage
from moot.core.record import Record
from moot.logs.sqlite import faults, file, queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.core.errors import Unavailable
    from moot.log import BlobPieces

CHAINED = 4  # the first version with digests and hashes
LARGEST = 64 << 20  # bytes in one row
_STEPS = 20_000  # thousands of steps of SQLite's virtual machine, for one row
_SCHEMA = 2_000  # entries; a log has about twenty
_OF_EVENT = ("position", "type", "v", "stream", "prev", "at", "by", "data", "cause", "thread", "pack", "commit_id", "n")
_OF_COMMIT = ("id", "first", "last")
_TABLES = {
    "event": _OF_EVENT,
    "commits": _OF_COMMIT,
    "request": ("scope", "key", "digest", "first", "last"),
    "meta": ("key", "value"),
}
_CHAIN = {"event": ("digest",), "commits": ("via", "hash")}
_TEXT, _NUMBER, _PERHAPS, _BYTES = (str,), (int,), (str, type(None)), (bytes,)
_EVENT_TYPES = (
    _NUMBER, _TEXT, _NUMBER, _TEXT, _NUMBER, _TEXT, _TEXT, _TEXT, _PERHAPS, _PERHAPS, _PERHAPS, _TEXT, _NUMBER,
)  # fmt: skip
_OFF = (
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW,
    apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
    apsw.SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA,
    apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA,
    apsw.SQLITE_DBCONFIG_DQS_DML,
    apsw.SQLITE_DBCONFIG_DQS_DDL,
)
_LIMITS = (
    (apsw.SQLITE_LIMIT_LENGTH, LARGEST),
    (apsw.SQLITE_LIMIT_SQL_LENGTH, 100_000),
    (apsw.SQLITE_LIMIT_COLUMN, 100),
    (apsw.SQLITE_LIMIT_EXPR_DEPTH, 50),
    (apsw.SQLITE_LIMIT_COMPOUND_SELECT, 5),
    (apsw.SQLITE_LIMIT_VDBE_OP, 25_000),
    (apsw.SQLITE_LIMIT_ATTACHED, 0),
    (apsw.SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (apsw.SQLITE_LIMIT_WORKER_THREADS, 0),
)


class RowSpan(Record):
    """A commit as the file has it."""

    first: int
    last: int
    via: str | None
    hash: bytes | None


class UntrustedLog:
    """An untrusted file, open for reading. Raises `damaged_log`, `foreign_log` or `newer_log`."""

    def __init__(self, path: str) -> None:
        self.path = path
        file.recognise(path)
        self._sql = queries.named("untrusted_log.sql")
        self._left = _STEPS
        self._row = "its schema"  # what is being read, for errors
        try:
            self._connection = _opened(path)
        except apsw.Error as error:
            raise self._unreadable(error) from error
        try:
            self._connection.set_progress_handler(self._too_long, 1000)
            self.chained = self._version() >= CHAINED
            self._check_schema()
        except (apsw.Error, ValueError) as error:
            raise self._unreadable(error) from error

    def close(self) -> None:
        self._connection.close()

    def events(self) -> Iterator[tuple[Any, ...]]:
        """The rows of all events in order; each ends with the digest, None in an older file."""
        types = (*_EVENT_TYPES, _BYTES if self.chained else (type(None),))
        for position, row in enumerate(self._rows("events" if self.chained else "events_3"), 1):
            if row[0] != position:
                raise self.damaged(position, f"position {row[0]!r:.40} comes after {position - 1}")
            if not all(type(value) in kinds for value, kinds in zip(row, types, strict=True)):
                raise self.damaged(position, "a column has the wrong type")
            self._row = f"the event at position {position + 1}"
            yield row

    def span(self, commit: str) -> RowSpan | None:
        """The commit with this id in the file; None if it is missing or malformed."""
        for first, last, via, mark in self._rows("span" if self.chained else "span_3", commit):
            fits = type(first) is int and type(last) is int and isinstance(via, _PERHAPS)
            if not fits or not isinstance(mark, _BYTES if self.chained else type(None)):
                return None
            return RowSpan(first, last, via, mark)
        return None

    def requests(self) -> Iterator[tuple[str, str, str, int, int]]:
        self._row = "a request"
        types = (str, str, str, int, int)
        for row in self._rows("requests"):
            if tuple(map(type, row)) != types:
                raise faults.damaged(self.path, "a request has the wrong type")
            yield row

    def meta(self) -> Iterator[tuple[str, str]]:
        self._row = "its name"
        for key, value in self._rows("meta"):
            if type(key) is not str or type(value) is not str:
                raise faults.damaged(self.path, "an entry of its `meta` table is not text")
            yield key, value

    def extent(self) -> tuple[int, int]:
        """The number of commits, and the position at which the last one ends."""
        self._row = "its commits"
        for count, last in self._rows("extent"):
            return int(count), last if type(last) is int else -1
        return 0, 0

    def blobs(self) -> Iterator[BlobPieces]:
        """The blobs of a backup, if it has some. Their content is not checked."""
        from itertools import groupby

        self._row = "a blob"
        for digest, rows in groupby(self._blob_rows() if self._has_blobs else (), key=lambda row: row[0]):
            yield digest, (row[2] for row in rows)

    def _blob_rows(self) -> Iterator[tuple[str, int, bytes]]:
        for row in self._rows("blobs"):
            if tuple(map(type, row)) != (str, int, bytes):
                raise faults.damaged(self.path, "a blob has the wrong type")
            yield row

    def damaged(self, position: int, what: str) -> Unavailable:
        return faults.undecodable(self.path, position, what)

    def _version(self) -> int:
        version = file.version_of(self._connection)
        if version > file.VERSION:
            raise faults.newer(self.path, version, file.VERSION)
        if version < 1:
            raise faults.damaged(self.path, "it has no version")
        return version

    def _check_schema(self) -> None:
        """Check that each table is a real table with the columns that are read. Everything else is ignored."""
        found: dict[str, list[tuple[str, int]]] = {}
        for number, (name, kind, root) in enumerate(self._rows("schema")):
            if number >= _SCHEMA:
                raise faults.damaged(self.path, "its schema is too large for a log")
            found.setdefault(str(name).lower(), []).append((str(kind), root if type(root) is int else 0))
        self._has_blobs = [(kind, root > 0) for kind, root in found.get("blob", ())] == [("table", True)]
        for table, columns in _TABLES.items():
            if [(kind, root > 0) for kind, root in found.get(table, ())] != [("table", True)]:
                raise faults.damaged(self.path, f"it has no table {table}")
            stored = {str(name) for name, hidden in self._rows("columns", table) if hidden == 0}  # others are computed
            if not stored.issuperset((*columns, *(_CHAIN.get(table, ()) if self.chained else ()))):
                raise faults.damaged(self.path, f"the table {table} lacks columns")

    def _rows(self, query: str, *bindings: Any) -> Iterator[tuple[Any, ...]]:
        try:
            for row in self._connection.execute(self._sql[query], bindings):
                self._left = _STEPS
                yield row
        except (apsw.Error, ValueError) as error:  # a ValueError: invalid UTF-8
            raise self._unreadable(error) from error

    def _too_long(self) -> bool:
        self._left -= 1
        return self._left < 0

    def _unreadable(self, error: Exception) -> Unavailable:
        if isinstance(error, apsw.IOError | apsw.NoMemError | apsw.BusyError):
            found = faults.of_sqlite(error, self.path)
            if found is not None:
                return found  # type: ignore[return-value]
        if isinstance(error, apsw.InterruptError):
            return faults.damaged(self.path, f"{self._row} takes too long to read")
        if isinstance(error, UnicodeDecodeError):
            return faults.damaged(self.path, f"{self._row} cannot be read: it is not valid UTF-8")
        return faults.damaged(self.path, f"{self._row} cannot be read: {error}")


def regular_file(path: str) -> str:
    """The path. Raises unless it is a regular file: a link is not followed, and a FIFO would block."""
    try:
        found = os.lstat(path)
    except OSError as error:
        raise _no_backup(path, f"There is no file {path}: {error.strerror}.") from None
    if not stat.S_ISREG(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "a directory" if stat.S_ISDIR(found.st_mode) else "no file"
        raise _no_backup(path, f"{path} is {what}.")
    return path


def _no_backup(path: str, sentence: str) -> Usage:
    return Usage("no_backup", sentence, "Name a file that `moot backup` made, not a link to it.", file=path)


def _opened(path: str) -> apsw.Connection:
    folder, name = os.path.split(os.path.abspath(path))
    path = os.path.join(os.path.realpath(folder), name)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW | apsw.SQLITE_OPEN_PRIVATECACHE
    if any(os.path.lexists(path + end) for end in ("-wal", "-journal")):
        connection = apsw.Connection(path, flags=flags)  # it was not closed properly; SQLite can still read it
    else:  # no other files are needed, looked for or created
        from urllib.parse import quote

        uri = f"file:{quote(path)}?immutable=1"
        connection = apsw.Connection(uri, flags=flags | apsw.SQLITE_OPEN_URI)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    for switch in _OFF:
        connection.config(switch, 0)
    for limit, value in _LIMITS:
        connection.limit(limit, value)
    for pragma, setting in (("mmap_size", 0), ("cell_size_check", True), ("query_only", True)):
        connection.pragma(pragma, setting)
    return connection
