"""Digests of many files by content. A file is read once, as long as its inode, its size and its times stay the same.

As in git's index, that proves nothing about a young file: within one tick of the file system's clock it can change
again and keep its times. So the digest of a file is remembered only if its last change was two seconds before it was
read.
"""

from __future__ import annotations

import os
import time
from hashlib import file_digest, sha256  # noqa: TID253 (this module itself is loaded on demand)
from stat import S_ISREG

TYPE_CHECKING = False
if TYPE_CHECKING:
    Mark = tuple[int, int, int, int]  # inode, size, mtime and ctime in nanoseconds

_YOUNG_NS = 2_000_000_000  # the coarsest timestamps of a file system
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class FileDigests:
    """The digests that are known, by path."""

    def __init__(self, *, follow: bool = True) -> None:
        self._flags = _OPEN if follow else _OPEN | os.O_NOFOLLOW  # whether links to files are read
        self._known: dict[str, tuple[Mark, str]] = {}

    def digest(self, path: str, mark: Mark) -> str:
        """The SHA-256 of a regular file, whose status has this mark. Raises `OSError`."""
        known = self._known.get(path)
        return known[1] if known is not None and known[0] == mark else self._read(path)

    def _read(self, path: str) -> str:
        file = os.open(path, self._flags)
        try:
            now, before = time.time_ns(), os.fstat(file)
            if not S_ISREG(before.st_mode):
                raise OSError(f"{path} is not a regular file")
            with open(file, "rb", closefd=False) as opened:
                found = file_digest(opened, sha256).hexdigest()
            mark = mark_of(before)
            settled = now - max(before.st_mtime_ns, before.st_ctime_ns) >= _YOUNG_NS
            if settled and mark_of(os.fstat(file)) == mark:
                self._known[path] = mark, found
            return found
        finally:
            os.close(file)


def mark_of(about: os.stat_result) -> Mark:
    return about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
