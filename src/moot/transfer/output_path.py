"""Files that a verb writes where its caller wants them: never over one that is there unasked, never over moot's own.

They are for their caller alone. Unasked, none goes into a git directory, or where a planted link leads.
"""

from __future__ import annotations

import os

from moot.core.errors import Refused, Unavailable, Usage
from moot.location import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.location import Place


def path_of(call: Call, file: str) -> str:
    path = os.path.abspath(os.path.join(call.cwd, os.path.expanduser(file)))
    if not os.path.basename(file) or os.path.isdir(path):
        raise Usage("not_a_file", f"{path} is a directory.", "Name a file.", file=path)
    return path


def checked(call: Call, file: str, *, force: bool, leaves: bool) -> str:
    """Where to write; refused before any work is done. `leaves`: it may be outside of the workspace unasked."""
    path = path_of(call, file)
    if _own(call.place, path):
        raise Refused(
            "own_file",
            f"{path} is a file of the workspace or of git.",
            "Name a file elsewhere; --force does not change this.",
            file=path,
        )
    if os.path.exists(path) and not os.path.isfile(path):
        raise Usage(
            "not_a_file", f"{path} is no file.", "Name a file; `moot export -` writes to the output.", file=path
        )
    if not force:
        _check_place(call.place, path, leaves=leaves)
        if os.path.lexists(path):
            raise _exists(path)
    return path


def create(draft: str) -> int:
    """A new file for its caller alone, whatever the umask: a log holds what agents tell each other."""
    return os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _check_place(place: Place, path: str, *, leaves: bool) -> None:
    folder = os.path.realpath(os.path.dirname(path))
    if any(map(_is_git_directory, _upwards(folder))):
        raise Refused("inside_git", f"{path} lies in a git directory.", "Name a file elsewhere, or --force.", file=path)
    roots = [tree.root for tree in worktrees(place)]
    real = {os.path.realpath(root) for root in roots}
    if any(_within(folder, root) for root in real):
        if not leaves and _in_nested_repository(folder, real):
            raise Refused(
                "outside_workspace",
                f"{path} lies in another repository, inside of the worktree.",
                "Name a file that belongs to the worktree, or --force.",
                file=path,
                folder=folder,
            )
        return
    if not leaves or any(_within(path, root) for root in roots):
        raise Refused(
            "outside_workspace",
            f"{path} lies outside of the workspace{_because(path, folder)}.",
            "Name a file in the worktree, or --force.",
            file=path,
            folder=folder,
        )


def _because(path: str, folder: str) -> str:
    return "" if os.path.dirname(path) == folder else f": its folder is really {folder}"


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _in_nested_repository(folder: str, roots: set[str]) -> bool:
    """Whether a `.git` stands between a folder of a worktree and its root: then it belongs to somebody else."""
    for part in _upwards(folder):
        if part in roots:
            return False
        if os.path.lexists(os.path.join(part, ".git")):
            return True
    return False


def _is_git_directory(path: str) -> bool:
    if os.path.basename(path).lower() == ".git":
        return True
    return os.path.isfile(os.path.join(path, "HEAD")) and all(
        os.path.isdir(os.path.join(path, name)) for name in ("objects", "refs")
    )


def put(draft: str, path: str, *, force: bool) -> None:
    """Give a whole file its name: unasked never over one that came meanwhile; without links, as well as one can."""
    if force:
        os.replace(draft, path)
        return
    try:
        os.link(draft, path)
    except FileExistsError:
        raise _exists(path) from None
    except OSError:
        if os.path.lexists(path):
            raise _exists(path) from None
        os.rename(draft, path)


def unusable(path: str, error: OSError) -> Unavailable:
    """It cannot be written."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            remedy = "Make its folder first, or name a file elsewhere."
        case PermissionError():
            remedy = "Name a file where this user may write."
        case _:
            remedy = "Name another file, or make room for it."
    return Unavailable("file_unusable", f"{path} cannot be used: {_why(error)}.", remedy, file=path)


def unreadable(path: str, error: OSError) -> Unavailable | Usage:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        remedy = "Name a file that `moot export` wrote, or - for the standard input."
        return Usage("no_export", f"There is no file {path}.", remedy, file=path)
    remedy = "Let this user read it, or name another file that `moot export` wrote."
    return Unavailable("file_unreadable", f"{path} cannot be read: {_why(error)}.", remedy, file=path)


def _why(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _exists(path: str) -> Refused:
    return Refused("file_exists", f"{path} is there already.", "Take another name, or --force.", file=path)


def _own(place: Place, path: str) -> bool:
    """Whether it is, or is inside of, what moot or git keep here: by name, and by inode where names have two cases."""
    roots = {root for root in (place.root, place.main_root) if root is not None}
    kept = [os.path.join(root, name) for root in roots for name in (".git", "moot.toml")]
    kept += [directory for directory in (place.state, place.common) if directory is not None]
    names = {os.path.realpath(own) for own in kept}
    inodes = {_inode(own) for own in kept} - {None}
    named = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))  # a link itself,
    meant = os.path.realpath(path)  # and what it leads to
    return any(part in names or _inode(part) in inodes for full in (named, meant) for part in _upwards(full))


def _upwards(path: str) -> Iterator[str]:
    yield path
    while (above := os.path.dirname(path)) != path:
        path = above
        yield path


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
