"""The file behind the views: opening, transactions, the cursor, and what to do when the file is not usable.

The views hold nothing that the log does not, so their durability is relaxed and any doubt ends in a new file.
"""

from __future__ import annotations

import os
from array import array

import apsw

from moot.core.compact import loads, storable
from moot.core.errors import Unavailable
from moot.forks import watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeVar

    from moot.core.record import Record

    State = TypeVar("State", bound=Record)

VERSION = 12  # raise it with every change of schema.sql or of what is folded into it
_HERE = os.path.dirname(__file__)

# What SQLite says about a file or a disk in trouble. Anything else is a mistake of ours, and is seen as it is.
DAMAGE = (apsw.CorruptError, apsw.NotADBError)
_TROUBLE = (
    *DAMAGE,
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.FullError,
    apsw.IOError,
    apsw.LockedError,
    apsw.NoMemError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
)
_WAIT_MS = 30_000
_REMEMBERED = 1000  # states
_DAY = 86_400
_LARGEST_IDLE_WAL = 16 << 20
_YES = array("i", [1])  # SQLite wants the address of a number


def named_queries(name: str) -> dict[str, str]:
    """The statements of a file beside this one, each begun by `-- name:`."""
    with open(os.path.join(_HERE, name), encoding="utf-8") as file:
        parts = file.read().split("-- name: ")[1:]
    return {name.strip(): sql.strip() for name, _, sql in (part.partition("\n") for part in parts)}


SQL = named_queries("queries.sql")


