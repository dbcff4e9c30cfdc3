"""`SqliteLog`: the contract of `moot.log` on one SQLite file.

An append is one transaction under the writer lock (`lock.py`), and is done when it is on disk. Then the bell wakes
followers. Readers see a snapshot; they do not wait for writers, and writers do not wait for them.

The end of the log and the versions of streams are cached while no other process writes. SQLite counts the changes that
a connection sees: the cache is valid as long as that count equals the one after our own last commit.
"""

from __future__ import annotations

import os
import time
from weakref import ref

import apsw

from moot.core.errors import Unavailable
from moot.log import Appended, Conflict, Duplicate, Handle, Log, not_text
from moot.logs.sqlite import bell, faults, file, queries, transaction
from moot.logs.sqlite.database import Database
from moot.logs.sqlite.lock import NoLock, WriterLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from moot.core.event import Commit, Draft, Event, Key
    from moot.log import Archive, Mismatch

_PAGE = 500
_POLL = 1.0  # seconds: the maximum delay of a follower that missed the bell
_REMEMBERED = 1000  # versions of streams
_UNREADABLE = (ValueError, RecursionError, Unavailable)  # invalid UTF-8 or JSON, a wrong type, or an error of SQLite


class SqliteLog(Log):
    """A handle on the log in `directory`, for one thread at a time, in the process that opened it."""

    def __init__(
        self,
        directory: str,
        *,
        bell_directory: str | None = None,
        exclusive: bool = True,
        lock_timeout: float = 30.0,
        reading: bool = False,
    ) -> None:
        """With `reading`, the file is opened read-only: not even a checkpoint is made."""
        self.directory = os.path.abspath(directory)
        self.database = Database(self.directory, lock_timeout, reading=reading)
        self.handle = Handle()
        with self.database:
            pass  # any error is raised now
        self.bell = bell_directory or bell.directory_for(self.directory)
        self.lock = WriterLock(os.path.join(self.directory, file.LOCK), lock_timeout) if exclusive else NoLock()
        self.block: Callable[[], ExclusiveBlock | None] = _no_block  # a weak reference to the one that is entered
        # After our last append: the number of changes that SQLite has seen, the end of the log, and the hash there.
        self._known: tuple[apsw.Connection | None, int, int, bytes] = (None, 0, 0, b"")
        self._versions: dict[str, int] = {}  # of streams, valid as long as `_known` is
        self._seen = (0, "")  # a commit that was read or appended here; a log without it is another log
        self._replaced = False  # the log was replaced since the last append
        self._looked = 0  # the number of changes when damage was last checked

    @classmethod
    def create(cls, directory: str, *, lock_timeout: float = 30.0) -> bool:
        """Create an empty log. True if it was created, False if it already existed."""
        return file.create(os.path.abspath(directory), lock_timeout)

    @property
    def workspace(self) -> str:
        """The id that the log got when it was created."""
        return self.archive.identity()

    @property
    def archive(self) -> Archive:
        """See `Log.archive`."""
        from moot.logs.sqlite.archive import SqliteArchive

        return SqliteArchive(self.database, self)

    def append(
        self,
        commit: Commit,
        conditions: Mapping[str, int],
        events: Sequence[Draft],
        key: Key | None = None,
        rows: Sequence[tuple[str, int]] = (),
    ) -> Appended | Duplicate | Conflict | Mismatch:
        """See `Log.append`. Positions of a commit are consecutive; its events are numbered from 0.

        `rows`: new data for positions, see `Archive.redact`.
        """
        block = self.block()
        if not events:
            with self.database as connection:
                known = transaction.known(connection, commit, key)
            if key is not None and isinstance(known, Duplicate):
                self._make_sure(block)
            return known or Appended(0, 0)
        data = [
            transaction.data_of(draft) for draft in events
        ]  # before taking the lock, so that other writers do not wait
        self.check_writable()
        try:
            if block is not None:
                return self._append(block, commit, conditions, events, data, key, rows)
            with ExclusiveBlock(self) as block:
                self._replaced |= block.another_file  # the conditions were read from the file before
                return self._append(block, commit, conditions, events, data, key, rows)
        except UnicodeEncodeError as error:
            raise not_text(commit.id, error.object) from error

    def check_writable(self) -> None:
        """Raise the reason why nothing may be appended, if there is one."""
        self.database.check_writable()
        if self.handle.damage is not None:
            self.head()  # it may have been repaired
            if self.handle.damage is not None:
                raise self.handle.damage

    def _make_sure(self, block: ExclusiveBlock | None) -> None:
        """Flush a commit of another process before it is reported: that process may have died before its flush."""
        if block is not None:
            block.relied = True  # flushed when the lock is released
        else:
            self.database.flush()

    def _append(
        self,
        block: ExclusiveBlock,
        commit: Commit,
        conditions: Mapping[str, int],
        events: Sequence[Draft],
        data: list[str],
        key: Key | None,
        rows: Sequence[tuple[str, int]],
    ) -> Appended | Duplicate | Conflict | Mismatch:
        if self.database.notice_another_file():
            self._replaced = True
        with self.database as connection:
            execute = connection.execute
            early = connection.in_transaction  # begun by `head`
            if not early:
                execute("BEGIN IMMEDIATE")
            head, previous = self._end(connection)
            refusal = self._refusal(connection, commit, conditions, events, key)
            if refusal is not None:
                execute("ROLLBACK")
                if isinstance(refusal, Duplicate):
                    block.relied = True  # see `_make_sure`
                return refusal
            try:
                last, mark, digests = transaction.write(
                    connection, head, previous, commit, conditions, events, data, key
                )
                if rows:
                    connection.executemany(queries.SQL["erase"], rows)
            except apsw.ConstraintError:  # the commit is known, or a stream that should be new is not
                execute("ROLLBACK")
                refusal = transaction.known(connection, commit, key) or transaction.moved(connection, conditions)
                if refusal is None:
                    raise
                block.relied = isinstance(refusal, Duplicate) or block.relied
                return refusal
            execute("COMMIT")
            self._looked = connection.data_version()
            self._known, self._seen = (connection, self._looked, last, mark), (last, commit.id)
            self._remember({event.stream: head + 1 + n for n, event in enumerate(events)})
        block.written = True
        if early:  # the views are written now: the disk can work meanwhile
            self.database.flush_early()
        return Appended.made({"first": head + 1, "last": last, "digests": digests})

    def _refusal(
        self,
        connection: apsw.Connection,
        commit: Commit,
        conditions: Mapping[str, int],
        events: Sequence[Draft],
        key: Key | None,
    ) -> Duplicate | Mismatch | Conflict | None:
        """Why it cannot be appended. The tables refuse a known commit and a second first event of a stream."""
        refusal: Duplicate | Mismatch | Conflict | None = None
        if key is not None:
            refusal = transaction.known(connection, commit, key)
        replaced, self._replaced = self._replaced, False
        if refusal is None and conditions and replaced:
            refusal = Conflict(next(iter(conditions)), 0)
        if refusal is None:
            written, known = {event.stream for event in events}, self._versions
            asked = {
                stream: version
                for stream, version in conditions.items()
                if known.get(stream) != version and (version or stream not in written)
            }
            if asked and transaction.moved(connection, asked):
                refusal = transaction.moved(
                    connection, conditions
                )  # names the first stream that moved, as every log does
            elif asked:
                self._remember(asked)
        if isinstance(refusal, Conflict):
            refusal = transaction.known(connection, commit, key) or refusal
        return refusal

    def _remember(self, versions: Mapping[str, int]) -> None:
        if len(self._versions) > _REMEMBERED:
            self._versions.clear()
        self._versions.update(versions)

    def _end(self, connection: apsw.Connection) -> tuple[int, bytes]:
        """The end of the log and the hash of its last commit, inside a transaction that may write."""
        known, changes, head, mark = self._known
        now = connection.data_version()
        if known is connection and changes == now:
            return head, mark
        position, commit = self._seen
        if position and connection.execute(queries.SQL["last_commit"], (position,)).get != commit:
            self._replaced, self._seen = True, (0, "")
        head = int(connection.execute(queries.SQL["head"]).get)
        mark = connection.execute(queries.SQL["hash_at"], (head,)).get or b""
        self._versions.clear()
        self._known = connection, now, head, mark
        return head, mark

    def read(self, after: int = 0, limit: int = _PAGE, stream: str | None = None) -> list[Event]:
        """See `Log.read`."""
        self.database.notice_another_file()
        try:
            events = self._read(after, limit, stream)
        except _UNREADABLE:
            events, damage = self._before_damage(after, limit, stream)
            if damage is not None and damage.details["position"] == 1:
                raise damage from None  # nothing of it can be read
            self.handle.damage = damage or self.handle.damage
        damage = self.handle.damage
        if damage is not None:
            events = [event for event in events if event.position < damage.details["position"]]
        if events and events[-1].position > self._seen[0]:
            self._seen = events[-1].position, events[-1].commit
        return events

    def _read(self, after: int, limit: int, stream: str | None) -> list[Event]:
        with self.database as connection:
            if stream is None:
                rows = connection.execute(queries.SQL["read_all"], (after, max(limit, 0))).fetchall()
            else:
                rows = connection.execute(queries.SQL["read_stream"], (after, stream, max(limit, 0))).fetchall()
        return [transaction.event_of(row) for row in rows]

    def _before_damage(self, after: int, limit: int, stream: str | None) -> tuple[list[Event], Unavailable | None]:
        """The events before a row that cannot be read, read one by one, and the error of that one."""
        found: list[Event] = []
        while len(found) < limit:
            try:
                page = self._read(after, 1, stream)
            except _UNREADABLE as error:
                if isinstance(error, Unavailable) and error.code != "damaged_log":
                    raise
                what = error.message if isinstance(error, Unavailable) else str(error)
                position = after + 1 if stream is None else self._next(after, stream)
                return found, faults.undecodable(self.database.path, position, f"it cannot be read ({what})")
            if not page:
                break
            found += page
            after = page[-1].position
        return found, None

    def _next(self, after: int, stream: str) -> int:
        """The position of the next event of a stream."""
        try:
            with self.database as connection:
                return int(connection.execute(queries.SQL["next"], (stream, after)).get)
        except (apsw.Error, Unavailable, TypeError):
            return after + 1  # it cannot be found out

    def head(self) -> int:
        """See `Log.head`."""
        block = self.block()
        if block is None:
            self.database.notice_another_file()
        with self.database as connection:
            if block is not None and self.lock.keeps_others_out and self.database.writable:
                if not connection.in_transaction:
                    connection.execute("BEGIN IMMEDIATE")  # the append that follows goes on with it
                head, _ = self._end(connection)
                now = self._known[1]
            else:
                head = int(connection.execute(queries.SQL["head"]).get)
                now = connection.data_version()
            if now != self._looked:  # another process has written: it may have repaired the log
                self._looked, self.handle.damage = now, None
        damage = self.handle.damage
        return head if damage is None else min(head, damage.details["position"] - 1)

    def follow(self, after: int, timeout: float | None = None, stop: int | None = None) -> Iterator[list[Event]]:
        """See `Log.follow`. Events that are in the log when the time is over are still yielded."""
        end = None if timeout is None else time.monotonic() + timeout
        until: int | None = None
        listener: bell.Listener | None = None
        try:
            while until is None or after < until:
                events = self._whole_commits(after)
                if events:
                    after = events[-1].position
                    yield events
                elif until is None and listener is None:
                    listener = bell.Listener(self.bell)  # then read again: it may have been rung just before
                    continue
                left = _POLL if end is None else end - time.monotonic()
                if left <= 0 and until is None:
                    until = self.head()
                elif not events and listener is not None:
                    listener.wait(min(left, _POLL), stop)
                if stop is not None and bell.readable(0.0, stop):
                    return
        finally:
            if listener is not None:
                listener.close()

    def _whole_commits(self, after: int) -> list[Event]:
        """A page, and the rest of its last commit."""
        events = self.read(after, _PAGE)
        if len(events) == _PAGE:
            with self.database as connection:
                _, last = connection.execute(queries.SQL["commit"], (events[-1].commit,)).get
            events += self.read(events[-1].position, last - events[-1].position)
        return events

    def exclusive(self) -> ExclusiveBlock:
        """See `Log.exclusive`."""
        return ExclusiveBlock(self)

    def close(self) -> None:
        """See `Log.close`."""
        self.database.close()
        self.lock.close()


