"""What the last turn left behind: what each file looked like, and up to where the log was rendered.

A cache. Without it everything is looked at anew and nothing is taken twice, because entries are matched by content.
"""

from __future__ import annotations

import os

from moot.core.record import Record
from moot.location import caches
from moot.mirrors.looks import Signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Known(Record):
    """One file as it was left."""

    signature: Signature | None = None
    memo: Any = None  # of what was rendered into it, in its form's words
    absent: str = ""  # why no file is to be there: nothing (to show), ignored (its deletion), folder (it is gone)
    torn: str | None = None  # the digest of what could not be parsed,
    torn_since: float = 0.0  # and since when (monotonic)

    @classmethod
    def of(cls, data: Any) -> Known:
        signature = data.get("signature")
        return super().of({**data, "signature": Signature.of(signature) if signature else None})


_UNKNOWN = Known()


class MirrorMemory:
    """The memory of all mirrors of a workspace. Written only by whoever has the turn."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, "state.json")
        self.turn = 0  # how many were before: whether another had one can be told by it
        self.rendered = 0
        self.commit: str | None = None  # the one that stood there; None: nothing is known
        self.maker = ""  # the version of moot that rendered
        self.boot = ""  # in which those who speak through the files were first looked for
        self.files: dict[str, Known] = {}
        self._seen: tuple[int, ...] = ()

    def is_news(self) -> bool:
        """Whether another had a turn since it was read."""
        return self._seen != self._outside()

    def _outside(self) -> tuple[int, ...]:
        try:
            found = os.stat(self._path)
        except OSError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def read(self) -> MirrorMemory:
        self._seen, data = self._outside(), caches.recall(self._path)
        try:
            self.turn, self.maker, self.boot = int(data["turn"]), str(data["maker"]), str(data["boot"])
            self.rendered, self.commit = int(data["rendered"]), str(data["commit"])
            self.files = {path: Known.of(known) for path, known in data["files"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            self.turn, self.maker, self.boot, self.rendered, self.commit, self.files = 0, "", "", 0, None, {}
        return self

    def known(self, path: str) -> Known:
        return self.files.get(path, _UNKNOWN)

    def write(self) -> None:
        self.turn += 1
        files = {path: known.plain() for path, known in self.files.items()}
        said = {
            "turn": self.turn,
            "maker": self.maker,
            "boot": self.boot,
            "rendered": self.rendered,
            "commit": self.commit,
        }
        caches.keep(self._path, {**said, "files": files})
