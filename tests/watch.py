"""What code does to the machine: the programs that it starts, and the files below a folder that it opens."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PROGRAMS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec")


class Watch:
    """The programs by name, and the files by path below the folder. Files of git and of moot itself do not count."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.path.realpath(folder)
        self.programs, self.files = list[str](), Counter[str]()

    def hear(self, event: str, given: tuple[object, ...]) -> None:
        if event in _PROGRAMS:
            self.programs.append(os.path.basename(str(given[0])))
        elif event == "open" and isinstance(given[0], str) and os.path.isabs(given[0]):
            path = os.path.realpath(given[0])
            inside = path.startswith(f"{self._folder}/") and not path.startswith(f"{self._folder}/.git/")
            if inside and os.path.isfile(path):
                self.files[path.removeprefix(f"{self._folder}/")] += 1


_on: list[Watch] = []
_hooked: list[bool] = []


def _hear(event: str, given: tuple[object, ...]) -> None:
    for watch in tuple(_on):
        watch.hear(event, given)


@contextmanager
def watching(folder: Path) -> Iterator[Watch]:
    """Watch what happens inside, in all threads of this process."""
    if not _hooked:
        sys.addaudithook(_hear)  # for good: a hook cannot be removed
        _hooked.append(True)
    watch = Watch(folder)
    _on.append(watch)
    try:
        yield watch
    finally:
        _on.remove(watch)
