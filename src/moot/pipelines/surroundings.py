"""What changes in a worktree while a command runs, besides the files that it may write. By content, never by time.

Files that git ignores do not count: tools leave logs and caches. Directories that only tools write are not looked at.
"""

from __future__ import annotations

import os
from hashlib import blake2b  # noqa: TID253 (this module itself is loaded on demand)

from moot.pipelines.contents import is_temporary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from moot.location import Place

_TOOLS = frozenset((".git", ".moot", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".bundle"))
_FILES = 200_000
_LARGEST = 4 << 20  # bytes; of a larger file, size and time count instead of the content
_known: dict[str, tuple[tuple[int, ...], str]] = {}  # path → stat and digest, so that a file is read once


def look(root: str) -> dict[str, str]:
    """A digest of every file below the root, by path."""
    found: dict[str, str] = {}
    waiting = [root]
    while waiting and len(found) < _FILES:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _TOOLS:
                    waiting.append(entry.path)
            elif not is_temporary(entry.name):
                found[os.path.relpath(entry.path, root)] = _digest(entry)
    return found


def _digest(entry: os.DirEntry[str]) -> str:
    try:
        about = entry.stat(follow_symlinks=False)
        if entry.is_symlink():
            return f"link {os.readlink(entry.path)}"
        mark = (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        if not entry.is_file(follow_symlinks=False) or about.st_size > _LARGEST:
            return str(mark[1:3])
        known = _known.get(entry.path)
        if known is None or known[0] != mark:
            with open(entry.path, "rb") as file:
                known = _known[entry.path] = mark, blake2b(file.read(_LARGEST), digest_size=16).hexdigest()
        return known[1]
    except OSError:
        return "unreadable"


def changed(place: Place, root: str, before: Mapping[str, str], expected: Callable[[], Iterable[str]]) -> list[str]:
    """The files that changed, appeared or vanished, besides those in `expected` and those that git ignores."""
    after = look(root)
    names = [path for path in dict.fromkeys((*before, *after)) if before.get(path) != after.get(path)]
    allowed = list(expected()) if names else []
    names = [path for path in names if not _is_expected(path, allowed)]
    return sorted(_tracked(place, root, names)) if names else []


def _is_expected(path: str, allowed: Iterable[str]) -> bool:
    return any(path == one or (one.endswith("/") and path.startswith(one)) for one in allowed)


def _tracked(place: Place, root: str, names: list[str]) -> list[str]:
    """Those that git does not ignore."""
    from moot.location import gitdir
    from moot.processes.git import Git, GitFailed

    git = gitdir.at(root) if place.common is not None else None
    if git is None:
        return names
    try:
        ran = Git(gitdir.real(git), root).run("check-ignore", "-z", "--stdin", stdin="\0".join(names).encode())
    except GitFailed:
        return names
    ignored = {os.fsdecode(name) for name in ran.output.tail.split(b"\0")}
    return [name for name in names if name not in ignored]
