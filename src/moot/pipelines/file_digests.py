"""One digest of many files, and what is known about them, as JSON (`moot.runs.file_digests`)."""

from __future__ import annotations

from hashlib import sha256  # noqa: TID253 (this module itself is loaded on demand)

from moot.runs import file_digests
from moot.runs.file_digests import mark_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from moot.runs.file_digests import Mark

    NamedFile = tuple[str, str, os.stat_result]  # its name in the digest, its path and its status

_FIELDS = 5  # of a file in JSON: its mark and its digest


def whole_of(digests: Mapping[str, str]) -> str:
    """One digest of files, each with its name and its digest."""
    rows = "".join(f"{name}\0{digests[name]}\n" for name in sorted(digests))
    return sha256(rows.encode("utf-8", "surrogateescape")).hexdigest()


class FileDigests(file_digests.FileDigests):
    """The digests that are known, by path."""

    def __init__(self, *, follow: bool = True) -> None:
        super().__init__(follow=follow)
        self._all: tuple[list[tuple[str, str, Mark]], str] = [], ""  # the files of the last `of_all`, if all were known

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
