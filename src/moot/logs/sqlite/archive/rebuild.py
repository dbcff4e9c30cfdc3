"""Rebuilds a log from the rows of a file, in a fresh schema and with its own hash chain.

Every commit is checked as an import does: it follows the previous one, it is contiguous, its data is JSON, and it can
be folded. The new log has no name until `restore.py` gives it one; SQLite keeps it in a temporary file that disappears
when it is closed.

A file of version 4 or later has a hash chain. If its content does not match the chain, it was changed, and is refused:
otherwise the changed content would count as sound from then on.
"""

from __future__ import annotations

import apsw

from moot.core import timestamps
from moot.core.event import TOMBSTONE, Commit, Draft, Event
from moot.core.integrity.chain import digest_of
from moot.core.json_codec import loads
from moot.log import REDACTIONS
from moot.logs.sqlite import faults, file, queries, transaction
from moot.logs.sqlite.archive.untrusted_log import UntrustedLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from moot.core.errors import Unavailable
    from moot.log import Progress

    Fold = Callable[[Sequence[Event]], str | None]

_BATCH = 2000  # events that are written at once
_HEAVY = 8 << 20  # bytes of their data that are written at once
_LARGEST_COMMIT = 256 << 20  # bytes of its data
_DEEPEST = 110  # levels of data; a command takes a hundred
_HEX = frozenset("0123456789abcdef")
_IDENTITY = 32  # hexadecimal digits
_LONGEST = {"type": 200, "stream": 100_000, "by": 300, "commit": 100, "at": 40}
_FIELDS = ("position", "type", "v", "stream", "prev", "at", "by", "data", "cause", "thread", "pack", "commit", "n")
_LARGEST = 1 << 53
_LONGEST_VIA = 2000
_DATA = 7  # the column with the data
_ABOUT = ("workspace", "carried")  # the entries of `meta` that are kept


