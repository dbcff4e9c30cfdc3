"""Manages the files of the views: which one is in use, opening it, replacing it by a new one (a generation).

A small pointer file names the file in use and is replaced atomically. Each version of the views has its own pointer and
files, so two versions of moot can work in one workspace. The log has everything that is in these files. So they need
not be durable, and in case of doubt a new one is made. `Store` knows their content.
"""

from __future__ import annotations

import os
import time
from _thread import RLock, get_ident
from array import array

import apsw

from moot.core.errors import Unavailable
from moot.fork_safety import Watched, watch
from moot.private_files import is_private, open_private, read_private

_HERE = os.path.dirname(__file__)

# The errors of SQLite for a file that is not a valid database.
DAMAGE = (apsw.CorruptError, apsw.NotADBError)
_FORK_PATIENCE = 5.0
_GLANCE = 0.001
_LARGEST_IDLE_WAL = 16 << 20
_LONGEST_NAME = 100
_BESIDE = ("-wal", "-shm", "-journal")  # the files that SQLite keeps next to a database
_CODE_IN_SCHEMA = (
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA,
)
_YES = array("i", [1])  # SQLite wants the address of a number

_stranded: list[apsw.Connection] = []  # inherited open from the parent: even closing them would be wrong


class Generations(Watched):
    """The open file of one kind (`views` or `search`) in one workspace. A forked child can keep using it."""

    failures = (apsw.Error, OSError, Unavailable)
    wait_ms = 30_000  # for another process that writes to the file
    kind: str
    version: int
    schema: str

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.path = ""
        self._db: apsw.Connection | None = None
        self.pointer = os.path.join(directory, f"{self.kind}-{self.version}")
        self._pointed: object = None  # identifies the pointer from which the file was opened
        self._user = 0  # the thread with an open transaction; 0: none
        self._gate = RLock()  # keeps other threads from opening the file during a fork
        self._at_rest = False
        watch(self, first=True)

    @property
    def db(self) -> apsw.Connection:
        return self._db or self._opened()

    def _opened(self) -> apsw.Connection:
        with self._gate:
            if self._db is None:
                self._db = self._open()
            return self._db

    def before_fork(self) -> None:
        """Close the file as soon as no thread has a transaction open. Parent and child open it again on demand."""
        self._at_rest = self._gate.acquire(timeout=_FORK_PATIENCE)
        end = time.monotonic() + _FORK_PATIENCE
        while self._at_rest and not self._let_go() and time.monotonic() < end:
            time.sleep(_GLANCE)

    def _let_go(self) -> bool:
        if self._user not in (0, get_ident()):
            return False
        try:
            self.close()
        except apsw.ThreadingViolationError:
            return False  # another thread is reading
        return True

    def after_fork_in_parent(self) -> None:
        """The file is opened again on demand."""
        if self._at_rest:
            self._at_rest = False
            self._gate.release()

    def after_fork_in_child(self) -> None:
        """The same. A connection that could not be closed is the parent's, and so is the thread that uses it."""
        self._gate, self._user = RLock(), 0
        if self._db is not None:
            _stranded.append(self._db)
            self._db = None
        self.close()

    def _open(self) -> apsw.Connection:
        try:
            self._pointed = self._pointer()
            self.path = self._current()
            if self.path:
                try:
                    db = _connect(self.path, self.wait_ms)
                    if self._sound(db):
                        return db
                except DAMAGE:
                    pass  # a new file replaces it
            return self.renew()
        except (apsw.Error, OSError) as error:
            raise unavailable(self.directory, error) from error

    def _create(self, path: str) -> apsw.Connection:
        os.close(open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o664))
        db = apsw.Connection(path)
        db.execute("PRAGMA auto_vacuum = NONE").fetchall()  # rows are rarely deleted, and fewer pages change without it
        db.close()
        db = _connect(path, self.wait_ms)
        try:
            db.execute(self.script())
        except apsw.Error as error:
            reason = db.system_errno
            db.close()
            raise unavailable(self.directory, error, reason) from error
        return db

    def script(self) -> str:
        """The SQL that creates an empty file of this kind."""
        with open(os.path.join(_HERE, self.schema), encoding="utf-8") as file:
            schema = file.read()
        return f"BEGIN; {schema}; PRAGMA user_version = {self.version}; COMMIT"

    def _sound(self, db: apsw.Connection) -> bool:
        return bool(next(iter(db.execute("PRAGMA user_version")))[0] == self.version)

    def _current(self) -> str:
        """The path of the file in use; "" if there is none, or if moot did not make the one that the pointer names."""
        try:
            name = read_private(self.pointer, _LONGEST_NAME).decode("ascii", "replace").strip()
        except (FileNotFoundError, Unavailable):
            return ""
        path = os.path.join(self.directory, name)
        ours = (
            name.startswith(f"{self.kind}-{self.version}-") and name.endswith(".db") and os.path.basename(name) == name
        )
        if not ours or not is_private(path):
            return ""
        return path if all(is_private(path + beside, missing=True) for beside in _BESIDE) else ""

    def _pointer(self) -> object:
        try:
            found = os.lstat(self.pointer)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def exchanged(self) -> bool:
        """Whether another process has replaced the open file."""
        return self._db is not None and self._pointed != self._pointer()

    def renew(self, *, alone: bool = False) -> apsw.Connection:
        """Start over with an empty file. Processes that have the old one open notice it before their next command.

        Old files are kept for a while. `alone`: remove them at once, also those of other versions and those in use.
        """
        try:
            with self._gate:
                name = self._exchange()
        except self.failures as error:
            from moot.views.errors import leave_nothing

            self.close()
            leave_nothing(self.path)
            if isinstance(error, Unavailable):
                raise
            raise unavailable(self.directory, error) from error
        self._pointed = self._pointer()
        self._sweep(keep=name, alone=alone)
        return self.db

    def _exchange(self, tries: int = 2) -> str:
        """Make an empty file and point to it. A pointer can be replaced atomically, a file with its journal cannot."""
        self.close()
        name = f"{self.kind}-{self.version}-{os.urandom(6).hex()}.db"
        self.path = os.path.join(self.directory, name)
        self._db = self._create(self.path)
        pointer = open_private(f"{self.path}.pointer", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o664)
        try:
            os.write(pointer, name.encode())
        finally:
            os.close(pointer)
        try:
            os.rename(f"{self.path}.pointer", self.pointer)
            os.stat(self.path)
        except FileNotFoundError:  # another process that renews with `alone` has removed it
            if tries == 1:
                raise
            return self._exchange(tries - 1)
        return name

    def _sweep(self, keep: str, *, alone: bool) -> None:
        from moot.views import unused_files

        if alone:
            unused_files.remove_all(self.directory, self.kind, (os.path.basename(self.pointer), keep))
        else:
            unused_files.sweep(self.directory, self.kind, self.version, keep)

    def close(self) -> None:
        """Close the file."""
        db, self._db = self._db, None
        if db is not None:
            try:
                db.close()
            except apsw.ThreadingViolationError:
                self._db = db
                raise


def _connect(path: str, wait_ms: int) -> apsw.Connection:
    db = apsw.Connection(path)
    try:
        db.set_busy_timeout(wait_ms)
        _set_up(db)
    except apsw.Error as error:
        reason = db.system_errno
        db.close()
        if isinstance(error, DAMAGE):
            raise
        raise unavailable(os.path.dirname(path), error, reason) from error
    return db


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
    """The error for a file that cannot be used."""
    from moot.views import errors

    return errors.unavailable(path, error, reason)
