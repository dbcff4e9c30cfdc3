"""`SqliteLog`: the contract of `moot.log` on one SQLite file.

An append is one transaction behind the queue of writers (`lock.py`), and done when it is on the disk. Readers see a
snapshot, and neither wait for writers nor make them wait. Then the bell wakes those who follow.
"""

from __future__ import annotations

import os
import time

import apsw

from moot.core.errors import Unavailable
from moot.log import Appended, Conflict, Duplicate, Log
from moot.logs.sqlite import bell, faults, file, queries, transaction
from moot.logs.sqlite.database import Database
from moot.logs.sqlite.lock import NoLock, WriterLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeVar

    from moot.core.event import Commit, Draft, Event, Key
    from moot.log import Ahead, Archive, Mismatch

    T = TypeVar("T")

_PAGE = 500
CHAINED = 4  # the version from which on there is a chain
_POLL = 1.0  # seconds: how late a follower may be whom the bell did not reach


class SqliteLog(Log):
    """A handle on the log in `directory`, for one thread at a time. A forked child may go on using it."""

    def __init__(
        self,
        directory: str,
        *,
        bell_directory: str | None = None,
        exclusive: bool = True,
        lock_timeout: float = 30.0,
        reading: bool = False,
    ) -> None:
        """With `reading`, the file is opened so that nothing can be written: not even what is due is moved into it."""
        self.directory = os.path.abspath(directory)
        self._database = Database(self.directory, lock_timeout, reading=reading)
        with self._database:
            pass  # whatever is wrong with it is said now
        self._bell = bell_directory or bell.directory_for(self.directory)
        self._lock = WriterLock(os.path.join(self.directory, file.LOCK), lock_timeout) if exclusive else NoLock()
        self._turn = Turn(self._lock, self._bell, self._database)
        self._encode: Callable[[Draft], str] | None = None
        # After our last append: the number of changes that SQLite has seen, the end of the log, and the hash there.
        self._known: tuple[apsw.Connection | None, int, int, bytes] = (None, 0, 0, b"")

    @classmethod
    def create(cls, directory: str, *, lock_timeout: float = 30.0) -> bool:
        """Make an empty log. True if it was made now, False if it was there and was left as it is."""
        return file.create(os.path.abspath(directory), lock_timeout)

    @property
    def workspace(self) -> str:
        """The id that this log was given when it was made."""
        return self.archive.identity()

    @property
    def archive(self) -> Archive:
        """See `Log.archive`."""
        from moot.logs.sqlite.archive import SqliteArchive

        return SqliteArchive(self._database, self._turn, self)

    @property
    def patience(self) -> float | None:
        """See `Log.patience`."""
        return self._lock.patience

    @patience.setter
    def patience(self, seconds: float | None) -> None:
        self._lock.patience = seconds

    def append(
        self,
        commit: Commit,
        conditions: Mapping[str, int],
        events: Sequence[Draft],
        key: Key | None = None,
        as_of: int | None = None,
        ahead: Ahead | None = None,
    ) -> Appended | Duplicate | Conflict | Mismatch:
        """See `Log.append`. Positions of a commit are consecutive; its events are numbered from 0."""
        if not events:
            with self._database as connection:
                known = transaction.known(connection, commit, key)
            if key is not None and isinstance(known, Duplicate):
                self._make_sure()
            return known or Appended(0, 0)
        if self._encode is None:
            from moot.logs.sqlite.codec import data_of  # whoever only reads may do without

            self._encode = data_of
        data = [self._encode(draft) for draft in events]  # before the lock: nobody need wait for this
        self._database.check_writable()
        if self.damage is not None:
            raise self.damage
        try:
            if self._turn.taken:
                return self._append(commit, conditions, events, data, key, as_of, ahead)
            with Stay(self._turn, wait=False) as had:
                if had:
                    return self._append(commit, conditions, events, data, key, as_of, ahead)
            return self._turn.hold(lambda: self._append(commit, conditions, events, data, key, as_of, ahead))
        except UnicodeEncodeError as error:
            raise faults.not_text(commit.id, error.object) from error

    def _make_sure(self) -> None:
        """Whoever is told that it was done before relies on it: the one who did it may have died before its flush."""
        if self._turn.taken:
            self._turn.relied = True  # flushed when the turn ends
        else:
            self._database.flush()

    def _append(
        self,
        commit: Commit,
        conditions: Mapping[str, int],
        events: Sequence[Draft],
        data: list[str],
        key: Key | None,
        as_of: int | None,
        ahead: Ahead | None,
    ) -> Appended | Duplicate | Conflict | Mismatch:
        if self._database.notice_another_file() and as_of is not None:
            return Conflict(next(iter(conditions), ""), 0)  # what was read was of another log
        if self._database.outdated:
            self.upgrade()
        with self._database as connection:
            execute = connection.execute
            in_turn = connection.in_transaction  # begun by `head`
            if not in_turn:
                execute("BEGIN IMMEDIATE")
            head, previous = self._end(connection)
            refusal: Duplicate | Mismatch | Conflict | None = None
            if key is not None or head != as_of:
                refusal = transaction.known(connection, commit, key)
            if ahead is not None:
                commit = commit.replace(at=ahead.at())
                refusal = refusal or (
                    transaction.exchanged(connection, conditions, as_of, ahead.upon) if as_of else None
                )
            if refusal is None and head != as_of:
                refusal = transaction.moved(connection, conditions)
            if refusal is not None:
                execute("ROLLBACK")
                if isinstance(refusal, Duplicate):
                    self._turn.relied = True  # see `_make_sure`
                return refusal
            try:
                written = transaction.write(connection, head, previous, commit, conditions, events, data, key)
            except apsw.ConstraintError:  # a stream is not as it was said to be
                execute("ROLLBACK")
                refusal = transaction.moved(connection, conditions)
                if refusal is None:
                    raise
                return refusal
            execute("COMMIT")
            last, mark, digests = written
            self._known = connection, connection.data_version(), last, mark
        self._turn.written = True
        if in_turn:  # the views are written now: the disk can work meanwhile
            self._database.flush_early()
        return Appended.made({"first": head + 1, "last": last, "digests": digests})

    def upgrade(self) -> None:
        """Bring the file up to date, for one who has the turn and is about to write."""
        if self.kept:
            raise faults.older(self._database.path, self._database.version, file.VERSION)
        tell = self.progress
        done = self._database.bring_up_to_date(lambda n, of: tell("upgrading the log", n, of) if tell else None)
        self.upgraded = done or self.upgraded

    @property
    def outdated(self) -> bool:
        """See `Log.outdated`."""
        return self._database.outdated

    def _end(self, connection: apsw.Connection) -> tuple[int, bytes]:
        """Where the log ends and the hash of its last commit, inside a transaction that may write.

        Both are asked for only if another has written since we did.

        SQLite counts the changes that a connection sees, its own and those of others.
        """
        known, changes, head, mark = self._known
        if known is connection and changes == connection.data_version():
            return head, mark
        version = file.version_of(connection)
        if version > file.VERSION:  # migrated under us by a newer program
            raise faults.superseded(self._database.path, version, file.VERSION)
        head = int(connection.execute(queries.HEAD).get)
        return head, connection.execute(queries.HASH_AT, (head,)).get or b""

    def read(self, after: int = 0, limit: int = _PAGE, stream: str | None = None) -> list[Event]:
        """See `Log.read`."""
        try:
            events = self._read(after, limit, stream)
        except (ValueError, RecursionError, Unavailable):
            from moot.logs.sqlite.damage import before

            events, damage = before(self._read, self._database, after, limit, stream)
            if damage is not None and damage.details["position"] == 1:
                raise damage from None  # nothing of it can be read
            self.damage = damage or self.damage
        if self.damage is None:
            return events
        return [event for event in events if event.position < self.damage.details["position"]]

    def _read(self, after: int, limit: int, stream: str | None) -> list[Event]:
        with self._database as connection:
            chained = self._database.version >= CHAINED
            if stream is None:
                statement = queries.READ_ALL if chained else queries.READ_ALL_3
                rows = connection.execute(statement, (after, max(limit, 0))).fetchall()
            else:
                statement = queries.READ_STREAM if chained else queries.READ_STREAM_3
                rows = connection.execute(statement, (after, stream, max(limit, 0))).fetchall()
        if not rows:
            return []
        from moot.logs.sqlite.codec import event_of

        return [event_of(row) for row in rows]

    def head(self) -> int:
        """See `Log.head`."""
        with self._database as connection:
            if self._turn.alone and self._database.writable:
                if not connection.in_transaction:
                    connection.execute("BEGIN IMMEDIATE")  # which the append that follows will go on with
                known, changes, head, _ = self._known
                if known is connection and changes == connection.data_version():
                    return head
            head = int(connection.execute(queries.HEAD).get)
        return head if self.damage is None else min(head, self.damage.details["position"] - 1)

    def follow(self, after: int, timeout: float | None = None, stop: int | None = None) -> Iterator[list[Event]]:
        """See `Log.follow`. What is in the log when the time is over still comes."""
        end = None if timeout is None else time.monotonic() + timeout
        until: int | None = None
        listener: bell.Listener | None = None
        try:
            while until is None or after < until:
                self._database.notice_upgrade()
                events = self._whole_commits(after)
                if events:
                    after = events[-1].position
                    yield events
                elif until is None and listener is None:
                    listener = bell.Listener(self._bell)  # then look again: it may have been rung just before
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
        """A page, and the rest of the commit that it ends in."""
        events = self.read(after, _PAGE)
        if len(events) == _PAGE:
            with self._database as connection:
                _, last = connection.execute(queries.COMMIT, (events[-1].commit,)).get
            events += self.read(events[-1].position, last - events[-1].position)
        return events

    def refresh(self) -> None:
        """See `Log.refresh`."""
        self._database.notice_another_file()
        self._database.notice_upgrade()
        self.damage = None

    def exclusive(self, *, wait: bool = True) -> AbstractContextManager[bool]:
        """See `Log.exclusive`."""
        return Stay(self._turn, wait=wait)

    def close(self) -> None:
        """See `Log.close`."""
        self._database.close()
        self._lock.close()


