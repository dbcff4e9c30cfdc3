"""The file `log.db`: creating it, recognising it, connecting to it.

A file that is not a complete log of moot is refused before SQLite opens it: SQLite would repair or fill it.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock
from array import array
from stat import S_ISREG
from weakref import ref

import apsw

from moot.logs.sqlite import faults, platform_checks, queries
from moot.logs.sqlite.lock import WriterLock
from moot.place.private_files import check_private, make_folder, sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class User(Protocol):
        """Something that may have a log open."""

        def uses(self, file: tuple[int, int]) -> bool: ...


NAME = "log.db"
LOCK = "lock"
APPLICATION_ID = 0x6D6F6F74  # "moot"
VERSION = 5  # of schema.sql; a log of any other version is refused

_DRAFT = f"{NAME}."
_MAGIC = b"SQLite format 3\x00"
_LARGEST_IDLE_WAL = 16 << 20
_WRITE_OUT = 2  # SYNC_FILE_RANGE_WRITE
_YES = array("i", [1])  # SQLite takes the address of an integer


def create(directory: str, timeout: float) -> bool:
    """Create an empty log in `directory`, atomically. False if there is already one."""
    path = os.path.join(directory, NAME)
    platform_checks.check_sqlite()
    platform_checks.check_file_system(directory)
    check_safe(path)
    lock = WriterLock(os.path.join(directory, LOCK), timeout)
    try:
        make_folder(directory)
        platform_checks.check_file_system(directory)  # now that it exists, its device can be noted
        if not os.path.exists(path):
            lock.acquire()
        if os.path.exists(path):
            recognise(path)
            return False
        _make(path)
    except OSError as error:
        raise faults.of_system(error, path) from error
    finally:
        lock.close()
    return True


def _make(path: str) -> None:
    """The caller holds the writer lock."""
    if _size(path + "-wal"):
        raise faults.orphaned_wal(path)  # SQLite would replay it into the new file
    directory = os.path.dirname(path)
    _sweep(directory)
    draft = os.path.join(directory, f"{_DRAFT}{os.urandom(4).hex()}")
    try:
        _fill(draft)
        os.rename(draft, path)
    finally:
        _sweep(directory)
    sync(directory)
    connect(path, apsw.SQLITE_OPEN_READWRITE, 0).close()


def _sweep(directory: str) -> None:
    """Remove drafts of killed processes. The caller holds the writer lock, so no draft is in use."""
    for name in os.listdir(directory):
        if name.startswith(_DRAFT):
            os.unlink(os.path.join(directory, name))


def _fill(path: str) -> None:
    connection: apsw.Connection | None = None
    try:
        connection = apsw.Connection(path)
        connection.pragma("auto_vacuum", "none")  # rows are never deleted, and fewer pages change without it
        fill(connection)
        connection.execute(queries.SQL["set_meta"], ("workspace", os.urandom(16).hex()))
        connection.pragma("journal_mode", "wal")  # kept in the file
        connection.close()
    except apsw.Error as error:
        raise faults.of_sqlite(error, path, connection.system_errno if connection else 0) or error from error


def fill(connection: apsw.Connection) -> None:
    """Give an empty database the schema of a log."""
    connection.execute(f"BEGIN; {queries.text('schema.sql')} COMMIT")
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", VERSION)


def check_safe(path: str) -> None:
    """Refuse a link or a FIFO that somebody put there: SQLite would follow the link, or block on the FIFO."""
    for kind in ("", "-wal", "-shm", "-journal"):
        try:
            check_private(f"{path}{kind}")
        except OSError as error:
            raise faults.of_system(error, path) from error


class Uses:
    """The log files that this process has open.

    In POSIX, closing any descriptor of a file releases all locks of the process on it. SQLite takes care of that for
    its own connections. Other code here must not open and close a log that is in use: another process would then take
    the -wal file for abandoned. Hold the `gate` to open one.
    """

    def __init__(self) -> None:
        self.gate = RLock()
        self._users: dict[int, ref[User]] = {}

    def add(self, user: User) -> None:
        number = id(user)
        self._users[number] = ref(user, lambda _: self._users.pop(number, None))

    def __contains__(self, path: str) -> bool:
        found = identity(path)
        users = [its() for its in tuple(self._users.copy().values())]
        return found is not None and any(user is not None and user.uses(found) for user in users)


def identity(path: str) -> tuple[int, int] | None:
    """Device and inode of a file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