class Store:
    """The open views of one workspace, for one thread at a time. A forked child may go on using it."""

    failures = (apsw.Error, OSError, Unavailable)
    kind, version, schema, sql = "views", VERSION, "schema.sql", SQL  # another kind of file says others

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.path = ""
        self._db: apsw.Connection | None = None
        self._pointer_path = os.path.join(directory, self.kind)
        self._pointed: tuple[int, int] | None = None  # the pointer that led to the open file
        self._standing: tuple[int, str, str | None] | None = None  # known while a transaction is open
        self.pinned = False
        self.decoded: dict[str, tuple[int, Any]] = {}  # states by stream, with the version that they are of
        watch(self)

    @property
    def db(self) -> apsw.Connection:
        if self._db is None:
            self._db = self._open()
        return self._db

    def before_fork(self) -> None:
        self.close()  # either side opens it again when it needs it

    def after_fork_in_parent(self) -> None:
        """Nothing: see before."""

    def after_fork_in_child(self) -> None:
        """Nothing: see before."""

    def _open(self) -> apsw.Connection:
        try:
            self._pointed = self._pointer()
            self.path = self._current()
            if self.path:
                try:
                    db = _connect(self.path)
                    if self._sound(db):
                        return db
                except DAMAGE:
                    pass  # a new one takes its place
            return self.renew()
        except (apsw.Error, OSError) as error:
            raise _unavailable(self.directory, error) from error

    def _create(self, path: str) -> apsw.Connection:
        db = apsw.Connection(path)
        db.execute("PRAGMA auto_vacuum = NONE").fetchall()  # rows come and stay; without it fewer pages change
        db.close()
        db = _connect(path)
        try:
            db.execute(self.script())
        except apsw.Error as error:
            reason = db.system_errno
            db.close()
            raise _unavailable(self.directory, error, reason) from error
        return db

    def script(self) -> str:
        """What makes an empty file of this kind."""
        with open(os.path.join(_HERE, self.schema), encoding="utf-8") as file:
            schema = file.read()
        return f"BEGIN; {schema}; PRAGMA user_version = {self.version}; COMMIT"

    def _sound(self, db: apsw.Connection) -> bool:
        return bool(next(iter(db.execute("PRAGMA user_version")))[0] == self.version)

    def _current(self) -> str:
        try:
            with open(self._pointer_path, encoding="ascii") as pointer:
                name = pointer.read().strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return ""
        path = os.path.join(self.directory, name)
        ours = name.startswith(f"{self.kind}-") and os.path.basename(name) == name
        return path if ours and os.path.isfile(path) else ""

    def _pointer(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._pointer_path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def exchanged(self) -> bool:
        """Whether the open file is no longer the one that counts."""
        return self._db is not None and self._pointed != self._pointer()

    def renew(self, *, alone: bool = False) -> apsw.Connection:
        """Start over with an empty file. Others who have the old one open notice before their next command.

        The old ones are kept for a day; `alone`: they go at once, with all that is in them.
        """
        try:
            name = self._exchange()
        except self.failures as error:
            from moot.views.trouble import leave_nothing

            self.close()
            leave_nothing(self.path)
            raise error if isinstance(error, Unavailable) else _unavailable(self.directory, error) from error
        self._pointed = self._pointer()
        self._sweep(keep=name, age=0 if alone else _DAY)
        return self.db

    def _exchange(self, tries: int = 2) -> str:
        """Make an empty file and point to it: a pointer is replaced in one step, a file and its journal are not."""
        self.close()
        name = f"{self.kind}-{self.version}-{os.urandom(6).hex()}.db"
        self.path = os.path.join(self.directory, name)
        self._db = self._create(self.path)
        with open(f"{self.path}.pointer", "w", encoding="ascii") as pointer:
            pointer.write(name)
        try:
            os.rename(f"{self.path}.pointer", self._pointer_path)
            os.stat(self.path)
        except FileNotFoundError:  # one who is `alone` took it for an old one
            if tries == 1:
                raise
            return self._exchange(tries - 1)
        return name

    def _sweep(self, keep: str, age: float) -> None:
        """Remove generations that nobody has used for so long."""
        for item in os.scandir(self.directory):
            old = item.name.startswith(f"{self.kind}-") and not item.name.startswith(keep)
            try:
                if old and (not age or os.stat(self.directory).st_mtime - item.stat().st_mtime > age):
                    os.unlink(item.path)
            except OSError:  # another was faster, or it stays, which must not pass for gone
                if not age and os.path.exists(item.path):
                    raise

    def rows(self, query: str, *bindings: Any) -> Iterator[tuple[Any, ...]]:
        return self._steps(self.sql[query], bindings)

    def row(self, query: str, *bindings: Any) -> tuple[Any, ...] | None:
        try:
            return self.db.execute(self.sql[query], bindings).fetchone()
        except _TROUBLE as error:
            raise self._given_up(error) from error

    def all_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Everything in one of the tables of schema.sql."""
        return self._steps(self.sql["everything"].format(table=table), ())

    def _steps(self, sql: str, bindings: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self.db.execute(sql, bindings)
        except _TROUBLE as error:
            raise self._given_up(error) from error

    def run(self, query: str, *bindings: Any) -> None:
        try:
            self.db.execute(self.sql[query], bindings)
        except _TROUBLE as error:
            raise self._given_up(error) from error

    def run_many(self, query: str, bindings: Iterable[tuple[Any, ...]]) -> None:
        try:
            self.db.executemany(self.sql[query], bindings)
        except _TROUBLE as error:
            raise self._given_up(error) from error

    def state(self, stream: str, kind: type[State]) -> tuple[State, int] | None:
        """The state of a stream and its version. One that has not moved since it was last asked for is not decoded."""
        row = self.row("entity", stream)
        if row is None:
            return None
        version, text = row
        known = self.decoded.get(stream)
        if known is not None and known[0] == version:
            return known[1], version
        state = kind.of(loads(text))
        if len(self.decoded) >= _REMEMBERED:
            self.decoded.clear()
        self.decoded[stream] = version, state
        return state, version

    def put(self, stream: str, version: int, state: Record) -> None:
        """Replace the state of an entity, in the transaction that folds the events in."""
        self.run("put_entity", stream, version, storable(state.plain()))

    def _given_up(self, error: apsw.Error) -> Unavailable:
        """The error to raise. A file that turns out to be damaged is left behind: the next use starts a new one."""
        if not isinstance(error, DAMAGE):
            return _unavailable(self.directory, error, self._db.system_errno if self._db else None)
        self.close()
        try:
            if self._current() == self.path:
                os.unlink(self._pointer_path)
        except OSError as problem:
            return _unavailable(self.directory, problem)
        return Unavailable(
            "views_damaged",
            f"The views are damaged: {error}.",
            "Do it again: they are made anew from the log, which has everything.",
            path=self.path,
        )

    def cursor(self) -> int:
        """The position up to which the log is folded in."""
        return self.standing()[0]

    def standing(self) -> tuple[int, str, str | None]:
        """The cursor; the commit that stands there, by which views of another log are told; the first unknown event."""
        if self._standing is not None:
            return self._standing
        mark, newer = self.row("standing") or (None, None)
        position, _, commit = str(mark or "0").partition(" ")
        found = int(position), commit, newer
        if self._db is not None and self._db.in_transaction:
            self._standing = found  # nobody else can move it now
        return found

    def move(self, position: int, commit: str) -> None:
        """Move the cursor, in the transaction that folds the events in."""
        self._standing = None
        self.run("set_meta", "cursor", f"{position} {commit}")

    def pin(self) -> None:
        """From here to `unpin`, everything that is read is of one moment."""
        self._standing = None
        try:
            self.db.execute("BEGIN")
        except apsw.Error as error:
            raise self._given_up(error) from error
        self.standing()  # SQLite begins with the first look
        self.pinned = True

    def unpin(self) -> None:
        self.pinned = False
        self.rollback()

    def begin(self) -> None:
        self._standing = None
        try:
            self.db.execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            raise self._given_up(error) from error

    def commit(self) -> None:
        self._standing = None
        try:
            self.db.execute("COMMIT")
        except apsw.Error as error:
            self.rollback()
            raise self._given_up(error) from error

    def rollback(self) -> None:
        self._standing = None
        if self._db is not None and self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
            self.decoded.clear()


def _connect(path: str) -> apsw.Connection:
    db = apsw.Connection(path)
    try:
        _set_up(db)
    except apsw.Error as error:
        reason = db.system_errno
        db.close()
        if isinstance(error, DAMAGE):
            raise
        raise _unavailable(os.path.dirname(path), error, reason) from error
    return db


def _set_up(db: apsw.Connection) -> None:
    db.set_busy_timeout(_WAIT_MS)
    # Whoever closes last empties the -wal file and lets it stay: who may only read, or only looks, can make none.
    db.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, _YES.buffer_info()[0])
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # else SQLite plans most queries anew for every value bound to them
    # Rarely written back: whoever's commit it falls into waits for the disk, and lets its followers wait (16 MB).
    settings = ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = -8000", "wal_autocheckpoint = 4000")
    for setting in (*settings, f"journal_size_limit = {_LARGEST_IDLE_WAL}"):
        db.execute(f"PRAGMA {setting}").fetchall()  # one by one: a row that is not fetched holds up the rest


def _unavailable(path: str, error: Exception, reason: int | None = None) -> Unavailable:
    from moot.views.trouble import unavailable

    return unavailable(path, error, reason)
