"""What changes while a command runs, besides the files that it may write. By content, never by time.

Files that git ignores do not count: tools leave logs and caches. Directories that only tools write are not looked at.
But a command must not hide what it did. So these count in any case: the file of git that says what is ignored, and the
files that the pack guards, because a later stage loads them. A rule about ignored files counts only if it was there
before, except in a folder that is new as a whole: tools make caches that ignore themselves. See also `git_care`.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from stat import S_ISLNK, S_ISREG

from moot.core.errors import Unavailable
from moot.place import gitdir
from moot.runs.contents import is_temporary
from moot.runs.file_digests import FileDigests, mark_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from moot.place import Place

_TOOLS = frozenset((".git", ".moot", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".bundle"))
_FILES = 200_000
_LARGEST = 4 << 20  # bytes; of a larger file, size and time count instead of the content
_EXCLUDE = ".git/info/exclude"
_SETTINGS = (".git/config", ".git/config.worktree")
_OF_USER = ("~/.gitconfig", "~/.config/git/config", "~/.config/git/ignore", "~/.gitignore", "~/.gitignore_global")
_known = FileDigests(follow=False)
_gits: dict[str, tuple[str, str]] = {}  # by root, as it was before the first command


def look(root: str, guards: Sequence[str] = ()) -> dict[str, str]:
    """A digest of every file below the root, by path; also of what counts in any case."""
    found: dict[str, str] = {}
    waiting, skipped = [root], len(os.path.join(root, ""))
    while waiting and len(found) < _FILES:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _TOOLS:
                    waiting.append(entry.path)
            elif not is_temporary(entry.name) and (one := digest_of(entry.path)):
                found[entry.path[skipped:]] = one
    for name, path in (*_rules(root), *_guarded(root, guards)):
        if one := digest_of(path):
            found[name] = one
    return found


def _rules(root: str) -> Iterator[tuple[str, str]]:
    """The files outside of the worktree that say what git ignores, or where another one is that does."""
    git, common = _git_of(root)
    if git:
        yield _EXCLUDE, f"{common}/info/exclude"
        yield _SETTINGS[0], f"{common}/config"
        yield _SETTINGS[1], f"{git}/config.worktree"
    home = os.path.expanduser("~")
    for name in _OF_USER:
        yield name, home + name.removeprefix("~")


def _git_of(root: str) -> tuple[str, str]:
    """The git directory of a worktree, and that of the repository; empty outside of git."""
    if root not in _gits:
        try:
            git = gitdir.at(root)
            if git is None:
                return "", ""
            _gits[root] = gitdir.real(git), gitdir.common_of(gitdir.real(git))
        except Unavailable:
            return "", ""  # a broken repository: everything counts
    return _gits[root]


def _guarded(root: str, guards: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Guarded files that are named exactly, also in folders that are not looked at, or in the user's home."""
    for name in guards:
        if "*" not in name:
            yield name, os.path.join(root, os.path.expandvars(os.path.expanduser(name)))


def digest_of(path: str) -> str:
    """The digest of a file; empty if there is none. A file is read once for as long as it does not change."""
    try:
        about = os.lstat(path)
        if S_ISLNK(about.st_mode):
            return f"link {os.readlink(path)}"
        if not S_ISREG(about.st_mode) or about.st_size > _LARGEST:
            return str((about.st_size, about.st_mtime_ns))
        return _known.digest(path, mark_of(about))
    except FileNotFoundError:
        return ""
    except OSError:
        return "unreadable"


def changed(
    place: Place,
    root: str,
    before: Mapping[str, str],
    expected: Callable[[], Iterable[str]],
    guards: Sequence[str] = (),
) -> list[str]:
    """The files that changed, appeared or vanished, besides those in `expected` and those that git ignores."""
    after = look(root, guards)
    if after == before:
        return []
    names = [path for path in dict.fromkeys((*before, *after)) if before.get(path) != after.get(path)]
    elsewhere = [path for path in names if path in (*_SETTINGS, *_OF_USER)]
    names = [path for path in names if path not in elsewhere]
    allowed = list(expected()) if names else []
    names = [path for path in names if not _is_expected(path, allowed)]
    certain = [path for path in names if path in (".git", _EXCLUDE) or any(fnmatchcase(path, one) for one in guards)]
    others = [path for path in names if path not in certain]
    new = {path for path in others if os.path.basename(path) == ".gitignore" and _is_beside(path, before)}
    exclude = (_EXCLUDE, os.path.join(_git_of(root)[1], "info", "exclude"))
    new.update(exclude if _EXCLUDE in certain else ())

    def counts(file: str) -> bool:
        """Whether the rules in a file were there before."""
        return file not in new and not (elsewhere and os.path.basename(file) != ".gitignore" and file not in exclude)

    return sorted((*certain, *(_tracked(place, root, others, counts) if others else ())))


def _is_beside(path: str, before: Mapping[str, str]) -> bool:
    """Whether there were files in the folder of this one."""
    folder = path.rpartition("/")[0]
    return not folder or any(one.startswith(f"{folder}/") for one in before)


def _is_expected(path: str, allowed: Iterable[str]) -> bool:
    return any(path == one or (one.endswith("/") and path.startswith(one)) for one in allowed)


def _tracked(place: Place, root: str, names: list[str], counts: Callable[[str], bool]) -> list[str]:
    """Those that git does not ignore. `counts`: whether the rules in a file do."""
    from moot.place.git import Git, GitFailed

    git = _git_of(root)[0] if place.common is not None else ""
    if not git:
        return names
    try:
        ran = Git(git, root).run("check-ignore", "-v", "-z", "--stdin", stdin=b"\0".join(map(os.fsencode, names)))
    except GitFailed:
        return names
    fields = [os.fsdecode(one) for one in ran.output.tail.split(b"\0")]
    found = zip(fields[::4], fields[2::4], fields[3::4], strict=False)  # the file with the rule, the rule, the path
    ignored = {path for file, rule, path in found if counts(file) and not rule.startswith("!")}
    return [name for name in names if name not in ignored]
