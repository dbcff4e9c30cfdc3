"""The contract of a log: five operations, the same on every engine.

A log is one gap-free total order of events per workspace. Every implementation in `moot.logs` passes
`tests/logs/conformance.py`, and is finished when it does. A log knows nothing of views, rules or agents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from moot.core.event import Commit, Draft, Event, Key


class Appended(Record):
    """The commit is durable, at these positions."""

    first: int
    last: int


class Duplicate(Record):
    """The same commit id, or the same key with the same request, was appended before, at these positions."""

    first: int
    last: int


class Conflict(Record):
    """A stream moved since it was read. Nothing was written; read again and decide again."""

    stream: str
    version: int


class Mismatch(Record):
    """The key was used before for another request. Nothing was written."""

    key: str
    first: int


class Gone(Exception):
    """The events asked for were archived; `floor` is the first position that can be read."""

    def __init__(self, floor: int) -> None:
        super().__init__(f"events before {floor} are archived")
        self.floor = floor


class Log(ABC):
    """See the module. All methods may raise `moot.core.errors.Unavailable`."""

    @abstractmethod
    def append(
        self,
        commit: Commit,
        conditions: Mapping[str, int],
        events: Sequence[Draft],
        key: Key | None = None,
        as_of: int | None = None,
    ) -> Appended | Duplicate | Conflict | Mismatch:
        """Append all `events` as one commit if every stream in `conditions` still has the given version.

        The positions of a commit are consecutive, its events numbered from 0. Without events nothing is checked or
        written; the answer only says whether the commit or the key is known: `Duplicate`, `Mismatch`, or
        `Appended(0, 0)` if neither is. After an error, the same commit id may be tried again.

        `as_of` is where the log ended when the conditions were read: one that still ends there has moved in no stream.

        What is appended is durable when this returns, or inside of `exclusive` when that ends. Whoever builds on it
        before comes after it in the log, so that it cannot be durable alone.
        """

    @abstractmethod
    def read(self, after: int = 0, limit: int = 500, stream: str | None = None) -> list[Event]:
        """Up to `limit` events past `after`, in order, of one stream or of all. Raises `Gone`."""

    @abstractmethod
    def head(self) -> int:
        """The position of the last event, 0 for an empty log."""

    @abstractmethod
    def follow(self, after: int, timeout: float | None = None) -> Iterator[list[Event]]:
        """Whole commits past `after`, as they come, in lists of at least one event.

        Ends when `timeout` seconds passed since the start; never ends without one. Never shows half a commit.
        """

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[None]:
        """Keep other writers out for a moment, where the engine can; elsewhere conflicts do the work.

        Not re-entrant. `append` and `read` may be used inside.
        """

    @property
    def whole(self) -> Log:
        """The log up to its real end, for one that shows only a part of another."""
        return self

    @abstractmethod
    def close(self) -> None:
        """Give back what is open."""
