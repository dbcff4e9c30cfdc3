"""Checks the path of a file that a verb writes for its caller.

It is never a file of moot or git. Without --force it does not exist yet, it is not in a git directory, and no link
leads to another place than its path says.
"""

from __future__ import annotations

import os

from moot.core.errors import Refused, Unavailable, Usage
from moot.location import worktrees
from moot.transfer import output_file

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
    """The absolute path, checked before any work is done. `leaves`: it may be outside the workspace without --force."""
    path = path_of(call, file)
    if _own(call.place, path):
        raise Refused(
            "own_file",
            f"{path} belongs to moot or git.",
            "Name another file. --force does not change this.",
            file=path,
        )
    if os.path.exists(path) and not os.path.isfile(path):
        raise Usage(
            "not_a_file", f"{path} is not a file.", "Name a file. `moot export -` writes to standard output.", file=path
        )
    if not force:
        _check_place(call.place, path, leaves=leaves)
        if os.path.lexists(path):
            raise output_file.exists(path)
    return path


def _check_place(place: Place, path: str, *, leaves: bool) -> None:
    folder = os.path.realpath(os.path.dirname(path))
    if any(map(_is_git_directory, _upwards(folder))):
        raise Refused(
            "inside_git", f"{path} is in a git directory.", "Name a file elsewhere, or use --force.", file=path
        )
    roots = [tree.root for tree in worktrees(place)]
    real = {os.path.realpath(root) for root in roots}
    if any(_within(folder, root) for root in real):
        if not leaves and _in_nested_repository(folder, real):
            raise Refused(
                "outside_workspace",
                f"{path} is in another repository inside the worktree.",
                "Name a file that belongs to the worktree, or use --force.",
                file=path,
                folder=folder,
            )
        return
    if not leaves or any(_within(path, root) for root in roots):
        because = "" if os.path.dirname(path) == folder else f": its folder is really {folder}"
        raise Refused(
            "outside_workspace",
            f"{path} is outside the workspace{because}.",
            "Name a file in the worktree, or use --force.",
            file=path,
            folder=folder,
        )


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _in_nested_repository(folder: str, roots: set[str]) -> bool:
    """Whether a folder of a worktree is in another repository: it or a folder between it and the root has a `.git`."""
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


def unreadable(path: str, error: OSError) -> Unavailable | Usage:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        remedy = "Name a file that `moot export` wrote, or - for standard input."
        return Usage("no_export", f"There is no file {path}.", remedy, file=path)
    remedy = "Let this user read it, or name another file that `moot export` wrote."
    return Unavailable("file_unreadable", f"{path} cannot be read: {output_file.reason(error)}.", remedy, file=path)


def _own(place: Place, path: str) -> bool:
    """Whether the path is, or is inside, a file of moot or git. Also compares inodes: names may ignore case."""
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