USES = Uses()


def recognise(path: str) -> None:
    """Raise unless the file is a complete log of moot. Reads only its header. A file in use was checked before."""
    with USES.gate:
        if path not in USES:
            _recognise(path)


def _recognise(path: str) -> None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            status = os.fstat(file)
            header = os.read(file, 100) if S_ISREG(status.st_mode) else b""
        finally:
            os.close(file)
    except FileNotFoundError:
        raise faults.missing(path) from None
    except OSError as error:
        raise faults.of_system(error, path) from error
    size = status.st_size
    if not S_ISREG(status.st_mode):
        raise faults.foreign(path, "it is not a regular file")
    if not size:
        raise faults.damaged(path, "it is empty")
    if not header.startswith(_MAGIC) or len(header) < 100:
        raise faults.foreign(path, "it is not an SQLite database")
    if _number(header, 68) != APPLICATION_ID:
        raise faults.foreign(path, "it belongs to another program")
    pages, page_size = _number(header, 28), int.from_bytes(header[16:18], "big")
    # After a crash, missing pages may still be in the write-ahead log, where SQLite finds them.
    if size < pages * (65536 if page_size == 1 else page_size) and not _size(path + "-wal"):
        raise faults.damaged(path, f"expected {pages} pages of {page_size} bytes, got {size} bytes in total")


def connect(path: str, flags: int, timeout: float) -> apsw.Connection:
    """A connection with the settings of the log."""
    try:
        connection = apsw.Connection(path, flags=flags | apsw.SQLITE_OPEN_NOFOLLOW)
    except apsw.CantOpenError as error:
        if getattr(error, "extendedresult", 0) != apsw.SQLITE_CANTOPEN_SYMLINK or os.path.islink(path):
            raise
        connection = apsw.Connection(path, flags=flags)  # the link is above the directory: the caller chose that path
    try:
        connection.set_busy_timeout(int(timeout * 1000))
        # The last connection checkpoints when it closes. It then empties the -wal file instead of deleting it:
        # a read-only user cannot read without one, and cannot create it.
        connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, _YES.buffer_info()[0])
        # In this mode SQLite syncs at a checkpoint and not after each commit. `flush` does that, outside of all locks.
        # Frames are chained by checksums, so a crash can only cut off the end that was not flushed.
        connection.pragma("synchronous", "normal")
        connection.pragma("journal_size_limit", _LARGEST_IDLE_WAL)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # otherwise SQLite replans queries for every new value
        if sys.platform == "darwin":  # fsync alone leaves the data in the cache of the drive
            connection.pragma("fullfsync", True)
            connection.pragma("checkpoint_fullfsync", True)
        if connection.pragma("journal_mode") != "wal":  # this is the first read of the file
            connection.pragma("journal_mode", "wal")
        return connection
    except apsw.Error as error:
        raise faults.of_sqlite(error, path, connection.system_errno) or faults.damaged(path, str(error)) from error


def version_of(connection: apsw.Connection) -> int:
    """The version of the schema."""
    return int(connection.execute("PRAGMA user_version").get)


def flush(file: int) -> None:
    """Flush this file to disk."""
    if sys.platform == "darwin":  # see `connect`
        import fcntl

        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(file)


def early_flush() -> Callable[[int], object]:
    """A function that asks Linux to start writing a file to disk, without waiting. Elsewhere it does nothing."""
    if sys.platform == "linux":
        import ctypes  # slow to import, but the only way to call it

        ask = getattr(ctypes.CDLL(None), "sync_file_range", None)
        if ask is not None:
            ask.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
            return lambda file: ask(file, 0, 0, _WRITE_OUT)  # if it fails, `flush` reports it
    return lambda _file: None


def _number(header: bytes, offset: int) -> int:
    return int.from_bytes(header[offset : offset + 4], "big")


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
