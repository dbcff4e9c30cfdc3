"""Putting a copy of a log into its place, under the feet of everybody who has it open.

The pages are written into the file that is there, in one transaction of SQLite: whoever has it open sees the old log or
the new one, and nobody goes on writing into a file that has lost its name. Only a file that is none any more is moved
away. The caller has the turn of the writers, or there is nobody who could write.
"""

from __future__ import annotations

import os
import time

import apsw

from moot.logs.sqlite import faults, file, queries
from moot.logs.sqlite.archive import copy, copy_into
from moot.logs.sqlite.lock import WriterLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.log import Progress

_PATIENCE = 30.0


def lacks(directory: str, path: str) -> bool:
    """Whether the log in `directory` has an event that the one at `path` does not have."""
    log = file.connect(os.path.join(directory, file.NAME), apsw.SQLITE_OPEN_READONLY, _PATIENCE)
    other = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        head = log.execute(queries.HEAD).get
        mark = (head,)
        return bool(head) and log.execute(queries.LAST_COMMIT, mark).get != other.execute(queries.LAST_COMMIT, mark).get
    finally:
        log.close()
        other.close()


def keep(directory: str, progress: Progress) -> str:
    """A copy of the log beside it, under a name with the date."""
    path = dated(directory)
    source = file.connect(os.path.join(directory, file.NAME), apsw.SQLITE_OPEN_READONLY, _PATIENCE)
    try:
        copy_into(path, source, progress)
    finally:
        source.close()
    return path


def copy_to(directory: str, path: str, progress: Progress) -> None:
    """A log of its own in a new directory, with everything that the one at `path` has."""
    try:
        os.mkdir(directory, 0o700)
    except OSError as error:
        raise faults.of_system(error, directory) from error
    source = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        copy_into(os.path.join(directory, file.NAME), source, progress)
    finally:
        source.close()


def anew(directory: str, path: str, progress: Progress, meanwhile: Callable[[], object]) -> str | None:
    """Put a copy where no log is, or one that cannot be read; that one is moved away. Nobody writes in between."""
    turn = WriterLock(os.path.join(directory, file.LOCK), _PATIENCE)
    turn.acquire()
    try:
        kept = _set_aside(directory)
        file.make(directory)
        meanwhile()
        replace(directory, path, progress)
    finally:
        turn.close()
    return kept


def _set_aside(directory: str) -> str | None:
    path, away = os.path.join(directory, file.NAME), dated(directory)
    found = [end for end in ("-wal", "-shm", "") if os.path.exists(path + end)]
    for end in found:
        os.rename(path + end, away + end)
    return away if found else None


def replace(directory: str, path: str, progress: Progress) -> None:
    """Make the log in `directory` the one at `path`, all of it or nothing."""
    place = os.path.join(directory, file.NAME)
    target = file.connect(place, apsw.SQLITE_OPEN_READWRITE, _PATIENCE)
    source = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        target.pragma("synchronous", "full")  # it is on the disk when this returns
        copy(target, source, progress)
        file.migrate(target)  # a copy may be older than this program
    except apsw.Error as error:
        raise faults.of_sqlite(error, place, target.system_errno) or error from error
    finally:
        source.close()
        target.close()


def dated(directory: str) -> str:
    """A free name for a log that was replaced."""
    day, number = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), 0
    while True:
        path = os.path.join(directory, f"log-{day}{f'-{number}' if number else ''}.db")
        if not os.path.exists(path):
            return path
        number += 1
