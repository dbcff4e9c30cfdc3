"""The state of a project: what a run of RSpec or of a linter may depend on, besides the spec file itself.

RSpec loads whatever the code requires. So every file of the project counts that Ruby, RSpec or a linter may read, by
its time and size: other spec files do not, because only one is run.
"""

from __future__ import annotations

import os
import stat
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 200_000  # files
_SUFFIXES = (".rb", ".yml", ".yaml", ".json", ".erb", ".rake", ".ru", ".csv", ".gemspec", ".lock")
_NAMES = frozenset(("Gemfile", "Rakefile", "rspec", "rubocop_todo.yml", "ruby-version", "standard.yml"))
_LEFT_OUT = frozenset((".git", "tmp", "log", "node_modules", "coverage"))


def project_state(root: str) -> str:
    """A digest of the project's files as they are now."""
    import hashlib

    found = hashlib.sha256()
    for path, size, time in islice(_files(root), _MOST):
        found.update(f"{path}\0{size}\0{time}\n".encode("utf-8", "surrogateescape"))
    return found.hexdigest()


def _files(root: str) -> Iterator[tuple[str, int, int]]:
    """The files that count, in order: path, size, and the time of the last change. Follows no links to folders."""
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(os.path.join(root, folder)) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _LEFT_OUT:
                    folders.append(path)
            elif _counts(entry.name):
                try:
                    about = entry.stat()
                except OSError:
                    continue
                if stat.S_ISREG(about.st_mode):
                    yield path, about.st_size, about.st_ctime_ns


def _counts(name: str) -> bool:
    if name.endswith("_spec.rb"):
        return False
    return name.endswith(_SUFFIXES) or name.lstrip(".").removesuffix("-local") in _NAMES
