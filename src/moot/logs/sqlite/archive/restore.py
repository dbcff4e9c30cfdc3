"""Puts a rebuilt log in place while other processes have the old one open.

The pages are written into the existing file, in one SQLite transaction. Processes that have it open see the old log or
the new one, and none keeps writing to a deleted file. Only a file that is not a usable log is moved away. The caller
holds the writer lock, or no process can write.

Unfinished work is in a separate folder. So this may be killed at any moment: the log is the old one or the new one, a
damaged log stays damaged until the new one is complete, and the next command removes the folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil  # noqa: TID253 (loaded on demand)
import time
from contextlib import contextmanager

import apsw

from moot.core.errors import Unavailable
from moot.logs.sqlite import faults, file, queries
from moot.logs.sqlite.archive import copy, copy_into
from moot.logs.sqlite.lock import WriterLock
from moot.private_files import sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moot.log import Progress

_PATIENCE = 30.0
_KEPT = "kept.db"


@contextmanager
def room(directory: str) -> Iterator[str]:
    """The folder for unfinished work. The caller holds the writer lock."""
    clear(directory)
    place = os.path.join(directory, file.RESTORING)
    try:
        os.mkdir(place, 0o700)
    except OSError as error:
        raise faults.of_system(error, place) from error
    try:
        yield place
    finally:
        clear(directory)


def clear(directory: str) -> None:
    """Remove the folder, also that of a killed process. The copy of a log that was replaced is kept."""
    place = os.path.join(directory, file.RESTORING)
    kept = os.path.join(place, _KEPT)
    if os.path.exists(kept) and _needed(directory, kept):
        name(directory, kept)
    shutil.rmtree(place, ignore_errors=True)


def tidy(directory: str) -> None:
    """The same, unless another process holds the writer lock: then the folder is in use."""
    try:
        lock = os.open(os.path.join(directory, file.LOCK), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return  # read-only: clear nothing
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        clear(directory)
    except OSError:
        return
    finally:
        os.close(lock)


def lacks(directory: str, other: apsw.Connection) -> bool:
    """Whether the log in `directory` has an event that the other one does not have."""
    place = os.path.join(directory, file.NAME)
    log = file.connect(place, apsw.SQLITE_OPEN_READONLY, _PATIENCE)
    try:
        return _exceeds(log, other)
    except apsw.Error as error:
        raise faults.of_sqlite(error, place, log.system_errno) or faults.damaged(place, str(error)) from error
    except UnicodeDecodeError as error:
        raise faults.damaged(place, "a text in it is not valid UTF-8") from error
    finally:
        log.close()


def _exceeds(log: apsw.Connection, other: apsw.Connection) -> bool:
    mark = (log.execute(queries.SQL["head"]).get,)
    return (
        bool(mark[0])
        and log.execute(queries.SQL["last_commit"], mark).get != other.execute(queries.SQL["last_commit"], mark).get
    )


def _needed(directory: str, kept: str) -> bool:
    """Whether the copy has events that the log lacks. True if that cannot be determined."""
    copied = apsw.Connection(kept, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        log = file.connect(os.path.join(directory, file.NAME), apsw.SQLITE_OPEN_READONLY, _PATIENCE)
        try:
            return _exceeds(copied, log)
        finally:
            log.close()
    except (apsw.Error, Unavailable, ValueError):
        return True
    finally:
        copied.close()


def keep(directory: str, place: str, progress: Progress) -> str:
    """Copy the log into the folder `place`. `name` keeps the copy once the log was replaced."""
    path = os.path.join(place, _KEPT)
    source = file.connect(os.path.join(directory, file.NAME), apsw.SQLITE_OPEN_READONLY, _PATIENCE)
    try:
        copy_into(f"{path}.part", source, progress)
    finally:
        source.close()
    os.rename(f"{path}.part", path)
    sync(place)
    sync(directory)
    return path


def name(directory: str, kept: str) -> str:
    """Move a kept copy next to the log, under a name with the date."""
    path = _dated(directory)
    os.rename(kept, path)
    sync(directory)
    return path


def copy_to(directory: str, source: apsw.Connection, progress: Progress) -> str:
    """Write everything that `source` has to a new log in this directory."""
    made = os.path.join(directory, file.NAME)
    copy_into(made, source, progress)
    return made


def anew(directory: str, source: apsw.Connection, progress: Progress, meanwhile: Callable[[], object]) -> str | None:
    """Put a log where there is none, or in place of one that cannot be read; that one is moved away."""
    log = os.path.join(directory, file.NAME)
    lock = WriterLock(os.path.join(directory, file.LOCK), _PATIENCE)
    lock.acquire()
    try:
        with room(directory) as place:
            new = copy_to(place, source, progress)
            _finish(new)
            meanwhile()
            kept = _set_aside(log, place)
            os.rename(new, log)
            sync(directory)
        file.connect(log, apsw.SQLITE_OPEN_READWRITE, _PATIENCE).close()
    except OSError as error:
        raise faults.of_system(error, log) from error
    finally:
        lock.close()
    return kept


def _finish(path: str) -> None:
    """Give a copy the settings of a log."""
    connection = apsw.Connection(path)
    try:
        connection.pragma("synchronous", "full")
        connection.pragma("journal_mode", "wal")
    except apsw.Error as error:
        raise faults.of_sqlite(error, path, connection.system_errno) or error from error
    finally:
        connection.close()


def _set_aside(log: str, place: str) -> str | None:
    """Move the old log away. Until the new one is in place, a mark takes its name.

    Without the mark, `moot init` would create an empty log there if this process is killed meanwhile. And SQLite could
    apply a leftover -wal file of the old log to it.
    """
    away = _begun(log)
    if away is None:
        found = [end for end in ("", "-wal", "-shm") if os.path.exists(log + end)]
        if not found:
            return None
        away = _linked(log) or _dated(os.path.dirname(log))
        mark = os.path.join(place, "mark")
        with open(mark, "wb") as half:
            half.write(file.HALF + os.path.basename(away).encode() + b"\n")
            half.flush()
            os.fsync(half.fileno())
        _second_name(log, away)
        os.rename(mark, log)
    for end in ("-wal", "-shm"):
        if os.path.exists(log + end):
            os.rename(log + end, away + end)
    sync(os.path.dirname(log))
    return away


def _begun(log: str) -> str | None:
    """Where a killed process has moved the log."""
    try:
        with file.USES.gate:
            if log in file.USES:
                return None  # it is open, so it is not half restored
            with open(log, "rb") as mark:
                said = mark.read(200)
    except FileNotFoundError:
        return None
    away = os.path.basename(said.removeprefix(file.HALF).decode("utf-8", "replace").strip())
    return os.path.join(os.path.dirname(log), away) if said.startswith(file.HALF) else None


def _linked(log: str) -> str | None:
    """The second name of the log, if a killed process gave it one."""
    folder = os.path.dirname(log)
    named = (os.path.join(folder, found) for found in os.listdir(folder) if found.startswith("log-"))
    return next((path for path in named if os.path.exists(log) and os.path.samefile(path, log)), None)


def _second_name(log: str, away: str) -> None:
    if not os.path.exists(log) or os.path.exists(away):
        return
    try:
        os.link(log, away)
    except OSError:  # a file system without hard links: for a moment there is no log
        os.rename(log, away)


def replace(directory: str, source: apsw.Connection, progress: Progress) -> None:
    """Replace the content of the log in `directory` by that of `source`, completely or not at all."""
    place = os.path.join(directory, file.NAME)
    target = file.connect(place, apsw.SQLITE_OPEN_READWRITE, _PATIENCE)
    try:
        target.pragma("synchronous", "full")  # durable when this returns
        copy(target, source, progress)
    except apsw.Error as error:
        raise faults.of_sqlite(error, place, target.system_errno) or faults.damaged(place, str(error)) from error
    finally:
        target.close()


def opens(directory: str, head: int) -> bool:
    """Whether the new log can be opened and has all its events. The old one is kept until then."""
    try:
        log = file.connect(os.path.join(directory, file.NAME), apsw.SQLITE_OPEN_READONLY, _PATIENCE)
        try:
            return int(log.execute(queries.SQL["head"]).get) >= head
        finally:
            log.close()
    except (apsw.Error, Unavailable, ValueError):
        return False


def _dated(directory: str) -> str:
    """A free name for a log that was replaced."""
    day, number = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), 0
    while True:
        path = os.path.join(directory, f"log-{day}{f'-{number}' if number else ''}.db")
        if not os.path.exists(path):
            return path
        number += 1
