"""Operations on a whole SQLite log: copy it while others write, redact rows.

`restore.py` puts a copy back in place. Loaded only by the few commands that need it.
"""

from __future__ import annotations

import time

import apsw

from moot.core.errors import Unavailable
from moot.core.json_codec import storable
from moot.core.text import counted
from moot.log import Archive
from moot.logs.sqlite import faults, file, queries
from moot.place.private_files import sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.core.event import Commit, Draft, Key
    from moot.log import Appended, BlobPieces, Conflict, Duplicate, Mismatch, Progress
    from moot.logs.sqlite.database import Database
    from moot.logs.sqlite.log import SqliteLog

PAGES = 2000  # copied between two calls of `progress`
_PATIENCE = 30.0
_PAUSE = 0.05


class SqliteArchive(Archive):
    """See the module. It shares the handle of its log."""

    def __init__(self, database: Database, log: SqliteLog) -> None:
        self._database = database
        self._log = log

    def identity(self) -> str:
        with self._database as connection:
            return str(connection.execute(queries.SQL["get_meta"], ("workspace",)).get)

    def audit(self, upto: int, progress: Progress) -> Iterator[str]:
        from moot.logs.sqlite.audit import Audit, foreign_schema

        with self._database as connection:
            found = [*foreign_schema(connection)]
        yield from (f"foreign_schema: {problem}" for problem in found)
        yield from Audit(self._database, upto, progress).problems()

    def backup(self, path: str, progress: Progress, blobs: Iterable[BlobPieces] = ()) -> int:
        source = file.connect(self._database.path, apsw.SQLITE_OPEN_READONLY, _PATIENCE)
        try:
            source.execute("BEGIN")
            head = int(source.execute(queries.SQL["head"]).get)  # the first read fixes the snapshot
            copy_into(path, source, progress)
            source.execute("COMMIT")
        except apsw.Error as error:
            raise faults.of_sqlite(error, path, source.system_errno) or faults.damaged(path, str(error)) from error
        finally:
            source.close()
        _add_blobs(path, blobs)
        sync(path)
        found = examine(path)
        if found != head:
            raise faults.damaged(path, f"expected it to end at position {head}, but it ends at {found}")
        return head

    def redact(
        self,
        commit: Commit,
        conditions: Mapping[str, int],
        events: Sequence[Draft],
        rows: Mapping[int, dict[str, Any]],
        key: Key | None = None,
    ) -> Appended | Duplicate | Conflict | Mismatch:
        self._overwrite(True)
        try:
            return self._log.append(commit, conditions, events, key, [(storable(rows[at]), at) for at in rows])
        finally:
            self._overwrite(False)

    def _overwrite(self, freed: bool) -> None:  # noqa: FBT001
        with self._database as connection:
            connection.pragma("secure_delete", freed)

    def rewrite(self) -> None:
        """See `Archive.rewrite`: unused parts of pages may still hold old text."""
        self._database.check_writable()
        if self._log.block() is not None:
            return self._rewrite()
        with self._log.exclusive():
            return self._rewrite()

    def _rewrite(self) -> None:
        with self._database as connection:
            connection.execute(queries.SQL["rewrite"])
            self._write_back(connection)

    def _write_back(self, connection: apsw.Connection) -> None:
        """Empty the write-ahead log, which may still hold the old rows. Waits for processes that are reading."""
        end = time.monotonic() + _PATIENCE
        while (connection.execute(queries.SQL["write_back"]).fetchone() or (1,))[0]:
            if time.monotonic() > end:
                raise Unavailable(
                    "erase_unfinished",
                    "The text was erased, but not yet from the write-ahead log, because a process is reading it.",
                    "End that process, then try again.",
                    path=self._database.path,
                )
            time.sleep(_PAUSE)


def _add_blobs(path: str, blobs: Iterable[BlobPieces]) -> None:
    """Put these blobs into a backup, all of them or none, in a table that a log does not have."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        with connection:
            for number, (digest, pieces) in enumerate(blobs):
                if number == 0:
                    connection.execute(queries.SQL["make_blobs"])
                rows = ((digest, n, piece) for n, piece in enumerate(pieces, 1))
                connection.execute(queries.SQL["put_blob"], (digest, 0, b""))  # a blob may be empty
                connection.executemany(queries.SQL["put_blob"], rows)
    except apsw.Error as error:
        raise faults.of_sqlite(error, path, connection.system_errno) or error from error
    finally:
        connection.close()


def copy_into(path: str, source: apsw.Connection, progress: Progress) -> None:
    """A new file with everything that `source` sees. It is a single file without a write-ahead log."""
    target = apsw.Connection(path)
    try:
        copy(target, source, progress)
        target.pragma("journal_mode", "delete")
    except apsw.Error as error:
        raise faults.of_sqlite(error, path, target.system_errno) or error from error
    finally:
        target.close()
    sync(path)


def copy(target: apsw.Connection, source: apsw.Connection, progress: Progress) -> None:
    """Copy all pages, or none."""
    with target.backup("main", source, "main") as work:
        while not work.done:
            work.step(PAGES)
            progress(work.page_count - work.remaining, work.page_count)


def examine(path: str) -> int:
    """The head of a log in a single file. Raises unless the file is intact."""
    file.recognise(path)
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            said = connection.execute(queries.SQL["integrity"]).get
            if said != "ok":
                raise faults.damaged(path, str(said))
            count, head = connection.execute(queries.SQL["extent"]).fetchone() or (0, 0)
        finally:
            connection.close()
    except apsw.Error as error:
        raise faults.of_sqlite(error, path) or faults.damaged(path, str(error)) from error
    if count != head:
        raise faults.damaged(path, f"it has {counted(count, 'event')} but ends at position {head}")
    return int(head)
