"""The file of the views: opening it, and replacing it by a new one. `Store` knows its content.

Its name has the version of the views, so two versions of moot can work in one workspace. Everything in it follows from
the log. So it need not be durable, it can be deleted at any time, and in case of doubt a new one is made.

SQLite keeps a `-wal` and a `-shm` file next to a database and finds them by name. A new database must never meet those
of an old one. So the name of the old database is removed first, then the two files, then a complete new database is
renamed in; a connection that was opened meanwhile is not used. Who has the old files open keeps them, unlinked, and
notices it before the next command.
"""

from __future__ import annotations

import errno
import fcntl
import os
from array import array

import apsw

from moot.core.errors import Unavailable
from moot.place.private_files import (
    EXHAUSTED,
    discard,
    hardly_any_left,
    is_exhausted,
    is_private,
    open_private,
    too_many_open_files,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMA = os.path.join(os.path.dirname(__file__), "schema.sql")
# The errors of SQLite for a file that is not a valid database.
DAMAGE = (apsw.CorruptError, apsw.NotADBError)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_GROWN = (apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_SHMSIZE)  # shared memory; SQLite does not keep the errno
_TRIES = 10
_LARGEST_IDLE_WAL = 16 << 20
_BESIDE = ("-wal", "-shm", "-journal")  # the files that SQLite keeps next to a database
_CODE_IN_SCHEMA = (
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA,
)
_YES = array("i", [1])  # SQLite wants the address of a number


class ViewsFile:
    """The open file of the views of one workspace."""

    failures = (apsw.Error, OSError, Unavailable)
    wait_ms = 30_000  # for another process that writes to the file
    version: int

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.path = os.path.join(directory, f"views-{self.version}.db")
        self._db: apsw.Connection | None = None
        self._opened_file: object = None  # identifies the open file
        self._using = False  # whether a transaction is open

    @property
    def db(self) -> apsw.Connection:
        if self._db is None:
            self._db = self._open()
        return self._db

    def _open(self) -> apsw.Connection:
        try:
            for _ in range(_TRIES):
                file = self._file()
                if file is not None and all(is_private(self.path + beside, missing=True) for beside in ("", *_BESIDE)):
                    db = self._connected(file)
                    if db is not None:
                        self._opened_file = file
                        return db
                if self._file() == file:
                    self._replace(file)
        except (apsw.Error, OSError) as error:
            raise unavailable(self.directory, error) from error
        raise Unavailable("views_unusable", f"{self.path} is being replaced again and again.", "Try again.")

    def _connected(self, file: object) -> apsw.Connection | None:
        """A connection to this file; None if it is damaged, of another version, or was replaced meanwhile."""
        try:
            db = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READWRITE)
        except apsw.CantOpenError:
            if self._file() == file:
                raise
            return None
        try:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # its -wal may be that of another file
            db.set_busy_timeout(self.wait_ms)
            _set_up(db)
            if self._is_ours(db) and self._file() == file:
                db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
                return db
        except DAMAGE:
            pass
        except apsw.Error as error:
            reason = db.system_errno
            db.close()
            raise unavailable(self.directory, error, reason) from error
        db.close()
        return None

    def _is_ours(self, db: apsw.Connection) -> bool:
        return bool(next(iter(db.execute("PRAGMA user_version")))[0] == self.version)

    def _file(self) -> object:
        """Identifies the file with the name of the views; None if there is none."""
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def exchanged(self) -> bool:
        """Whether another process has replaced the open file."""
        return self._db is not None and self._opened_file != self._file()

    def renew(self, *, alone: bool = False) -> apsw.Connection:
        """Start over with an empty file. Processes that have the old one open notice it before their next command.

        `alone`: also remove the files of other versions.
        """
        self.close()
        try:
            self._replace(self._file())
            for path, _ in others(self.directory, self.version) if alone else ():
                if not discard(path) and os.path.lexists(path):
                    os.unlink(path)  # raises
        except (apsw.Error, OSError) as error:
            raise unavailable(self.directory, error) from error
        return self.db

    def _replace(self, old: object) -> None:
        """Put an empty file in the place of this one, unless another process was faster."""
        folder = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        draft = f"{self.path}.{os.urandom(6).hex()}"
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            if self._file() == old:
                self._create(draft)
                for beside in ("", *_BESIDE):
                    if os.path.lexists(self.path + beside):
                        os.unlink(self.path + beside)
                os.rename(draft, self.path)
        finally:
            for beside in ("", *_BESIDE):
                discard(draft + beside)  # to free space on a full disk
            os.close(folder)

    def _create(self, path: str) -> None:
        os.close(open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o664))
        db = apsw.Connection(path)
        try:
            # Rows are rarely deleted, and fewer pages change without vacuum. The WAL comes last: nothing is in it.
            for step in (
                "PRAGMA auto_vacuum = NONE",
                "PRAGMA journal_mode = OFF",
                self.script(),
                "PRAGMA journal_mode = WAL",
            ):
                db.execute(step).fetchall()
        except apsw.Error as error:
            raise unavailable(self.directory, error, db.system_errno) from error
        finally:
            db.close()

    def script(self) -> str:
        """The SQL that creates empty views."""
        with open(_SCHEMA, encoding="utf-8") as file:
            return f"BEGIN; {file.read()}; PRAGMA user_version = {self.version}; COMMIT"

    def close(self) -> None:
        """Close the file."""
        db, self._db = self._db, None
        if db is not None:
            try:
                db.close()
            except apsw.ThreadingViolationError:
                self._db = db
                raise