def _no_block() -> None:
    """In place of a weak reference: no block is entered."""


class ExclusiveBlock:
    """The body of one `exclusive()`: only this handle writes.

    If it has written, it flushes to disk and rings the bell, both after the lock was released. So other processes write
    while one waits for the disk, and one flush covers what all of them wrote.

    If an interrupt comes before the first step of `__exit__`, `__del__` ends the block.
    """

    _begun = False

    def __init__(self, log: SqliteLog) -> None:
        self.written = False
        self.another_file = False  # the log was replaced since the handle last used it
        self.relied = False  # the result depends on a commit of another process, so flush as well
        self._log = log

    def __enter__(self) -> Self:
        log = self._log
        if log.block() is not None:
            raise faults.nested(log.directory)
        self._begun = True
        log.lock.acquire(log.handle.patience)
        log.block = ref(self)
        self.another_file = log.database.notice_another_file()
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        log = self._log
        try:
            if kind is None or issubclass(kind, Exception):
                log.database.roll_back()
            else:  # interrupted
                log.database.give_up()
        finally:
            log.lock.release()
            log.block = _no_block
        self._begun = False  # if one of these steps was interrupted, `__del__` repeats them
        if self.written or self.relied:
            log.database.flush()
            if self.written:
                bell.ring(log.bell)

    def __del__(self) -> None:
        if self._begun and self._log.block() in (None, self):  # else the handle is in another block by now
            self.__exit__(KeyboardInterrupt)
