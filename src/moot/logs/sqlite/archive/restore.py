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
from moot.private_files import hand_over, sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moot.log import Progress

_PATIENCE = 30.0
_KEPT = "kept.db"


@contextmanager
def room(directory: str) -> Iterator[str]:
    """The folder for what is not finished. The caller has the turn."""
    clear(directory)
    place = os.path.join(directory, file.RESTORING)
    try:
        os.mkdir(place, 0o700)
        hand_over(place)
    except OSError as error:
        raise faults.of_system(error, place) from error
    try:
        yield place
    finally:
        clear(directory)


def clear(directory: str) -> None:
    """Remove the folder, also of one that was killed. A copy of a log that has been replaced gets its name instead."""
    place = os.path.join(directory, file.RESTORING)
    kept = os.path.join(place, _KEPT)
    if os.path.exists(kept) and _needed(directory, kept):
        name(directory, kept)
    shutil.rmtree(place, ignore_errors=True)


def tidy(directory: str) -> None:
    """The same for one who only passes by: as long as somebody has the turn, the folder is in use."""
    try:
        turn = os.open(os.path.join(directory, file.LOCK), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return  # one who may not write clears nothing
    try:
        fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        clear(directory)
    except OSError:
        return
    finally:
        os.close(turn)


def lacks(directory: str, other: apsw.Connection) -> bool:
    """Whether the log in `directory` has an event that the other one does not have."""
    place = os.path.join(directory, file.NAME)
    log = file.connect(place, apsw.SQLITE_OPEN_READONLY, _PATIENCE)
    try:
        return _exceeds(log, other)
    except apsw.Error as error:
        raise faults.of_sqlite(error, place, log.system_errno) or faults.damaged(place, str(error)) from error
    except UnicodeDecodeError as error:
        raise faults.damaged(place, "something in it should be text and is none") from error
    finally:
        log.close()


def _exceeds(log: apsw.Connection, other: apsw.Connection) -> bool:
    mark = (log.execute(queries.SQL["head"]).get,)
    return (
        bool(mark[0])
        and log.execute(queries.SQL["last_commit"], mark).get != other.execute(queries.SQL["last_commit"], mark).get
    )


def _needed(directory: str, kept: str) -> bool:
    """Whether the copy has what the log has not. In doubt it has."""
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
    """A copy of the log in the folder `place`. It gets its `name` when it is the only one."""
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
    """Put a copy that was kept beside the log, under a name with the date."""
    path = _dated(directory)
    os.rename(kept, path)
    sync(directory)
    return path


def copy_to(directory: str, source: apsw.Connection, progress: Progress) -> str:
    """A log of its own in a directory, with everything that `source` has."""
    made = os.path.join(directory, file.NAME)
    copy_into(made, source, progress)
    return made


def anew(directory: str, source: apsw.Connection, progress: Progress, meanwhile: Callable[[], object]) -> str | None:
    """Put a log where none is, or one that cannot be read; that one is moved away. Nobody writes in between."""
    log = os.path.join(directory, file.NAME)
    turn = WriterLock(os.path.join(directory, file.LOCK), _PATIENCE)
    turn.acquire()
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
        turn.close()
    return kept


def _finish(path: str) -> None:
    """Make a copy a log as everybody opens it, in one file."""
    connection = apsw.Connection(path)
    try:
        connection.pragma("synchronous", "full")
        connection.pragma("journal_mode", "wal")
    except apsw.Error as error:
        raise faults.of_sqlite(error, path, connection.system_errno) or error from error
    finally:
        connection.close()


def _set_aside(log: str, place: str) -> str | None:
    """Move away what is there. Until the new log comes, a mark stands in its place.

    Without the mark, one who is killed in between would leave a place where `moot init` makes an empty log; and with
    one of the old files that are left, SQLite could make a whole log of something else.
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
        hand_over(mark)
        _second_name(log, away)
        os.rename(mark, log)
    for end in ("-wal", "-shm"):
        if os.path.exists(log + end):
            os.rename(log + end, away + end)
    sync(os.path.dirname(log))
    return away


def _begun(log: str) -> str | None:
    """Where one who was killed has moved the log to."""
    try:
        with file.USES.gate:
            if log in file.USES:
                return None  # it could not be opened if it were half restored
            with open(log, "rb") as mark:
                said = mark.read(200)
    except FileNotFoundError:
        return None
    away = os.path.basename(said.removeprefix(file.HALF).decode("utf-8", "replace").strip())
    return os.path.join(os.path.dirname(log), away) if said.startswith(file.HALF) else None


def _linked(log: str) -> str | None:
    """The second name of the log, which one gave it who was killed then."""
    folder = os.path.dirname(log)
    named = (os.path.join(folder, found) for found in os.listdir(folder) if found.startswith("log-"))
    return next((path for path in named if os.path.exists(log) and os.path.samefile(path, log)), None)


def _second_name(log: str, away: str) -> None:
    if not os.path.exists(log) or os.path.exists(away):
        return
    try:
        os.link(log, away)
    except OSError:  # a file system without links: for a moment there is no log
        os.rename(log, away)


def replace(directory: str, source: apsw.Connection, progress: Progress) -> None:
    """Make the log in `directory` what `source` is, all of it or nothing."""
    place = os.path.join(directory, file.NAME)
    target = file.connect(place, apsw.SQLITE_OPEN_READWRITE, _PATIENCE)
    try:
        target.pragma("synchronous", "full")  # it is on the disk when this returns
        copy(target, source, progress)
    except apsw.Error as error:
        raise faults.of_sqlite(error, place, target.system_errno) or faults.damaged(place, str(error)) from error
    finally:
        target.close()


def opens(directory: str, head: int) -> bool:
    """Whether the log that was put in place can be opened and has all its events: until then the old one is kept."""
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
