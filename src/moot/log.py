"""The contract of a log: five operations, the same for every engine. An engine may also offer an `Archive`.

A log is one total order of events per workspace, without gaps. Every implementation must pass
`tests/logs/conformance.py`; `moot.testing.memory_log` is the smallest. A log does not know views, rules or agents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from os import getpid

from moot.core.errors import Unavailable, Usage
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from moot.core.event import Commit, Draft, Event, Key

    Progress = Callable[[int, int], None]  # done, total
    BlobPieces = tuple[str, Iterable[bytes]]  # the SHA-256 of a blob, and its bytes piece by piece

REDACTIONS = "redactions"  # the stream of tombstones
_PAGE = 500


class Appended(Record):
    """The commit was appended at these positions. `digests` are those of its events."""

    first: int
    last: int
    digests: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Appended) and (self.first, self.last) == (other.first, other.last)

    def __hash__(self) -> int:
        return hash((self.first, self.last))


class Duplicate(Record):
    """The same commit id, or the same key with the same request, was appended before, at these positions."""

    first: int
    last: int


class Conflict(Record):
    """A stream has changed since it was read. Nothing was written. Read again and decide again."""

    stream: str
    version: int


class Mismatch(Record):
    """The key was used before for a different request. Nothing was written."""

    key: str
    first: int


def not_json(stream: str, what: str) -> Usage:
    """The error for data that is not JSON."""
    sentence = f"An event for {stream} contains a value that JSON cannot represent: {what}."
    return Usage("not_json", sentence, "Use strings, numbers, true, false, null, lists and objects.", stream=stream)


def not_text(commit: str, text: str) -> Usage:
    """The error for a name that UTF-8 cannot encode."""
    sentence = f"The commit {commit!a} contains a name that is not valid Unicode: {text!a}."
    return Usage("not_text", sentence, "Use valid Unicode. Only the data of an event may contain lone surrogates.")


def check_process(process: int) -> None:
    """Refuse a handle that the process `process` opened, in a child that was forked from it.

    SQLite tracks its locks in memory, which a child inherits, while the locks themselves stay with the parent.
    """
    if getpid() != process:
        raise Unavailable(
            "forked",
            "This process was forked from the one that opened the workspace.",
            "Open the workspace again in this process: Workspace(path).",
        )


class Handle:
    """Options and findings of one open log. An engine that does not support them ignores them.

    damage: why an event cannot be read. For this handle the log ends before that event.
    patience: seconds to wait for another writer; None for the engine's default.
    """

    damage: Unavailable | None = None
    patience: float | None = None


class Log(ABC):
    """See the module. Every operation may raise `moot.core.errors.Unavailable`.

    `moot restore` can replace a log while it is open. Readers then continue on the new one. An append whose conditions
    were read from the old one returns `Conflict`.
    """

    handle: Handle

    @abstractmethod
    def append(
        self, commit: Commit, conditions: Mapping[str, int], events: Sequence[Draft], key: Key | None = None
    ) -> Appended | Duplicate | Conflict | Mismatch:
        """Append all `events` as one commit if every stream in `conditions` still has the given version.

        The positions of a commit are consecutive, and its events are numbered from 0. Without events, nothing is
        checked or written. The result only shows whether the commit or the key is known: `Duplicate`, `Mismatch`, or
        `Appended(0, 0)` if neither is. After an error, the same commit id may be tried again.

        The commit is durable when this returns; inside `exclusive`, when that ends. A commit that builds on it earlier
        comes later in the log, so it cannot become durable alone.
        """

    @abstractmethod
    def read(self, after: int = 0, limit: int = 500, stream: str | None = None) -> list[Event]:
        """Up to `limit` events past `after`, in order, of one stream or of all."""

    @abstractmethod
    def head(self) -> int:
        """The position of the last event, 0 for an empty log."""

    @abstractmethod
    def follow(self, after: int, timeout: float | None = None, stop: int | None = None) -> Iterator[list[Event]]:
        """Whole commits past `after` as they arrive, in lists of at least one event. Never yields part of a commit.

        Ends `timeout` seconds after the start, or never if there is no timeout. It also ends as soon as the file
        descriptor `stop` is readable or its other end is closed. So one thread can stop another that is waiting.
        """

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[object]:
        """Hold the writer lock, if the engine has one. Otherwise writers rely on conflicts.

        Not re-entrant. The other operations may be used inside.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the files and connections of the log."""

    @property
    def archive(self) -> Archive:
        """Operations on the whole log. Raises if the engine cannot copy or redact it."""
        raise Unavailable(
            "no_archive",
            "moot cannot back up, restore or redact this kind of log.",
            "Use the tools of the server that stores it.",
        )


class Archive(ABC):
    """Operations on a whole log: back it up, audit it, remove text from it."""

    @abstractmethod
    def identity(self) -> str:
        """The id that the log got when it was created. Backups and exports keep it."""

    @abstractmethod
    def audit(self, upto: int, progress: Progress) -> Iterator[str]:
        """Check the log up to this position against its hash chain, and yield each problem as a sentence.

        Redacted text is not a problem. A log that was truncated, or replaced by another one, fits in itself.
        """

    @abstractmethod
    def backup(self, path: str, progress: Progress, blobs: Iterable[BlobPieces] = ()) -> int:
        """Write a consistent copy of the log to a new file while others keep writing. Returns its head.

        The `blobs` are read after the log is copied, and added to the same file. So every blob that the copy references
        was durable before.
        """

    @abstractmethod
    def redact(
        self,
        commit: Commit,
        conditions: Mapping[str, int],
        events: Sequence[Draft],
        rows: Mapping[int, dict[str, Any]],
        key: Key | None = None,
    ) -> Appended | Duplicate | Conflict | Mismatch:
        """Append tombstones as `Log.append` does, and in the same durable step replace the data at these positions.

        Only events that a tombstone in `REDACTIONS` names can change, and only to data that carries its digest.
        """

    @abstractmethod
    def rewrite(self) -> None:
        """Leave no byte of replaced data in any file."""


def last_redaction(log: Log) -> int:
    """The position of the last tombstone, 0 if there is none."""
    last = 0
    while page := log.read(last, _PAGE, REDACTIONS):
        last = page[-1].position
    return last
