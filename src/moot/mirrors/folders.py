"""Opens the directory of a mirror file, part by part, so that nobody can replace a part between check and use.

Anybody who may write to a directory of the worktree could replace a part of the path with a link. So each part is
opened from the one above it, without following links, and must belong to an accepted account. From then on the
directory is used by its descriptor, so renaming it has no effect.

A link to another directory of the same worktree is allowed if it belongs to an accepted account.
"""

from __future__ import annotations

import errno
import os
from stat import S_ISLNK

from moot.location import trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from moot.location import Place

_ROOT = 0
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DESCRIPTORS = "/proc/self/fd"


class Stopped(Exception):
    """The path to a file may not be used. Nothing was created or read."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Folder:
    """An open directory. `path` works while it is open; `name` is its path for messages.

    On systems without paths for descriptors (macOS), `path` is the name, and only the checks protect.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor, self.name = descriptor, name
        below = f"{_DESCRIPTORS}/{descriptor}"
        self.path = below if os.path.isdir(below) else name

    def at(self, name: str) -> str:
        return f"{self.path}/{name}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
        if isinstance(error, OSError) and isinstance(error.filename, str):
            error.filename = error.filename.replace(self.path, self.name, 1)


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


def enter(root: str, relative: str, accepts: Callable[[int], bool], *, make: bool = False) -> Folder:
    """Open a directory below `root`. Raises `Stopped`, and without `make` `FileNotFoundError` if it does not exist."""
    try:
        here = os.open(root, _OPEN)
    except OSError as error:
        raise Stopped(f"{root} is gone" if error.errno == errno.ENOENT else f"{root}: {error.strerror}") from error
    path = root
    try:
        _check(here, path, accepts)
        for part in _parts(root, relative, accepts):
            path = f"{path}/{part}"
            here, above = _step(here, part, path, make=make), here
            os.close(above)
            _check(here, path, accepts)
        return Folder(here, path)
    except BaseException:
        os.close(here)
        raise


def _parts(root: str, relative: str, accepts: Callable[[int], bool]) -> list[str]:
    """The names along the path, after links are resolved."""
    names = relative.split(os.sep) if relative else []
    path, linked = root, False
    for name in names:
        path = f"{path}/{name}"
        try:
            found = os.lstat(path)
        except OSError:
            break
        if S_ISLNK(found.st_mode):
            linked = True
            if not accepts(found.st_uid):
                raise Stopped(f"{path} is a link of another account (uid {found.st_uid})")
    if linked:
        whole = os.path.join(root, relative)
        real = os.path.realpath(whole)
        if os.path.commonpath((real, root)) != root:
            raise Stopped(f"{whole} points out of {root}")
        names = [name for name in os.path.relpath(real, root).split(os.sep) if name != "."]
        if {".git", ".moot"} & {name.lower() for name in names}:  # through a link that somebody committed
            raise Stopped(f"{whole} points into a directory of git or moot")
    return names


def _step(here: int, part: str, path: str, *, make: bool) -> int:
    try:
        return os.open(part, _OPEN, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
            raise Stopped(f"{path} is not a directory") from error
        raise OSError(error.errno, error.strerror, path) from error
    try:
        os.mkdir(part, dir_fd=here)
    except FileExistsError:
        pass  # another process created it
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    return _step(here, part, path, make=False)


def _check(here: int, path: str, accepts: Callable[[int], bool]) -> None:
    uid = os.fstat(here).st_uid
    if not accepts(uid):
        raise Stopped(f"{path} belongs to another account (uid {uid})")
