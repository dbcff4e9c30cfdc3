"""The state of a project: what a run of RSpec or of a linter may depend on, besides the spec file itself.

RSpec loads whatever the code requires. So every file of the project counts that Ruby, RSpec or a linter may read, by
its content: other spec files do not, because only one is run. What tests write themselves (logs, databases, the list of
failed examples) must not count, or they would never be up to date. So outside of the code and the fixtures, a file
counts only if its name is of a known kind.

A file that has not changed is not read again (`moot.runs.file_digests`), also in later processes.
"""

from __future__ import annotations

import os
from itertools import islice
from stat import S_ISREG

from moot.packs.rspec_v1.places import digest_of
from moot.packs.ruby.loaded_files import LOADED
from moot.pipelines.file_digests import FileDigests, whole_of
from moot.place import caches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moot.pipelines.file_digests import NamedFile

_MOST = 200_000  # files
_SUFFIXES = (".rb", ".yml", ".yaml", ".json", ".erb", ".rake", ".ru", ".csv", ".sql", ".gemspec", ".lock")
_NAMES = frozenset(("Gemfile", "Rakefile", "rspec", "ruby-version"))
_CODE = ("app", "lib")  # in these folders of the root, and in the following ones anywhere, every file counts
_LOCKS = ("Gemfile.lock",)  # written by Bundler itself
_FIXTURES = frozenset(("fixtures", "support"))
_NEVER, _LEFT_OUT = frozenset((".git", "node_modules")), frozenset(("tmp", "log", "coverage"))
_known: dict[tuple[str, str], FileDigests] = {}  # by state directory and root


def project_state(root: str, state: str) -> str:
    """A digest of the project's files as they are now, and of the settings of this user for the same programs.

    `state`: the state directory of the workspace.
    """
    known = _digests(root, state)
    found = known.of_all(_counted(root))
    if known.news:
        known.news = False
        caches.keep_parsed(state, _cache(root), known.plain())
    return found


def project_files(root: str, state: str) -> dict[str, str]:
    """The digest of each of these files, by name."""
    return _digests(root, state).by_name(_counted(root))


def state_after(root: str, state: str, before: Mapping[str, str]) -> str:
    """The state that a result of programs belongs to. `before`: the files as they were when the first one began.

    A file that appears while they run is their work: Bundler writes its lock file, and tests record what they fetched.
    A file that changes may be the work of a person, whom the programs may not have noticed.
    """
    after = project_files(root, state)
    return whole_of({**after, **before, **{name: after[name] for name in _LOCKS if name in after}})


def _digests(root: str, state: str) -> FileDigests:
    known = _known.get((state, root))
    if known is None:
        known = _known[state, root] = FileDigests.of(caches.recall_parsed(state, _cache(root)))
    return known


def _cache(root: str) -> str:
    return f"project-{digest_of(root)}"


def _counted(root: str) -> list[NamedFile]:
    return [*islice(_files(root), _MOST), *_of_user()]


def _files(root: str) -> Iterator[NamedFile]:
    """The files that count, in order. A folder that a link leads to is entered once."""
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
            elif _counts(entry.name, every=whole) and (found := _status(entry)):
                if entry.is_symlink():
                    path = os.path.relpath(os.path.realpath(entry.path), root)
                yield path, os.path.join(root, path), found


def _of_user() -> Iterator[NamedFile]:
    for name in LOADED:
        if name.startswith("~"):
            path = os.path.expanduser(name)
            try:
                yield name, path, os.stat(path)
            except OSError:
                continue


def _counts(name: str, *, every: bool) -> bool:
    if name.endswith("_spec.rb"):
        return False
    if every:
        return not name.startswith(".") and not name.endswith("~")
    if name.endswith(_SUFFIXES) or name.startswith(".env"):
        return True
    return name.lstrip(".").removesuffix("-local") in _NAMES


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    """The status of a regular file, also of one that a link leads to; None if it is something else."""
    try:
        about = entry.stat()
    except OSError:
        return None
    return about if S_ISREG(about.st_mode) else None
