"""Sees what somebody writes into the files of a stage while its command runs, and is overwritten before it ends.

An agent that works on a copy and writes it back undoes what a person has saved in between. The files are looked at in
short intervals. A content whose lines are neither in the file before the stage nor after it is kept. Who wrote it is
not known: it may be a draft of the agent itself. What is saved and overwritten between two looks is not seen.
"""

from __future__ import annotations

import os
import threading  # noqa: TID253 (this module itself is loaded on demand)

from moot.core.record import Record
from moot.core.text import counted, cut
from moot.pipelines.contract import StageError
from moot.runs import contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType

    from moot.pipelines.contract import Target

INTERVAL = 0.1  # seconds between two looks
_LARGEST = 4 << 20  # bytes of one file; larger ones are not watched
_MOST = 50  # contents of one file


class Overwritten(Record):
    """What a file contained in between, and the lines of it that are gone."""

    path: str
    data: bytes
    lines: tuple[str, ...]

    @property
    def said(self) -> str:
        gone = (
            f"{counted(len(self.lines), 'line')} that it had in between {'is' if len(self.lines) == 1 else 'are'} gone"
        )
        return f"{self.path} changed several times while the stage ran: {gone}, such as `{cut(self.lines[0], 80)}`"


class WatchedFiles:
    """Looks at single files while a block runs."""

    def __init__(self, target: Target, paths: Iterable[str]) -> None:
        self._target = target
        self._paths = [path for path in paths if not path.endswith("/")]
        self._seen: dict[str, list[bytes]] = {path: [] for path in self._paths}
        self._marks: dict[str, tuple[int, ...] | None] = {}
        self._end = threading.Event()
        self._thread: threading.Thread | None = None  # only if there is something to look at

    def __enter__(self) -> None:
        if self._paths:
            self._look()
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._end.set()
            self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(INTERVAL):
            self._look()

    def _look(self) -> None:
        for path in self._paths:
            try:
                about = os.lstat(os.path.join(self._target.root, path))
                mark = (about.st_ino, about.st_size, about.st_mtime_ns)
                if self._marks.get(path) == mark or about.st_size > _LARGEST or len(self._seen[path]) >= _MOST:
                    continue
                data = contents.read(self._target.root, (path,), self._target.folders).files.get(path)
            except (OSError, StageError):
                continue
            self._marks[path] = mark
            if data is not None and data not in self._seen[path]:
                self._seen[path].append(data)

    def overwritten(self, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[Overwritten]:
        """For each file the content with the most lines that are gone. `before`, `after`: the contents by path."""
        for path, seen in self._seen.items():
            known = {*_lines(before.get(path, b"")), *_lines(after.get(path, b""))}
            gone = [(tuple(line for line in _lines(data) if line not in known), data) for data in seen]
            lines, data = max(gone, key=lambda one: len(one[0]), default=((), b""))
            if lines:
                yield Overwritten(path, data, lines)


def _lines(data: bytes) -> list[str]:
    """The lines without their indentation; not the empty ones."""
    return list(filter(None, (line.strip() for line in data.decode("utf-8", "replace").splitlines())))
