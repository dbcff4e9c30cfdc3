"""The contract of a log: five operations, the same on every engine. An engine that can do so also offers an `Archive`.

A log is one gap-free total order of events per workspace. Every implementation passes `tests/logs/conformance.py`, and
is finished when it does; `moot.testing.memory_log` is the smallest. A log knows nothing of views, rules or agents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from moot.core.errors import Unavailable, Usage
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from moot.core.event import Commit, Draft, Event, Key

    Progress = Callable[[int, int], None]  # so much is done, of so much in all
    BlobPieces = tuple[str, Iterable[bytes]]  # the SHA-256 of a blob, and its bytes piece by piece

REDACTIONS = "redactions"  # the stream of the tombstones; what they name is shown without its text
_TOMBSTONE = "event:redacted"
_PAGE = 500


class Appended(Record):
    """The commit is durable, at these positions. `digests` are of its events; they follow from what was appended."""

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
    """A stream moved since it was read. Nothing was written; read again and decide again."""

    stream: str
    version: int


class Mismatch(Record):
    """The key was used before for another request. Nothing was written."""

    key: str
    first: int


class Archived(Exception):
    """The events asked for were archived; `floor` is the first position that can be read."""

    def __init__(self, floor: int) -> None:
        super().__init__(f"events before {floor} are archived")
        self.floor = floor


def not_json(stream: str, what: str) -> Usage:
    """The error for data that is not JSON."""
    sentence = f"An event for {stream} holds what JSON cannot say: {what}."
    return Usage("not_json", sentence, "Use text, numbers, true, false, null, lists and objects.", stream=stream)


def not_text(commit: str, text: str) -> Usage:
    """The error for a name that UTF-8 cannot encode."""
    sentence = f"The commit {commit!a} contains a name that is not valid Unicode: {text!a}."
    return Usage("not_text", sentence, "Only the data of an event may hold half a surrogate pair.")


class Handle:
    """How a caller uses its handle on a log, and what the handle found. An engine without such things ignores it.

    kept: the caller does not want the log upgraded, so an append to an `outdated` log is refused.
    outdated: the log has the format of an older version of moot. It can be read; the first append upgrades it.
    upgraded: the versions before and after, if this handle upgraded the log. The caller that reports it resets it.
    damage: why an event cannot be read. For this handle the log ends before that event.
    patience: seconds to wait for another writer; None leaves it to the engine.
    """

    kept = False
    upgraded: tuple[int, int] | None = None
    damage: Unavailable | None = None
    patience: float | None = None

    @property
    def outdated(self) -> bool:
        return False


class Log(ABC):
    """See the module. Every operation may raise `moot.core.errors.Unavailable`.

    A log can be replaced while a handle is open on it, by `moot restore`. Readers then continue on the new one, and an
    append whose conditions were read from the old one is answered with `Conflict`.
    """

    handle: Handle

    @abstractmethod
    def append(
        self, commit: Commit, conditions: Mapping[str, int], events: Sequence[Draft], key: Key | None = None
    ) -> Appended | Duplicate | Conflict | Mismatch:
        """Append all `events` as one commit if every stream in `conditions` still has the given version.

        The positions of a commit are consecutive, its events numbered from 0. Without events nothing is checked or
        written; the answer only says whether the commit or the key is known: `Duplicate`, `Mismatch`, or
        `Appended(0, 0)` if neither is. After an error, the same commit id may be tried again.

        What is appended is durable when this returns, or inside of `exclusive` when that ends. A commit that builds on
        it earlier comes after it in the log, so it cannot be durable alone.
        """

    @abstractmethod
    def read(self, after: int = 0, limit: int = 500, stream: str | None = None) -> list[Event]:
        """Up to `limit` events past `after`, in order, of one stream or of all. Raises `Gone`."""

    @abstractmethod
    def head(self) -> int:
        """The position of the last event, 0 for an empty log."""

    @abstractmethod
    def follow(self, after: int, timeout: float | None = None, stop: int | None = None) -> Iterator[list[Event]]:
        """Whole commits past `after`, as they come, in lists of at least one event.

        Ends when `timeout` seconds passed since the start; never ends without one. Never shows half a commit.
        It also ends, at once, when the file descriptor `stop` can be read or its other end was closed: this is how one
        thread ends what another one waits for.
        """

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[object]:
        """Keep other writers out for a moment, where the engine can; elsewhere conflicts do the work.

        Not re-entrant. The other operations may be used inside.
        """

    @abstractmethod
    def close(self) -> None:
        """Release what is open."""

    @property
    def archive(self) -> Archive:
        """The log as a whole, where the engine can copy it or erase from it."""
        raise Unavailable(
            "no_archive",
            "This kind of log cannot be carried by moot.",
            "Use the tools of the server that keeps it.",
        )


class Archive(ABC):
    """A log as a whole: what it takes to carry it somewhere else, or to make something in it unreadable."""

    @abstractmethod
    def identity(self) -> str:
        """The id that the log was given when it was made; it goes with the events wherever they go."""

    @abstractmethod
    def extend(self, head: int, commits: Sequence[tuple[Commit, Sequence[Draft]]], identity: str) -> bool:
        """Append whole commits in one durable step if the log still ends at `head`; False if it does not.

        No stream needs a condition then: nothing can have moved. An empty log takes on the `identity`.
        """

    @abstractmethod
    def audit(self, upto: int, progress: Progress) -> Iterator[str]:
        """Whether it is what was appended, up to this position: what is not, as sentences. Texts may have been erased.

        Not part of that is whether its end was cut off, or all of it replaced: for this there is `tip`.
        """

    @abstractmethod
    def tip(self, at: int | None = None) -> tuple[int, str]:
        """Where the last commit ends, or the one at `at`, and its hash; 0 and "" if there is none, or it has none."""

    @abstractmethod
    def has(self, position: int, mark: str) -> bool:
        """Whether a commit ends there that has this hash."""

    @abstractmethod
    def carried(self) -> list[dict[str, Any]]:
        """What was brought into it from elsewhere, the oldest first: imports and restores. They are no events."""

    @abstractmethod
    def note_carried(self, what: dict[str, Any]) -> None:
        """Add to this list, which keeps the last hundred."""

    @abstractmethod
    def backup(self, path: str, progress: Progress, blobs: Iterable[BlobPieces] = ()) -> int:
        """Write a copy of the log, as it is at one moment, to a new file while others go on. Returns its head.

        Then the `blobs` are asked for, and put into the same file: what the copy names was durable before.
        """

    @abstractmethod
    def erase(self, rows: Mapping[int, dict[str, Any]]) -> None:
        """Put other data in place of what stands at these positions, and let no byte of it stay in any file.

        Only what a tombstone of `REDACTIONS` names can be changed, and only to what carries its digest.
        """


class Shown(Log):
    """A log as it may be seen: what a tombstone names comes without its text, however it is read."""

    def __init__(self, log: Log) -> None:
        self.raw = log
        self.handle = log.handle
        # These show nothing, and are on the way of every command.
        self.append, self.head, self.exclusive = log.append, log.head, log.exclusive  # type: ignore[method-assign]
        self._last: tuple[int, str] = (0, "")  # the last known tombstone: its position and commit
        self._named: dict[int, dict[str, Any]] = {}  # the data of tombstones, by the position that they name

    def append(
        self, commit: Commit, conditions: Mapping[str, int], events: Sequence[Draft], key: Key | None = None
    ) -> Appended | Duplicate | Conflict | Mismatch:
        return self.raw.append(commit, conditions, events, key)

    def read(self, after: int = 0, limit: int = _PAGE, stream: str | None = None) -> list[Event]:
        return self._without_text(self.raw.read(after, limit, stream))

    def head(self) -> int:
        return self.raw.head()

    def follow(self, after: int, timeout: float | None = None, stop: int | None = None) -> Iterator[list[Event]]:
        for events in self.raw.follow(after, timeout, stop):
            yield self._without_text(events)

    def exclusive(self) -> AbstractContextManager[object]:
        return self.raw.exclusive()

    def close(self) -> None:
        self.raw.close()

    @property
    def archive(self) -> Archive:
        return self.raw.archive

    def tombstones(self) -> dict[int, dict[str, Any]]:
        """What the tombstones say, by the position that they name: together, and `each` of them as it stands there."""
        last = self._last[0]
        new = self.raw.read(max(last - 1, 0), _PAGE, REDACTIONS)
        if last:
            if not new or (new[0].position, new[0].commit) != self._last:  # another log was put in its place
                self._last, self._named = (0, ""), {}
                return self.tombstones()
            del new[0]
        while new:
            from moot.core.integrity.redaction import is_well_formed

            for event in new:
                if event.type != _TOMBSTONE or not is_well_formed(event.data):
                    continue  # nothing of ours says that
                said, position = event.data, event.data["position"]
                before = self._named.get(position, {"fields": [], "removed": [], "digest": said["digest"], "each": []})
                more = {name: [*before[name], *said.get(name, ())] for name in ("fields", "removed")}
                more["digest"] = before["digest"]
                self._named[position] = {**said, **more, "each": [*before["each"], said]}
            self._last = new[-1].position, new[-1].commit
            new = self.raw.read(new[-1].position, _PAGE, REDACTIONS)
        return self._named

    def last_tombstone(self) -> int:
        """The position of the last tombstone, 0 if there is none."""
        self.tombstones()
        return self._last[0]

    def _without_text(self, events: list[Event]) -> list[Event]:
        named = self.tombstones() if events else {}
        if not named:
            return events
        from moot.core.integrity.redaction import shown

        return [shown(event, named[event.position]) if event.position in named else event for event in events]
