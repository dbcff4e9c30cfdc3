"""The state of a project: what a run of RSpec or of a linter may depend on, besides the spec file itself.

RSpec loads whatever the code requires. So every file of the project counts that Ruby, RSpec or a linter may read, by
its content: other spec files do not, because only one is run. What tests write themselves (logs, databases, the list of
failed examples) must not count, or they would never be up to date. So outside of the code and the fixtures, a file
counts only if its name is of a known kind.
"""

from __future__ import annotations

import os
import stat
from itertools import islice

from moot.packs.ruby.loaded_files import LOADED
from moot.pipelines.surroundings import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 200_000  # files
_SUFFIXES = (".rb", ".yml", ".yaml", ".json", ".erb", ".rake", ".ru", ".csv", ".sql", ".gemspec", ".lock")
_NAMES = frozenset(("Gemfile", "Rakefile", "rspec", "ruby-version"))
_CODE = ("app", "lib")  # in these folders of the root, and in the following ones anywhere, every file counts
_FIXTURES = frozenset(("fixtures", "support"))
_NEVER, _LEFT_OUT = frozenset((".git", "node_modules")), frozenset(("tmp", "log", "coverage"))


def project_state(root: str) -> str:
    """A digest of the project's files as they are now, and of the settings of this user for the same programs."""
    import hashlib

    found = hashlib.sha256()
    for path in islice(_files(root), _MOST):
        found.update(f"{path}\0{digest_of(os.path.join(root, path))}\n".encode("utf-8", "surrogateescape"))
    for name in LOADED:
        if name.startswith("~"):
            found.update(f"{name}\0{digest_of(os.path.expanduser(name))}\n".encode())
    return found.hexdigest()


def _files(root: str) -> Iterator[str]:
    """The paths of the files that count, in order. A folder that a link leads to is entered once."""
    folders, entered = [("", False)], set[tuple[int, int]]()
    while folders:
        folder, whole = folders.pop()
        try:
            about = os.stat(os.path.join(root, folder))
            with os.scandir(os.path.join(root, folder)) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            continue
        if (about.st_dev, about.st_ino) in entered:
            continue
        entered.add((about.st_dev, about.st_ino))
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir():
                every = whole or entry.name in _FIXTURES or path in _CODE
                if entry.name not in _NEVER and (every or entry.name not in _LEFT_OUT):
                    folders.append((path, every))
            elif _counts(entry.name, every=whole) and _is_regular(entry):
                yield os.path.relpath(os.path.realpath(entry.path), root) if entry.is_symlink() else path


def _counts(name: str, *, every: bool) -> bool:
    if name.endswith("_spec.rb"):
        return False
    if every:
        return not name.startswith(".") and not name.endswith("~")
    plain = name.lstrip(".").removesuffix("-local")
    return name.endswith(_SUFFIXES) or plain in _NAMES or name.startswith(".env")


def _is_regular(entry: os.DirEntry[str]) -> bool:
    try:
        return stat.S_ISREG(entry.stat().st_mode)
    except OSError:
        return False
