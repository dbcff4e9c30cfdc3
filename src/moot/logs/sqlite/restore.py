"""Puts a backup in place of the log while other processes have the old one open.

The backup is not trusted. It is copied first, and the copy is used only if it is a log exactly as moot makes them: its
schema, which could contain code, is compared before anything else is read, and SQLite must find every page whole.

Then the pages of the copy go into the existing file, in one SQLite transaction. Processes that have it open see the old
log or the new one, and none keeps writing to a deleted file. Only a file that is not a usable log is replaced by name.
The caller holds the writer lock, or no process can write.
"""

from __future__ import annotations

import os
import shutil  # noqa: TID253 (loaded on demand)
import stat
import time
from contextlib import closing, contextmanager

import apsw

from moot.core.errors import Usage
from moot.logs.sqlite import faults, file, queries
from moot.logs.sqlite.archive import copy, copy_into, examine
from moot.logs.sqlite.audit import foreign_schema
from moot.logs.sqlite.lock import WriterLock
from moot.place.private_files import sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.log import BlobPieces, Progress

ROOM = "restoring-"  # followed by random letters; `moot.engine.sweeping` removes what killed processes leave
_PATIENCE = 30.0
_LARGEST = 64 << 20  # bytes in one row
_NOT_TRUSTED = (
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW,
    apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA,
)


@contextmanager
def room(directory: str) -> Iterator[str]:
    """A folder for the copy, next to the log."""
    import tempfile

    place = tempfile.mkdtemp(prefix=ROOM, dir=directory)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def copied(path: str, place: str, progress: Progress) -> str:
    """Copy a backup into the folder `place` as a log. Raises unless it is whole and has exactly moot's schema."""
    file.recognise(path)
    log = os.path.join(place, file.NAME)
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    try:
        with closing(apsw.Connection(real, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW)) as source:
            copy_into(log, source, progress)
        with closing(_distrusted(log)) as connection:
            version = file.version_of(connection)
            if version != file.VERSION:
                raise faults.other_version(path, version, file.VERSION)
            for problem in foreign_schema(connection):
                raise faults.foreign(path, problem)
        examine(log)
    except UnicodeDecodeError as error:
        raise faults.damaged(path, "a text in it is not valid UTF-8") from error
    except apsw.Error as error:
        raise faults.of_sqlite(error, path) or faults.damaged(path, str(error)) from error
    return log


def check_regular(path: str) -> None:
    """Refuse anything but a regular file: a link is not followed, and a FIFO would block."""
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        raise not_a_backup(path, f"There is no file {path}: {error.strerror}.") from None
    if not stat.S_ISREG(mode):
        raise not_a_backup(path, f"{path} is not a regular file.")


def not_a_backup(path: str, sentence: str) -> Usage:
    remedy = "Name an unchanged file that `moot backup` made, not a link to it. The log was not changed."
    return Usage("no_backup", sentence, remedy, file=path)


def _distrusted(path: str) -> apsw.Connection:
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    connection.pragma("query_only", True)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    for switch in _NOT_TRUSTED:
        connection.config(switch, 0)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LARGEST)
    connection.pragma("cell_size_check", True)
    return connection


def blobs(path: str) -> Iterator[BlobPieces]:
    """The blobs of a copied backup, if it has some. Their content is not checked."""
    from itertools import groupby

    with closing(_distrusted(path)) as connection:
        if connection.table_exists("main", "blob"):
            for digest, rows in groupby(connection.execute(queries.SQL["blobs"]), key=lambda row: row[0]):
                yield digest, (row[2] for row in rows)


def finish(path: str) -> None:
    """Make the copy a log: without blobs, with a write-ahead log, and on the disk."""
    connection = apsw.Connection(path)
    try:
        connection.pragma("synchronous", "full")
        if connection.table_exists("main", "blob"):
            connection.execute(queries.SQL["drop_blobs"])
            connection.execute(queries.SQL["rewrite"])
        connection.pragma("journal_mode", "wal")
    except apsw.Error as error:
        raise faults.of_sqlite(error, path, connection.system_errno) or error from error
    finally:
        connection.close()
    sync(path)


def lacks(directory: str, other: str) -> bool:
    """Whether the log in `directory` has an event that the log in the file `other` does not have."""
    with (
        closing(file.connect(os.path.join(directory, file.NAME), apsw.SQLITE_OPEN_READONLY, _PATIENCE)) as log,
        closing(apsw.Connection(other, flags=apsw.SQLITE_OPEN_READWRITE)) as new,
    ):
        head = (log.execute(queries.SQL["head"]).get,)
        last = queries.SQL["last_commit"]
        return bool(head[0]) and log.execute(last, head).get != new.execute(last, head).get


def keep(directory: str, place: str, progress: Progress) -> str:
    """Copy the log that is about to be replaced, next to it; until it is whole, it is in the folder `place`."""
    path, draft = _dated(directory), os.path.join(place, "kept.db")
    with closing(file.connect(os.path.join(directory, file.NAME), apsw.SQLITE_OPEN_READONLY, _PATIENCE)) as source:
        copy_into(draft, source, progress)
    os.rename(draft, path)
    sync(directory)
    return path


def replace(directory: str, new: str, progress: Progress) -> None:
    """Replace the content of the log in `directory` by that of the log in the file `new`, completely or not at all."""
    place = os.path.join(directory, file.NAME)
    target = file.connect(place, apsw.SQLITE_OPEN_READWRITE, _PATIENCE)
    try:
        target.pragma("synchronous", "full")  # durable when this returns
        with closing(apsw.Connection(new, flags=apsw.SQLITE_OPEN_READWRITE)) as source:
            copy(target, source, progress)
    except apsw.Error as error:
        raise faults.of_sqlite(error, place, target.system_errno) or faults.damaged(place, str(error)) from error
    finally:
        target.close()


def put(directory: str, new: str) -> str | None:
    """Put the log in the file `new` where there is none, or in place of one that cannot be read.

    That one is kept: first it is copied with its -wal file, which SQLite must not find beside the new log. If this is
    killed, the damaged log is still there or the new one is, and the copy has everything.
    """
    log, kept = os.path.join(directory, file.NAME), None
    lock = WriterLock(os.path.join(directory, file.LOCK), _PATIENCE)
    lock.acquire()
    try:
        for end in ("", "-wal"):
            if os.path.lexists(log + end):
                kept = kept or _dated(directory)
                shutil.copy(log + end, kept + end, follow_symlinks=False)
                sync(kept + end)
        sync(directory)
        for end in ("-wal", "-shm"):
            if os.path.lexists(log + end):
                os.unlink(log + end)
        sync(directory)
        os.rename(new, log)
        sync(directory)
        file.connect(log, apsw.SQLITE_OPEN_READWRITE, _PATIENCE).close()
    except OSError as error:
        raise faults.of_system(error, log) from error
    finally:
        lock.close()
    return kept


def _dated(directory: str) -> str:
    """A free name for a log that is replaced."""
    day, number = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), 0
    while True:
        path = os.path.join(directory, f"log-{day}{f'-{number}' if number else ''}.db")
        if not os.path.exists(path):
            return path
        number += 1
