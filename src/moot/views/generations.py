"""One file among its generations: which one is in use, opening it, starting over with a new one.

A small pointer names the file in use and is replaced in one step. Each version of the views has a pointer and files of
its own, so that two versions of moot can work in one workspace. The files hold nothing that the log does not, so their
durability is relaxed and any doubt ends in a new one. What is in them is `Store`'s.
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

# What SQLite says about a file that is no database any more.
DAMAGE = (apsw.CorruptError, apsw.NotADBError)
_FORK_PATIENCE = 5.0
_GLANCE = 0.001
_LARGEST_IDLE_WAL = 16 << 20
_LONGEST_NAME = 100
_BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps with a file
_LIVELY = (
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA,
)
_YES = array("i", [1])  # SQLite wants the address of a number

_stranded: list[apsw.Connection] = []  # inherited open from the parent: even closing them would be wrong


class Generations(Watched):
    """The open file of one kind in one workspace. A forked child may go on using it."""

    failures = (apsw.Error, OSError, Unavailable)
    wait_ms = 30_000  # for another who writes to the file
    kind: str
    version: int
    schema: str

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.path = ""
        self._db: apsw.Connection | None = None
        self.pointer = os.path.join(directory, f"{self.kind}-{self.version}")
        self._pointed: object = None  # the pointer that led to the open file
        self._user = 0  # the thread that has a transaction open, 0: none
        self._gate = RLock()  # nobody opens the file while the process forks
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
        """Close it, once another thread has ended its transaction. Either side opens it again when it needs it."""
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
            return False  # another thread reads just now
        return True

    def after_fork_in_parent(self) -> None:
        """Whoever needs it opens it again."""
        if self._at_rest:
            self._at_rest = False
            self._gate.release()

    def after_fork_in_child(self) -> None:
        """The same. What could not be closed belongs to the parent, and so does the thread that has it."""
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
                    pass  # a new one takes its place
            return self.renew()
        except (apsw.Error, OSError) as error:
            raise unavailable(self.directory, error) from error

    def _create(self, path: str) -> apsw.Connection:
        os.close(open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o664))
        db = apsw.Connection(path)
        db.execute("PRAGMA auto_vacuum = NONE").fetchall()  # rows come and stay; without it fewer pages change
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
        """What makes an empty file of this kind."""
        with open(os.path.join(_HERE, self.schema), encoding="utf-8") as file:
            schema = file.read()
        return f"BEGIN; {schema}; PRAGMA user_version = {self.version}; COMMIT"

    def _sound(self, db: apsw.Connection) -> bool:
        return bool(next(iter(db.execute("PRAGMA user_version")))[0] == self.version)

    def _current(self) -> str:
        """The file that is in use, "" if there is none that may be used: whatever else lies there was not put by us."""
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
        """Whether the open file is no longer the one that counts."""
        return self._db is not None and self._pointed != self._pointer()

    def renew(self, *, alone: bool = False) -> apsw.Connection:
        """Start over with an empty file. Others who have the old one open notice before their next command.

        The old ones are kept for a while; `alone`: they go at once, with all that is in them, and those of other
        versions as well, whoever uses them.
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
        """Make an empty file and point to it: a pointer is replaced in one step, a file and its journal are not."""
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
        except FileNotFoundError:  # one who is `alone` took it for an old one
            if tries == 1:
                raise
            return self._exchange(tries - 1)
        return name

    def _sweep(self, keep: str, *, alone: bool) -> None:
        from moot.views import leftovers

        if alone:
            leftovers.remove_all(self.directory, self.kind, (os.path.basename(self.pointer), keep))
        else:
            leftovers.sweep(self.directory, self.kind, self.version, keep)

    def close(self) -> None:
        """Let go of the file."""
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
    # Whoever closes last empties the -wal file and lets it stay: who may only read, or only looks, can make none.
    db.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, _YES.buffer_info()[0])
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # else SQLite plans most queries anew for every value bound to them
    distrust(db)
    # Rarely written back: whoever's commit it falls into waits for the disk, and lets its followers wait (16 MB).
    settings = ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = -8000", "wal_autocheckpoint = 4000")
    for setting in (*settings, f"journal_size_limit = {_LARGEST_IDLE_WAL}"):
        db.execute(f"PRAGMA {setting}").fetchall()  # one by one: a row that is not fetched holds up the rest


def distrust(db: apsw.Connection) -> None:
    """Whatever the schema of the file says, nothing in it runs: ours has neither triggers nor views."""
    for setting in _LIVELY:
        db.config(setting, 0)


def unavailable(path: str, error: Exception, reason: int | None = None) -> Unavailable:
    """What to raise when the file cannot be used."""
    from moot.views import errors

    return errors.unavailable(path, error, reason)
