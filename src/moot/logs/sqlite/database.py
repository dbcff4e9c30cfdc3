"""The connection of a handle: opened on demand, its errors translated into errors of moot.

It does not know commits or conditions.
"""

from __future__ import annotations

import os

import apsw

from moot.log import check_process
from moot.logs.sqlite import faults, file, platform_checks
from moot.place.private_files import open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from moot.core.errors import MootError, Unavailable

_OFTEN = 20  # appends


class Database:
    """Used as `with database as connection`, by one thread at a time, in the process that made it.

    A transaction that is open when an error leaves the block is rolled back. After an interrupt the connection is
    closed, and the next use opens a new one.
    """

    _wal: int | None = None  # a descriptor of the -wal file, used only by `flush`

    def __init__(self, directory: str, timeout: float, *, reading: bool = False) -> None:
        self.path = os.path.join(directory, file.NAME)
        self._directory = directory
        self._reading = reading
        self._timeout = timeout
        self._process = os.getpid()
        self._connection: apsw.Connection | None = None
        self._flushes = 0
        self._early: Callable[[int], object] | None = None
        self._refusal: Unavailable | None = None
        self._file: tuple[int, int] | None = None  # device and inode of the open file
        self._closed = False
        file.USES.add(self)

    def __enter__(self) -> apsw.Connection:
        check_process(self._process)
        try:
            return self._connection or self._open()
        except apsw.Error as error:
            raise faults.of_sqlite(error, self.path) or faults.damaged(self.path, str(error)) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if not isinstance(error, Exception):
            self._drop()
            return
        said: MootError | None = None
        try:
            connection = self._connection
            if connection is not None:
                if isinstance(error, UnicodeDecodeError):
                    said = faults.damaged(self.path, "a text in it is not valid UTF-8")
                if isinstance(error, apsw.Error):
                    said = faults.of_sqlite(error, self.path, connection.system_errno)
                    if isinstance(error, apsw.SQLError):  # such as a missing column
                        said = faults.damaged(self.path, str(error))
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except apsw.Error:
            self._drop()  # even the rollback failed: the next use opens a new connection
        if said is not None:
            raise said from error

    def check_writable(self) -> None:
        """Raise the reason why nothing may be appended, if there is one."""
        if self._connection is None:
            with self:
                pass
        if self._refusal is not None:
            raise self._refusal
        if self._wal is None:
            self._prepare_to_flush()

    def _prepare_to_flush(self) -> None:
        """Open the -wal file before anything is written: a process that could not flush must not append."""
        try:
            self._wal = os.open(f"{self.path}-wal", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            pass  # SQLite creates it at the first write
        except OSError as error:
            raise faults.of_system(error, self.path) from error

    @property
    def writable(self) -> bool:
        return self._refusal is None

    def roll_back(self) -> None:
        """Roll back a transaction that was begun and not used."""
        if self._connection is not None and self._connection.in_transaction:
            with self as connection:
                connection.execute("ROLLBACK")

    def give_up(self) -> None:
        """Close the connection, with any open transaction. The next use opens a new one."""
        self._drop()

    def flush_early(self) -> None:
        """Let the disk start writing, in a process that has appended so often that loading `ctypes` pays off."""
        if self._flushes < _OFTEN:
            return
        if self._early is None:
            self._early = file.early_flush()
        if self._wal is not None:
            self._early(self._wal)

    def flush(self) -> None:
        """Wait until every committed transaction is on disk."""
        try:
            if self._wal is None:  # it stays the same file while a connection is open
                self._wal = open_private(f"{self.path}-wal", os.O_RDWR)
            self._flushes += 1
            file.flush(self._wal)
        except OSError as error:
            raise faults.not_flushed(self.path, str(error)) from error

    def notice_another_file(self) -> bool:
        """Close the file if its path names another file by now: nobody would read what is written to the old one."""
        if self._connection is None or self._file == file.identity(self.path):
            return False
        self._drop()
        return True

    def close(self) -> None:
        """Close it for good."""
        self._closed = True
        self._drop()

    def __del__(self) -> None:
        """Close the -wal file of a handle that was not closed. The connection closes itself.

        Closing any descriptor of a file releases all locks of this process on that file. But SQLite locks the database
        and the -shm file, never the -wal file. So no handle of this process loses a lock.
        """
        wal, self._wal = self._wal, None
        if wal is not None:
            os.close(wal)

    def _open(self) -> apsw.Connection:
        if self._closed:
            raise faults.closed(self.path)
        platform_checks.check_sqlite()
        file.check_safe(self.path)
        with file.USES.gate:
            file.recognise(self.path)
            platform_checks.check_file_system(self._directory, keep=not self._reading)
            wanted = apsw.SQLITE_OPEN_READONLY if self._reading else apsw.SQLITE_OPEN_READWRITE
            connection = file.connect(self.path, wanted, self._timeout)
            version = file.version_of(connection)
            if version != file.VERSION:
                connection.close()
                raise faults.other_version(self.path, version, file.VERSION)
            if connection.readonly("main"):
                self._refusal = faults.read_only(self.path)
            self._connection, self._file = connection, file.identity(self.path)
        return connection

    def uses(self, found: tuple[int, int]) -> bool:
        """Whether this file is open here."""
        return self._connection is not None and self._file == found

    def _drop(self) -> None:
        connection, self._connection, self._refusal = self._connection, None, None
        self.__del__()
        if connection is not None:
            connection.close()
