"""The state after the last sync: the signature of each file, and the position up to which the log was rendered.

A cache. If it is lost, all files are read again. Nothing is absorbed twice, because entries are matched by content.
"""

from __future__ import annotations

import os

from moot.core.record import Record
from moot.mirrors.file_reading import Signature
from moot.place import caches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    _Parts = tuple[Mapping[str, Any], Mapping[str, Any]]


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
# The file that this process has read last, with those that do not rest, and those that do; nobody changes it.
_last: dict[str, tuple[tuple[int, ...], Any, _Parts]] = {}


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
        self._resting: Mapping[str, Any] = {}  # as they were read: hundreds that most calls do not look at
        self._woken: set[str] = set()  # those of them that are in `files`
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
        data, (awake, self._resting) = self._recalled()
        self._woken = set()
        try:
            self.turn, self.maker, self.boot = int(data["turn"]), str(data["maker"]), str(data["boot"])
            self.rendered, self.commit = int(data["rendered"]), str(data["commit"])
            self.files = {path: Known.of(known) for path, known in awake.items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            self.turn, self.maker, self.boot, self.rendered, self.commit, self.files = 0, "", "", 0, None, {}
            self._resting = {}
        return self

    def _recalled(self) -> tuple[Any, _Parts]:
        """What the file contains. It is parsed once in a process while nobody writes it."""
        found = _last.get(self._path)
        if not self._seen or found is None or found[0] != self._seen:
            found = self._seen, *_parted(caches.recall(self._path))
            _last.clear()
            _last[self._path] = found
        return found[1:]

    def known(self, path: str) -> Known:
        if path in self._resting and path not in self._woken:
            self._wake(path)
        return self.files.get(path, _UNKNOWN)

    def wake_all(self) -> None:
        """Make `files` contain those that rest, too."""
        for path in self._resting:
            if path not in self._woken:
                self._wake(path)

    def _wake(self, path: str) -> None:
        self._woken.add(path)
        try:
            self.files[path] = Known.of(self._resting[path])
        except (ValueError, KeyError, TypeError, AttributeError):
            self.files[path] = _UNKNOWN

    def write(self) -> None:
        self.turn += 1
        asleep = {path: known for path, known in self._resting.items() if path not in self._woken}
        files = {**asleep, **{path: known.plain() for path, known in self.files.items()}}
        said = {
            "turn": self.turn,
            "maker": self.maker,
            "boot": self.boot,
            "rendered": self.rendered,
            "commit": self.commit,
        }
        caches.keep(self._path, {**said, "files": files})


def _parted(data: Any) -> tuple[Any, _Parts]:
    """The data, with the files that do not rest, and those that do. Of damaged data, nothing is left."""
    try:
        resting = {path: known for path, known in data["files"].items() if known.get("rests")}
        return data, ({path: known for path, known in data["files"].items() if path not in resting}, resting)
    except (KeyError, TypeError, AttributeError):
        return None, ({}, {})
