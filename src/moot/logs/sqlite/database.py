"""The connection of a handle: opened on demand, closed before a fork, its errors translated into errors of moot.

It does not know commits or conditions.
"""

from __future__ import annotations

import os
from _thread import RLock

import apsw

from moot.fork_safety import Watched, watch
from moot.logs.sqlite import faults, file, platform_checks
from moot.private_files import open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from moot.core.errors import MootError, Unavailable
    from moot.log import Progress

_FORK_PATIENCE = 5.0
_OFTEN = 20  # appends

_stranded: list[apsw.Connection] = []  # inherited open from the parent: even closing them would be wrong


class Database(Watched):
    """Used as `with database.busy, database as connection`, by one thread at a time.

    `busy` keeps a fork in another thread waiting. A transaction that is open when an error leaves the block is rolled
    back. After an interrupt the connection is closed, and the next use opens a new one.
    """

    _wal: int | None = None  # a descriptor of the -wal file, used only by `flush`

    def __init__(self, directory: str, timeout: float, *, reading: bool = False) -> None:
        self.path = os.path.join(directory, file.NAME)
        self._directory = directory
        self._reading = reading
        self._timeout = timeout
        self._connection: apsw.Connection | None = None
        self._flushes = 0
        self._early: Callable[[int], object] | None = None
        self._refusal: Unavailable | None = None
        self._file: tuple[int, int] | None = None  # device and inode of the open file
        self.version = 0  # of the file, when it was last read
        self._closed = False
        self.busy = RLock()
        self._at_rest = False
        watch(self)
        file.USES.add(self)

    def __enter__(self) -> apsw.Connection:
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
                        said = self.superseded(connection) or faults.damaged(self.path, str(error))
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
            with self.busy:
                self._wal = os.open(f"{self.path}-wal", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            pass  # SQLite creates it at the first write
        except OSError as error:
            raise faults.of_system(error, self.path) from error

    @property
    def writable(self) -> bool:
        return self._refusal is None

    @property
    def outdated(self) -> bool:
        """Whether the file has an older version. A read-only handle does not upgrade it."""
        return self.version < file.VERSION

    def bring_up_to_date(self, progress: Progress) -> tuple[int, int] | None:
        """Migrate the file. The caller holds the writer lock and is about to write. Returns both versions, if it did.

        A transaction that is open has written nothing. No other process writes before the next one begins.
        """
        with self.busy, self as connection:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            before = file.version_of(connection)
            try:
                file.migrate(connection, progress=progress)
            except apsw.ConstraintError as error:
                raise faults.damaged(self.path, "two events of a stream have the same predecessor") from error
            except UnicodeDecodeError as error:
                raise faults.damaged(self.path, "a text in it is not valid UTF-8") from error
            self.version = file.version_of(connection)
        return (before, self.version) if before < self.version else None

    def notice_upgrade(self) -> None:
        """Read the version again: another process may have migrated the file. Raises if that was a newer program."""
        with self.busy, self as connection:
            error = self.superseded(connection)
            if error is not None:
                raise error

    def superseded(self, connection: apsw.Connection) -> Unavailable | None:
        """Read the version of the file. Returns the error to raise if a newer program has upgraded it."""
        version = file.version_of(connection)
        if version > file.VERSION >= self.version:
            return faults.superseded(self.path, version, file.VERSION)
        self.version = version
        return None

    def roll_back(self) -> None:
        """Roll back a transaction that was begun and not used."""
        if self._connection is not None and self._connection.in_transaction:
            with self.busy, self as connection:
                connection.execute("ROLLBACK")

    def give_up(self) -> None:
        """Close the connection, with any open transaction. The next use opens a new one."""
        with self.busy:
            self._drop()

    def flush_early(self) -> None:
        """Let the disk start writing, in a process that has appended so often that loading `ctypes` pays off."""
        if self._flushes < _OFTEN:
            return
        if self._early is None:
            self._early = file.early_flush()
        with self.busy:  # otherwise a fork in another thread could close the descriptor
            if self._wal is not None:
                self._early(self._wal)

    def flush(self) -> None:
        """Wait until every committed transaction is on disk."""
        try:
            with self.busy:
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
        with self.busy:
            self._drop()
        return True

    def close(self) -> None:
        """Close it for good."""
        with self.busy:
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
        if _stranded:
            raise faults.forked(self.path)
        platform_checks.check_sqlite()
        file.check_safe(self.path)
        with file.USES.gate:
            file.recognise(self.path)
            platform_checks.check_file_system(self._directory, keep=not self._reading)
            self._connect()
        assert self._connection is not None
        return self._connection

    def _connect(self) -> None:
        wanted = apsw.SQLITE_OPEN_READONLY if self._reading else apsw.SQLITE_OPEN_READWRITE
        connection = file.connect(self.path, wanted, self._timeout)
        version = file.version_of(connection)
        if not version:
            connection.close()
            raise faults.damaged(self.path, "it has no version")
        if version > file.VERSION:
            connection.close()
            connection = file.connect(self.path, apsw.SQLITE_OPEN_READONLY, self._timeout)
            self._refusal = faults.newer(self.path, version, file.VERSION)
        elif connection.readonly("main"):
            self._refusal = faults.read_only(self.path)
        self._connection, self._file, self.version = connection, file.identity(self.path), version

    def uses(self, found: tuple[int, int]) -> bool:
        """Whether this file is open here."""
        return self._connection is not None and self._file == found

    def _drop(self) -> None:
        connection, self._connection, self._refusal = self._connection, None, None
        wal, self._wal = self._wal, None
        if wal is not None:
            os.close(wal)
        if connection is not None:
            connection.close()

    def before_fork(self) -> None:
        """Close the connection as soon as no thread uses it."""
        self._at_rest = self.busy.acquire(timeout=_FORK_PATIENCE)
        if self._at_rest:
            self._drop()

    def after_fork_in_parent(self) -> None:
        """The connection is opened again on demand."""
        if self._at_rest:
            self._at_rest = False
            self.busy.release()

    def after_fork_in_child(self) -> None:
        """The same. If a connection could not be closed, SQLite cannot be used in this process."""
        if self._at_rest:
            self._at_rest = False
            self.busy.release()
            return
        self.busy = RLock()
        if self._connection is not None:
            _stranded.append(self._connection)
            self._connection = None