def others(directory: str, version: int) -> Iterator[tuple[str, float]]:
    """The files of the views of other versions, each with the time when one of its group was last written."""
    groups: dict[str, list[tuple[str, float]]] = {}
    for item in os.scandir(directory):
        number, dot, end = item.name.removeprefix("views-").partition(".")
        ours = item.name.startswith("views-") and number.isdigit() and dot and end in ("db", "db-wal", "db-shm")
        if ours and number != str(version) and item.is_file(follow_symlinks=False):
            groups.setdefault(number, []).append((item.path, item.stat(follow_symlinks=False).st_mtime))
    for files in groups.values():
        newest = max(at for _, at in files)
        yield from ((path, newest) for path, _ in files)


def _set_up(db: apsw.Connection) -> None:
    # The last connection empties the -wal file but does not delete it, because a read-only user cannot create one.
    db.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, _YES.buffer_info()[0])
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # otherwise SQLite replans queries for every new value
    distrust(db)
    # Checkpoint rarely (every 16 MB): the commit that triggers one, and the writers behind it, wait for the disk.
    settings = ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = -8000", "wal_autocheckpoint = 4000")
    for setting in (*settings, f"journal_size_limit = {_LARGEST_IDLE_WAL}"):
        db.execute(f"PRAGMA {setting}").fetchall()  # one by one: unfetched rows would block the rest


def distrust(db: apsw.Connection) -> None:
    """Run no code from the schema of the file. The schemas of moot have no triggers and no views."""
    for setting in _CODE_IN_SCHEMA:
        db.config(setting, 0)


def unavailable(path: str, error: Exception, reason: int | None = None) -> Unavailable:
    """The error for a file that cannot be used. `reason` is the errno, if SQLite knows it."""
    if isinstance(error, OSError):
        reason = error.errno
    elif not isinstance(error, (apsw.IOError, apsw.CantOpenError)):
        reason = None  # left from an earlier error
    elif reason in EXHAUSTED or hardly_any_left():
        return too_many_open_files()
    if is_exhausted(error):
        return too_many_open_files()
    if isinstance(error, apsw.FullError) or reason in _NO_ROOM or getattr(error, "extendedresult", 0) in _NOT_GROWN:
        return Unavailable(
            "disk_full",
            f"No space is left for the views in {path}.",
            "Free some space (or raise the quota) and try again. Acknowledged writes are safe in the log.",
            path=path,
        )
    return Unavailable(
        "views_unusable",
        f"The views cannot be used: {error}.",
        f"Check the disk and the permissions of {path}. Acknowledged writes are safe in the log.",
    )
