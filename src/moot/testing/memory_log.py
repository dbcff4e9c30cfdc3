"""A log in memory: the contract of `moot.log` in its smallest form, for tests that need no files.

All handles that one `MemoryLogs` opens for the same directory share one log, in one process. Each thread uses its own
handle. Nothing is durable, and a forked child has a copy.
"""

from __future__ import annotations

import os
import select
import threading  # noqa: TID253 (only tests load this module)
import time
from bisect import bisect_right
from contextlib import contextmanager

from moot.core.errors import Unavailable, Usage
from moot.core.event import Event
from moot.core.integrity.chain import START, digest_of, hash_of
from moot.core.json_codec import loads, storable
from moot.log import REDACTIONS, Appended, Archive, Conflict, Duplicate, Handle, Log, Mismatch, not_json, not_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.core.event import Commit, Draft, Key
    from moot.core.integrity.chain import Link
    from moot.log import BlobPieces, Progress

_PAGE = 500
_PATIENCE = 30.0  # seconds to wait for another writer


class MemoryLogs:
    """The logs of one test, by directory. Call it as `SqliteLog` to open a handle on one of them."""

    def __init__(self) -> None:
        self._memories: dict[str, MemoryState] = {}

    def __call__(
        self,
        directory: str,
        *,
        exclusive: bool = True,
        reading: bool = False,
    ) -> MemoryLog:
        del reading  # it writes nothing
        memory = self._memories.setdefault(os.path.realpath(directory), MemoryState())
        return MemoryLog(memory, exclusive=exclusive)


@contextmanager
def in_memory() -> Iterator[MemoryLogs]:
    """While the context is active, workspaces that this process opens have their log in memory. Other files stay."""
    import moot.wiring as wiring  # noqa: PLR0402 (the package root is not imported inside moot)

    before, logs = wiring.open_log, MemoryLogs()
    wiring.open_log = logs
    try:
        yield logs
    finally:
        wiring.open_log = before


class MemoryState:
    """The content of one log, which its handles share."""

    def __init__(self) -> None:
        self.identity = os.urandom(16).hex()
        self.events: list[Event] = []  # without their data
        self.texts: list[str] = []  # their data, as JSON
        self.streams: dict[str, list[int]] = {}  # the positions of each
        self.spans: dict[str, tuple[int, int]] = {}  # of commits
        self.hashes: dict[int, bytes] = {}  # of commits, by their last position
        self.requests: dict[tuple[str, str], tuple[str, int, int]] = {}
        self.bells: set[int] = set()  # a pipe for each follower
        self.guard = threading.RLock()  # held for one operation; `writer` is held for a whole `exclusive`
        self.writer = threading.Lock()

    def version(self, stream: str) -> int:
        return self.streams.get(stream, (0,))[-1]

    def known(self, commit: Commit, key: Key | None) -> Duplicate | Mismatch | None:
        if commit.id in self.spans:
            return Duplicate(*self.spans[commit.id])
        if key is None or (key.scope, key.name) not in self.requests:
            return None
        digest, first, last = self.requests[key.scope, key.name]
        return Duplicate(first, last) if digest == key.digest else Mismatch(key.name, first)

    def add(self, commit: Commit, drafts: Sequence[Draft], texts: Sequence[str], key: Key | None) -> Appended:
        head = len(self.events)
        links: list[Link] = []
        for n, (draft, text) in enumerate(zip(drafts, texts, strict=True)):
            position, prev = head + 1 + n, self.version(draft.stream)
            digest = digest_of(text.encode()).hex()
            start, about = (position, draft.type, draft.v, draft.stream, prev), (draft.cause, draft.thread, draft.pack)
            event = Event(*start, commit.at, commit.by, {}, *about, commit.id, n, commit.via, digest)
            self.events.append(event)
            self.texts.append(text)
            self.streams.setdefault(draft.stream, []).append(position)
            links.append((*start, *about, n, digest))
        last = len(self.events)
        before = self.hashes.get(head, START)
        self.hashes[last] = hash_of(before, commit.id, commit.at, commit.by, commit.via, links)
        self.spans[commit.id] = head + 1, last
        if key is not None:
            self.requests[key.scope, key.name] = key.digest, head + 1, last
        return Appended(head + 1, last, tuple(link[-1] for link in links))

    def ring(self) -> None:
        with self.guard:
            for bell in self.bells:
                try:
                    os.write(bell, b"!")
                except BlockingIOError:
                    pass  # the pipe is full, so the follower will wake up