class Turn:
    """The moment in which this handle alone may write.

    If it has, it waits for the disk before it goes on, and rings. Both after the lock was given back: while one
    waits for the disk others write, and what the disk takes at once it takes for all of them.
    """

    def __init__(self, lock: WriterLock | NoLock, bell_directory: str, database: Database) -> None:
        self.taken = False
        self.alone = False  # taken, and no other writer is about: a transaction may be kept open
        self.written = False
        self.relied = False  # somebody is told of what another wrote
        self.stay = 0  # who is inside: the id of a `Stay`
        self._lock = lock
        self._bell = bell_directory
        self._database = database

    def enter(self, stay: int, *, wait: bool) -> bool:
        """Begin it, for the `Stay` of this number; False if it is not waited for, and another has it."""
        if self.taken:
            raise faults.nested(self._database.path)
        self.stay, self.taken = stay, True
        try:
            if wait:
                self._lock.acquire()
                found = True
            else:
                found = self._lock.acquire_now()
            self.taken, self.alone = found, found and self._lock.keeps_others_out
        except BaseException:  # refused, or interrupted just when it came
            self._give_back()
            raise
        return found

    def leave(self) -> None:
        """End it."""
        try:
            self._database.roll_back()
        finally:
            self._give_back()
        self._make_durable()

    def hold(self, work: Callable[[], T]) -> T:
        """A turn for one append, as short as can be, for one who has to wait."""
        result = self._lock.hold(work)
        self._make_durable()
        return result

    def _give_back(self) -> None:
        try:
            self._lock.release()
        except BaseException:  # interrupted, maybe just before: nobody else would do it
            self._lock.release()
            raise
        finally:
            self.taken = self.alone = False

    def _make_durable(self) -> None:
        if self.written or self.relied:
            written, self.written, self.relied = self.written, False, False
            self._database.flush()
            if written:
                bell.ring(self._bell)


class Stay:
    """One `with` around a turn, which says whether the turn was had.

    If an interrupt comes just before the first step of `__exit__`, the turn ends with this object.
    """

    _id = 0

    def __init__(self, turn: Turn, *, wait: bool = True) -> None:
        self._turn = turn
        self._wait = wait
        self._id = id(self)

    def __enter__(self) -> bool:
        return self._turn.enter(self._id, wait=self._wait)

    def __exit__(self, *_: object) -> None:
        turn = self._turn
        if turn.taken and turn.stay == self._id:
            turn.leave()

    def __del__(self) -> None:
        if self._id:
            self.__exit__()
