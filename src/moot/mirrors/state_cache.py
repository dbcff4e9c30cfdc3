"""The state after the last sync: the signature of each file, and the position up to which the log was rendered.

A cache. If it is lost, all files are read again. Nothing is absorbed twice, because entries are matched by content.
"""

from __future__ import annotations

import os

from moot.core.record import Record
from moot.location import caches
from moot.mirrors.file_reading import Signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Known(Record):
    """One file after the last sync."""

    signature: Signature | None = None
    memo: Any = None  # of the form, about what was rendered
    absent: str = (
        ""  # why there is no file: nothing (to show), ignored (a deletion), folder (it does not exist); or why
    )
    # it is left as it is: spoiled (it cannot be read, and is not repaired)
    rests: bool = False  # it is looked at only when there is a reason
    torn: str | None = None  # the digest of content that could not be parsed
    torn_since: float = 0.0  # when it was first seen (monotonic)
    gone_since: float = 0.0  # when it vanished (monotonic), while its worktree may be about to be removed
    due: bool = False  # it may lack events that were rendered elsewhere: it was blocked, not writable, or not there

    @classmethod
    def of(cls, data: Any) -> Known:
        signature = data.get("signature")
        return super().of({**data, "signature": Signature.of(signature) if signature else None})


_UNKNOWN = Known()
_last: dict[str, tuple[tuple[int, ...], Any]] = {}  # the file that this process has read last; nobody changes it


class MirrorMemory:
    """The state of all mirrors of a workspace. Written only while holding the mirrors' lock."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, "state.json")
        self.turn = 0  # counts the syncs: it shows whether another process had one
        self.rendered = 0
        self.commit: str | None = None  # the commit at that position; None: nothing is known
        self.maker = ""  # the version of moot that rendered
        self.boot = ""  # the boot in which agents that use only files were first stamped
        self.files: dict[str, Known] = {}
        self._resting: dict[str, Any] = {}  # as they were read: hundreds of documents that most calls do not look at
        self._seen: tuple[int, ...] = ()

    def is_news(self) -> bool:
        """Whether another process has written it since it was read."""
        return self._seen != self._outside()

    def _outside(self) -> tuple[int, ...]:
        try:
            found = os.stat(self._path)
        except OSError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def read(self) -> MirrorMemory:
        self._seen = self._outside()
        data = self._recalled()
        try:
            self.turn, self.maker, self.boot = int(data["turn"]), str(data["maker"]), str(data["boot"])
            self.rendered, self.commit = int(data["rendered"]), str(data["commit"])
            files = data["files"]
            self._resting = {path: known for path, known in files.items() if known.get("rests")}
            self.files = {path: Known.of(known) for path, known in files.items() if path not in self._resting}
        except (ValueError, KeyError, TypeError, AttributeError):
            self.turn, self.maker, self.boot, self.rendered, self.commit, self.files = 0, "", "", 0, None, {}
            self._resting = {}
        return self

    def _recalled(self) -> Any:
        """What the file contains. It is parsed once in a process while nobody writes it."""
        found = _last.get(self._path)
        if not self._seen or found is None or found[0] != self._seen:
            found = self._seen, caches.recall(self._path)
            _last.clear()
            _last[self._path] = found
        return found[1]

    def known(self, path: str) -> Known:
        if path in self._resting:
            self._wake(path)
        return self.files.get(path, _UNKNOWN)

    def wake_all(self) -> None:
        """Make `files` contain those that rest, too."""
        for path in list(self._resting):
            self._wake(path)

    def _wake(self, path: str) -> None:
        known = self._resting.pop(path)
        try:
            self.files[path] = Known.of(known)
        except (ValueError, KeyError, TypeError, AttributeError):
            self.files[path] = _UNKNOWN

    def write(self) -> None:
        self.turn += 1
        files = {**self._resting, **{path: known.plain() for path, known in self.files.items()}}
        said = {
            "turn": self.turn,
            "maker": self.maker,
            "boot": self.boot,
            "rendered": self.rendered,
            "commit": self.commit,
        }
        caches.keep(self._path, {**said, "files": files})