class MemoryLog(Log):
    """A handle on a log in memory, for one thread at a time."""

    def __init__(self, memory: MemoryState, *, exclusive: bool = True) -> None:
        self.memory = memory
        self.handle = Handle()
        self._exclusive = exclusive
        self._inside = False
        self._closed = False

    @property
    def archive(self) -> Archive:
        return MemoryArchive(self)

    def append(
        self, commit: Commit, conditions: Mapping[str, int], events: Sequence[Draft], key: Key | None = None
    ) -> Appended | Duplicate | Conflict | Mismatch:
        memory = self._open()
        if not events:
            with memory.guard:
                return memory.known(commit, key) or Appended(0, 0)
        texts = texts_of(commit, conditions, events, key)
        with self.writing(), memory.guard:
            refusal = memory.known(commit, key)
            if refusal is not None:
                return refusal
            for stream, version in conditions.items():
                if memory.version(stream) != version:
                    return Conflict(stream, memory.version(stream))
            appended = memory.add(commit, events, texts, key)
            memory.ring()
            return appended

    def read(self, after: int = 0, limit: int = _PAGE, stream: str | None = None) -> list[Event]:
        memory = self._open()
        after, limit = max(after, 0), max(limit, 0)
        with memory.guard:
            if stream is None:
                found: Sequence[int] = range(after + 1, min(after + limit, len(memory.events)) + 1)
            else:
                positions = memory.streams.get(stream, [])
                start = bisect_right(positions, after)
                found = positions[start : start + limit]
            rows = [(memory.events[position - 1], memory.texts[position - 1]) for position in found]
        return [event.replace(data=loads(text)) for event, text in rows]

    def head(self) -> int:
        return len(self._open().events)

    def follow(self, after: int, timeout: float | None = None, stop: int | None = None) -> Iterator[list[Event]]:
        memory = self._open()
        end = None if timeout is None else time.monotonic() + timeout
        hears, bell = os.pipe()
        os.set_blocking(bell, False)
        with memory.guard:
            memory.bells.add(bell)
        try:
            while True:
                over = end is not None and time.monotonic() >= end
                while events := self._whole_commits(after):
                    after = events[-1].position
                    yield events
                if over:
                    return
                left = None if end is None else max(0.0, end - time.monotonic())
                ready = select.select([hears] if stop is None else [hears, stop], [], [], left)[0]
                if stop in ready:
                    return
                if ready:
                    os.read(hears, 1 << 16)
        finally:
            with memory.guard:
                memory.bells.discard(bell)
            os.close(bell)
            os.close(hears)

    def _whole_commits(self, after: int) -> list[Event]:
        events = self.read(after, _PAGE)
        if events:
            last = self.memory.spans[events[-1].commit][1]
            events += self.read(events[-1].position, last - events[-1].position)
        return events

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        memory = self._open()
        if self._inside:
            raise Usage("nested_exclusive", "exclusive() was entered twice on one handle.", "Use one exclusive().")
        if self._exclusive:
            patience = _PATIENCE if self.handle.patience is None else self.handle.patience
            if not memory.writer.acquire(timeout=patience):
                raise Unavailable("locked", "Another thread has kept the log locked.", "End it, and try again.")
        self._inside = True
        try:
            yield
        finally:
            self._inside = False
            if self._exclusive:
                memory.writer.release()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Enter `exclusive`, unless this handle is already in it."""
        if self._inside:
            yield
        else:
            with self.exclusive():
                yield

    def close(self) -> None:
        self._closed = True
        self.memory.ring()  # its followers end

    def _open(self) -> MemoryState:
        if self._closed:
            raise Unavailable("log_closed", "This handle on a log in memory was closed.", "Open the log again.")
        return self.memory


class MemoryArchive(Archive):
    """Operations on a whole log in memory."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self._memory = log.memory

    def identity(self) -> str:
        return self._memory.identity

    def audit(self, upto: int, progress: Progress) -> Iterator[str]:
        memory, previous = self._memory, START
        left = {said["position"]: said["rest"] for said in self._tombstones()}
        for first, last in [*memory.spans.values()]:
            if last > upto:
                return
            events = memory.events[first - 1 : last]
            links: list[Link] = [
                (e.position, e.type, e.v, e.stream, e.prev, e.cause, e.thread, e.pack, e.n, e.digest or "")
                for e in events
            ]
            one = events[0]
            if hash_of(previous, one.commit, one.at, one.by, one.via, links) != memory.hashes[last]:
                yield f"the commit at position {first} was changed: its hash does not match"
            for event in events:
                digest = digest_of(memory.texts[event.position - 1].encode()).hex()
                if digest != left.get(event.position, event.digest):
                    yield f"the data of {event.type} at position {event.position} was changed"
            previous = memory.hashes[last]
            progress(last, upto)

    def backup(self, path: str, progress: Progress, blobs: Iterable[BlobPieces] = ()) -> int:
        del path, progress, blobs
        raise Unavailable("no_archive", "A log in memory has no backup.", "Use a log in a file.")

    def redact(
        self,
        commit: Commit,
        conditions: Mapping[str, int],
        events: Sequence[Draft],
        rows: Mapping[int, dict[str, Any]],
        key: Key | None = None,
    ) -> Appended | Duplicate | Conflict | Mismatch:
        memory = self._memory
        said = [*self._tombstones(), *(draft.data for draft in events if draft.stream == REDACTIONS)]
        named = {(one["position"], one["commit"], one["digest"]) for one in said}
        for position, data in rows.items():
            event = memory.events[position - 1]
            if (position, event.commit, data.get("redacted")) not in named or event.stream == REDACTIONS:
                raise ValueError("the log is append-only")
        with self._log.writing(), memory.guard:
            result = self._log.append(commit, conditions, events, key)
            if isinstance(result, Appended):
                for position, data in rows.items():
                    memory.texts[position - 1] = storable(data)
        return result

    def rewrite(self) -> None:
        return

    def _tombstones(self) -> list[dict[str, Any]]:
        return [loads(self._memory.texts[position - 1]) for position in self._memory.streams.get(REDACTIONS, ())]


def texts_of(commit: Commit, conditions: Mapping[str, int], events: Sequence[Draft], key: Key | None) -> list[str]:
    """The data of the events as JSON. Raises if anything in the commit cannot be stored."""
    names = [commit.id, commit.at, commit.by, commit.via, *conditions, *((key.scope, key.name) if key else ())]
    for draft in events:
        names += [draft.stream, draft.type, draft.cause, draft.thread, draft.pack]
    try:
        for name in names:
            (name or "").encode()
    except UnicodeEncodeError as error:
        raise not_text(commit.id, error.object) from error
    texts = []
    for draft in events:
        try:
            texts.append(storable(draft.data))
        except (TypeError, ValueError, RecursionError) as error:
            raise not_json(draft.stream, str(error)) from error
    return texts