class Rebuilt:
    """The new log, in a temporary file. `fold` returns what is wrong with the events of a commit, or None."""

    def __init__(self, path: str, fold: Fold, progress: Progress) -> None:
        self.head = 0
        self._sql = queries.named("untrusted_log.sql")
        self._fold, self._progress = fold, progress
        self._ready: list[tuple[Commit, list[Draft]]] = []
        self._texts: list[list[str]] = []
        self._marks: list[tuple[str, bytes | None]] = []  # of these commits: id and hash in the file
        self._events: list[Event] = []  # of these commits
        self._weight = self._commits = 0
        self._changed: set[int] = set()  # positions whose data does not match its digest; a tombstone must name each
        self._left: dict[int, object] = {}  # by position, the digest of what the last redaction left of an event
        self.connection = _empty()
        self._source = UntrustedLog(path)
        try:
            self._take()
        finally:
            self._source.close()

    def close(self) -> None:
        self.connection.close()

    def _take(self) -> None:
        count, last = self._source.extent()
        for rows in self._groups():
            self._commit(rows)
            if len(self._events) >= _BATCH or self._weight >= _HEAVY:
                self._store()
                self._progress(self.head, max(self.head, last))
        self._store()
        if (self._commits, self.head) != (count, last):
            raise faults.damaged(
                self._source.path,
                f"expected {count} commits up to position {last}, got {self._commits} up to {self.head}",
            )
        self._check_redacted()
        self._carry()

    def _groups(self) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of each commit."""
        rows: list[tuple[Any, ...]] = []
        weight = 0
        for row in self._source.events():
            if rows and row[11] != rows[0][11]:
                yield rows
                rows, weight = [], 0
            rows.append(row)
            weight += len(row[_DATA])
            if weight > _LARGEST_COMMIT:
                raise self._source.damaged(row[0], "its commit is larger than any command can make")
        if rows:
            yield rows

    def _commit(self, rows: list[tuple[Any, ...]]) -> None:
        events = [self._event(row) for row in rows]
        first = events[0]
        position = first.position
        if [event.n for event in events] != [*range(len(events))]:
            raise self._source.damaged(position, "its commit does not start with it, or is out of order")
        if any((event.at, event.by) != (first.at, first.by) for event in events):
            raise self._source.damaged(position, "its commit has more than one time or author")
        span = self._source.span(first.commit)
        if span is None or (span.first, span.last) != (position, events[-1].position):
            raise self._source.damaged(position, "the table of commits does not have its commit")
        if span.via is not None and not (0 < len(span.via) <= _LONGEST_VIA and span.via.isprintable()):
            raise self._source.damaged(position, "its `via` is not a single line of text")
        for event in events:
            if event.stream == REDACTIONS and event.type == TOMBSTONE:
                self._left[event.data.get("position", 0)] = event.data.get("rest")
        problem = self._fold(events)
        if problem is not None:
            raise self._source.damaged(position, f"moot did not write it ({problem})")
        commit = Commit(id=first.commit, at=first.at, by=first.by, via=span.via)
        self._ready.append((commit, [_draft(event) for event in events]))
        self._texts.append([row[_DATA] for row in rows])
        self._marks.append((first.commit, span.hash))
        self._events += events
        self._weight += sum(len(row[_DATA]) for row in rows)

    def _event(self, row: tuple[Any, ...]) -> Event:
        """The event in a row, after its checks."""
        position, text, digest = row[0], row[_DATA], row[13]
        try:
            data = loads(text)
            encoded = text.encode()
        except (ValueError, RecursionError) as error:
            raise self._source.damaged(position, f"its data is not JSON ({error})") from None
        if not isinstance(data, dict) or not _plain(data, _DEEPEST):
            raise self._source.damaged(position, "its data is not a JSON object, too deep, or has an infinite number")
        event = Event.made({**dict(zip(_FIELDS, row, strict=False)), "data": data, "via": None, "digest": None})
        fields = event.__dict__
        if any(not 0 < len(fields[name]) <= longest for name, longest in _LONGEST.items()):
            raise self._source.damaged(position, "one of its texts is empty or too long")
        if timestamps.parse(event.at) is None or not 1 <= event.v < _LARGEST or not 0 <= event.prev < position:
            raise self._source.damaged(position, "its time or one of its numbers is none")
        if digest is not None and digest != digest_of(encoded):
            self._changed.add(position)
        return event if digest is None else event.replace(digest=digest.hex())

    def _check_redacted(self) -> None:
        """Check that each redacted event has the data that the last redaction left; no other may differ."""
        for position, left in sorted(self._left.items()):
            row = self.connection.execute(queries.SQL["read_all"], (position - 1, 1)).fetchone()
            if row is None or digest_of(row[_DATA].encode()).hex() != left:
                raise self._source.damaged(position, "it is not what its redaction left")
        changed = self._changed.difference(self._left)
        if changed:
            raise self._source.damaged(min(changed), "its data is not the original data")

    def _store(self) -> None:
        """Write the pending commits, and compare the result with the file."""
        if not self._ready:
            return
        connection = self.connection
        try:
            with connection:
                transaction.write_all(connection, self.head, self._ready, self._texts)
        except apsw.ConstraintError as error:
            raise self._source.damaged(self.head + 1, f"two events or commits are identical ({error})") from error
        except UnicodeEncodeError as error:
            raise self._source.damaged(self.head + 1, "one of its texts is not valid Unicode") from error
        rows = connection.execute(self._sql["prevs"], (self.head,))
        for event, (prev,) in zip(self._events, rows, strict=True):
            if event.prev != prev:
                raise self._source.damaged(event.position, f"expected it to follow position {prev} in its stream")
        if self._source.chained:
            for (name, mark), (commit, _) in zip(self._marks, self._ready, strict=True):
                if connection.execute(self._sql["hash"], (name,)).get != mark:
                    raise self._broken(commit.id)
        self.head += len(self._events)
        self._commits += len(self._ready)
        self._ready, self._texts, self._marks, self._events, self._weight = [], [], [], [], 0

    def _broken(self, commit: str) -> Unavailable:
        position = next(event.position for event in self._events if event.commit == commit)
        return self._source.damaged(position, "the hash chain is broken there: events were changed, moved or removed")

    def _carry(self) -> None:
        """Copy the rest: the keys of requests, and the entries of `meta`."""
        connection, path = self.connection, self._source.path
        try:
            with connection:
                for row in self._source.requests():
                    connection.execute(queries.SQL["add_request"], row)
                if connection.execute(queries.SQL["requests_astray"]).fetchone() is not None:
                    raise faults.damaged(path, "a request does not name exactly one commit")
                for key, value in self._source.meta():
                    if key in _ABOUT:
                        connection.execute(queries.SQL["put_meta"], (key, value))
        except apsw.ConstraintError as error:
            raise faults.damaged(path, "a request occurs twice") from error
        identity = str(connection.execute(queries.SQL["get_meta"], ("workspace",)).get)
        if len(identity) != _IDENTITY or not _HEX.issuperset(identity):
            raise faults.damaged(path, "it does not name its workspace")


def _empty() -> apsw.Connection:
    connection = apsw.Connection("")
    connection.pragma("auto_vacuum", "none")
    connection.pragma("application_id", file.APPLICATION_ID)
    connection.pragma("journal_mode", "off")  # an incomplete one is never used
    connection.pragma("synchronous", "off")
    file.migrate(connection)
    return connection


def _draft(event: Event) -> Draft:
    return Draft(
        stream=event.stream,
        type=event.type,
        data=event.data,
        v=event.v,
        cause=event.cause,
        thread=event.thread,
        pack=event.pack,
        digest=event.digest,
    )


def _plain(value: Any, left: int) -> bool:
    """Whether it can be written as JSON, and is not nested too deep."""
    if isinstance(value, float):
        return value - value == 0.0  # else it is infinite
    if isinstance(value, (dict, list)):
        inner = value.values() if isinstance(value, dict) else value
        return left > 0 and all(_plain(part, left - 1) for part in inner if isinstance(part, (dict, list, float)))
    return True
