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
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    Mark = tuple[int, int, int, int]  # inode, size, mtime and ctime in nanoseconds
    NamedFile = tuple[str, str, os.stat_result]  # its name in the digest, its path and its status

_YOUNG_NS = 2_000_000_000  # the coarsest timestamps of a file system
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FIELDS = 5  # of a file in JSON: its mark and its digest


def whole_of(digests: Mapping[str, str]) -> str:
    """One digest of files, each with its name and its digest."""
    rows = "".join(f"{name}\0{digests[name]}\n" for name in sorted(digests))
    return sha256(rows.encode("utf-8", "surrogateescape")).hexdigest()


class FileDigests:
    """The digests that are known, by path. `news`: whether some were added since they were recalled."""

    def __init__(self, *, follow: bool = True) -> None:
        self._flags = _OPEN if follow else _OPEN | os.O_NOFOLLOW  # whether links to files are read
        self._known: dict[str, tuple[Mark, str]] = {}
        self._all: tuple[list[tuple[str, str, Mark]], str] = [], ""  # the files of the last `of_all`, if all were known
        self.news = False

    def digest(self, path: str, mark: Mark) -> str:
        """The SHA-256 of a regular file, whose status has this mark. Raises `OSError`."""
        known = self._known.get(path)
        return known[1] if known is not None and known[0] == mark else self._read(path)

    def of_all(self, files: Sequence[NamedFile]) -> str:
        """One digest of these files, in any order. One that cannot be read counts by its status."""
        marks = [(name, path, mark_of(about)) for name, path, about in files]
        if self._all[1] and self._all[0] == marks:
            return self._all[1]
        state, known = whole_of(self._by_name(marks)), self._known
        if all(path in known and known[path][0] == mark for _, path, mark in marks):
            self._all = marks, state
        self._known = {path: known[path] for _, path, _ in marks if path in known}
        return state

    def by_name(self, files: Iterable[NamedFile]) -> dict[str, str]:
        """The digest of each of these files. One that cannot be read counts by its status."""
        return self._by_name((name, path, mark_of(about)) for name, path, about in files)

    def _by_name(self, marks: Iterable[tuple[str, str, Mark]]) -> dict[str, str]:
        found = {}
        for name, path, mark in marks:
            try:
                found[name] = self.digest(path, mark)
            except OSError:
                found[name] = f"unreadable {mark}"
        return found

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
                self.news = True
            return found
        finally:
            os.close(file)

    def plain(self) -> dict[str, list[Any]]:
        """What is known, as JSON."""
        return {path: [*mark, digest] for path, (mark, digest) in self._known.items()}

    @classmethod
    def of(cls, data: Any) -> FileDigests:
        """Those that `plain` described; from other data, nothing is known."""
        found = cls()
        if isinstance(data, dict) and all(isinstance(one, list) and len(one) == _FIELDS for one in data.values()):
            found._known = {path: ((one[0], one[1], one[2], one[3]), one[4]) for path, one in data.items()}
        return found


def mark_of(about: os.stat_result) -> Mark:
    return about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
