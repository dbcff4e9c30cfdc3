"""The directory of a mirror file: below the worktree, and of accepted accounts.

A link to another directory of the same worktree is allowed if it belongs to an accepted account. The check is done
before each use; who may write to a directory above could still replace it in between (see the known limits).
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK

from moot.place import trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.place import Place

_ROOT = 0


class Stopped(Exception):
    """The path to a file may not be used. Nothing was created or read."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def is_own(uid: int) -> bool:
    """Whether the account is root or the caller. The default rule for accepted accounts."""
    return uid in (_ROOT, os.geteuid())


class Accounts(dict[int, bool]):
    """Whether files of an account are accepted in a workspace, by user id. Each is looked up once."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def __missing__(self, uid: int) -> bool:
        self[uid] = found = trust.may_write(self._place, uid)
        return found


def enter(root: str, relative: str, accepts: Callable[[int], bool], *, make: bool = False) -> str:
    """The real path of a directory below `root`. Raises `Stopped`, or without `make` `FileNotFoundError`."""
    whole = os.path.join(root, relative) if relative else root
    real = os.path.realpath(whole)
    if not os.path.isdir(root):
        raise Stopped(f"{root} is gone" if not os.path.lexists(root) else f"{root} is not a directory")
    if os.path.commonpath((real, root)) != root:
        raise Stopped(f"{whole} points out of {root}")
    if real != whole and {".git", ".moot"} & {*os.path.relpath(real, root).lower().split(os.sep)}:
        raise Stopped(f"{whole} points into a directory of git or moot")  # through a link that somebody committed
    there = [_check(path, accepts) for path in (*_along(root, whole), *(_along(root, real) if real != whole else ()))]
    if make:
        os.makedirs(real, exist_ok=True)
    elif not all(there):
        raise FileNotFoundError(real)
    return real


def _along(root: str, path: str) -> list[str]:
    """The directories from the root to a path below it."""
    names = os.path.relpath(path, root).split(os.sep) if path != root else []
    return [os.path.join(root, *names[:number]) for number in range(len(names) + 1)]


def _check(path: str, accepts: Callable[[int], bool]) -> bool:
    """Whether it exists. Raises `Stopped` if it may not be used."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    linked = S_ISLNK(found.st_mode)
    if not accepts(found.st_uid):
        raise Stopped(f"{path} {'is a link of' if linked else 'belongs to'} another account (uid {found.st_uid})")
    if not linked and not S_ISDIR(found.st_mode):
        raise Stopped(f"{path} is not a directory")
    return True
