"""What the command of a stage must leave alone: every file of the worktree that git does not ignore, and git itself.

By content, never by time: a digest of each file before the command, and after it. What git ignores is asked once before
the first command and again for what has changed, so that a command cannot hide a file by a rule of its own: the files
that hold such rules count themselves. Of git, this compares what is checked out, branches and tags, hooks (also what a
link points to), and the settings and attributes of the repository.

Nothing is put back: a person may have been editing, too.
"""

from __future__ import annotations

import os
from stat import S_ISLNK, S_ISREG

from moot.core.errors import Unavailable
from moot.core.record import Record
from moot.place import gitdir
from moot.place.git import Git, GitFailed
from moot.runs.contents import is_of, is_temporary
from moot.runs.contract import Problem, StageError
from moot.runs.file_digests import FileDigests, mark_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from moot.place import Place

_MOST = 200_000  # files
_LARGEST = 4 << 20  # bytes; of a larger file, size and time count instead of the content
_SETTINGS = ("config", "config.worktree", "info/attributes", "info/exclude")
_OF_USER = ("~/.gitconfig", "~/.config/git/config", "~/.config/git/ignore", "~/.config/git/attributes")
_REFS = ("refs/heads", "refs/tags")
_HEAD = "HEAD"
_STATE = (".git", ".moot")  # git's own directory and moot's


class WorktreeState(Record):
    """What there was at one moment: a digest by path of the worktree, and by name for git."""

    files: Mapping[str, str] = {}
    git: Mapping[str, str] = {}


class WatchedWorktree:
    """Watches one worktree for the commands of a run."""

    def __init__(self, place: Place, root: str) -> None:
        self._root = root
        self._own, self._common = _directories(place, root)
        self._known = FileDigests(follow=False)
        self._ignored = self._ignored_paths()

    def look(self) -> WorktreeState:
        """A digest of everything that counts."""
        found = {path: digest for path, place in self._files() if (digest := self._digest(place))}
        return WorktreeState(found, dict(self._git()) if self._common else {})

    def problems(self, before: WorktreeState, after: WorktreeState, allowed: Collection[str]) -> Iterator[Problem]:
        """What changed in between, besides the `allowed` paths; one that ends with `/` is a folder."""
        names = _changed(before.files, after.files)
        names = [one for one in names if not is_of(one, allowed)]
        ignored = self._ignored_paths() if names else ()
        for path in names:
            rule = os.path.basename(path) == ".gitignore" and _is_beside(path, before.files)
            if rule or not is_of(path, ignored):
                remedy = "" if path in before.files else "What tools write, let git ignore: name it in .gitignore."
                yield Problem("changed while the stage ran, which may not write it", path=path, remedy=remedy)
        for name in _changed(before.git, after.git):
            yield _git_problem(name, before.git.get(name), after.git.get(name))

    # --- files --------------------------------------------------------------------------------------------------------

    def _files(self) -> Iterator[tuple[str, str]]:
        waiting, start, left = [self._root], len(os.path.join(self._root, "")), _MOST
        while waiting:
            try:
                entries = list(os.scandir(waiting.pop()))
            except OSError:
                continue
            for entry in entries:
                path = entry.path[start:]
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _STATE and f"{path}/" not in self._ignored:
                        waiting.append(entry.path)
                elif not is_temporary(entry.name) and path not in self._ignored:
                    left -= 1
                    yield path, entry.path
            if left < 0:
                raise StageError(
                    f"{self._root} has more than {_MOST} files that git does not ignore",
                    suggestion="Let git ignore the folders that tools fill.",
                )

    def _digest(self, path: str) -> str:
        try:
            about = os.lstat(path)
            if S_ISLNK(about.st_mode):
                return f"link {os.readlink(path)}"
            if not S_ISREG(about.st_mode) or about.st_size > _LARGEST:
                return str((about.st_size, about.st_mtime_ns))
            return f"{about.st_mode & 0o111:o}{self._known.digest(path, mark_of(about))}"
        except FileNotFoundError:
            return ""
        except OSError:
            return "unreadable"

    def _ignored_paths(self) -> frozenset[str]:
        """What git ignores now: files, and folders with a slash at the end."""
        if not self._own:
            return frozenset()
        words = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
        try:
            return frozenset(map(os.fsdecode, Git(self._own, self._root).listed(*words)))
        except GitFailed as error:
            raise StageError(f"git cannot say what it ignores: {error}") from error

    # --- git ----------------------------------------------------------------------------------------------------------

    def _git(self) -> Iterator[tuple[str, str]]:
        for base in dict.fromkeys((self._common, self._own)):
            for name in (*_SETTINGS, *_names(os.path.join(base, "hooks"), "hooks")):
                path = os.path.join(base, name)
                if one := self._digest(path):
                    yield f".git/{name}", one + (self._digest(os.path.realpath(path)) if os.path.islink(path) else "")
        for name in _OF_USER:
            if one := self._digest(os.path.expanduser(name)):
                yield name, one
        refs = dict(self._refs())
        head = _text(os.path.join(self._own, _HEAD)).strip().removeprefix("ref: ")
        yield from refs.items()
        yield _HEAD, f"{head} {refs.get(head, '')}"

    def _refs(self) -> Iterator[tuple[str, str]]:
        for line in _text(os.path.join(self._common, "packed-refs")).splitlines():
            commit, _, name = line.partition(" ")
            if name.startswith(_REFS):
                yield name, commit
        for kind in _REFS:
            for here, _, names in os.walk(os.path.join(self._common, kind)):
                for name in names:
                    path = os.path.join(here, name)
                    if not name.endswith(".lock"):
                        yield os.path.relpath(path, self._common), _text(path).strip()


def _directories(place: Place, root: str) -> tuple[str, str]:
    """The git directory of a worktree, and that of its repository; empty outside of git."""
    if place.common is None:
        return "", ""
    try:
        own = gitdir.at(root)
    except Unavailable as error:
        raise StageError(error.message.rstrip("."), suggestion=error.remedy) from error
    return (gitdir.real(own), place.common) if own is not None else ("", "")


def _names(folder: str, before: str) -> list[str]:
    try:
        return [f"{before}/{name}" for name in sorted(os.listdir(folder)) if not name.endswith(".sample")]
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        return gitdir.read(path, 16 << 20).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [] if before == after else sorted(one for one in {*before, *after} if before.get(one) != after.get(one))


def _is_beside(path: str, before: Mapping[str, str]) -> bool:
    """Whether there were files in the folder of this one: a tool's cache that ignores itself is a folder of its own."""
    folder = path.rpartition("/")[0]
    return not folder or any(one.startswith(f"{folder}/") for one in before)


def _git_problem(name: str, old: str | None, new: str | None) -> Problem:
    if name == _HEAD:
        was, now = (one.rpartition(" ")[2][:12] for one in (old or "", new or ""))
        return Problem(
            f"moved from {was or 'no commit'} to {now or 'no commit'} while the stage ran, which may neither commit "
            f"nor check out{f'; `git reset --soft {was}` takes commits back and keeps the files' if was else ''}",
            path=name,
        )
    if name.startswith(_REFS) and new is not None:  # perhaps somebody else's, who works in another worktree
        return Problem("moved while the stage ran" if old else "was made while the stage ran", path=name, blocks=False)
    return Problem("changed while the stage ran; git runs or obeys what it says", path=name)
