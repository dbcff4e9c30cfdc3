"""Writes a file for its caller alone, under a temporary name until it is complete.

    FILE.moot-1f2e3d.lock    locked while the writing process lives; created first and removed last
    FILE.moot-1f2e3d.part    the draft, with the files that SQLite puts beside it

The lock is a separate file because SQLite locks the draft: on a file system with only one kind of lock, the two would
collide. A process id in the name would be less reliable: another process may have it by now, perhaps on another
machine. The next writer of the same file removes what a killed process left.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from moot.core.errors import Refused, Unavailable
from moot.private_files import is_still, locked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = ("", "-journal", "-wal", "-shm")


@contextmanager
def written(path: str, *, force: bool) -> Iterator[tuple[str, int]]:
    """A new empty draft of the file, and its descriptor. The draft gets its name when the context ends without error.

    Only its caller can read it, whatever the umask: a log contains what agents tell each other.
    """
    try:
        _sweep(path)
        base, lock = "", -1
        while lock < 0:
            base = f"{path}.moot-{os.urandom(3).hex()}"
            lock = _new_lock(f"{base}.lock")
        draft = f"{base}.part"
        try:
            # Also for SQLite: an error of the system says more about a bad place than SQLite's.
            file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                yield draft, file
            finally:
                os.close(file)
            put(draft, path, force=force)
        finally:
            try:
                _remove(base)
            finally:
                os.close(lock)
    except OSError as error:
        raise _unusable(path, error) from error


def put(draft: str, path: str, *, force: bool) -> None:
    """Give a complete draft its name. Without `force`, never replace a file, even one that was created meanwhile."""
    if force:
        os.replace(draft, path)
        return
    try:
        os.link(draft, path)
    except FileExistsError:
        raise exists(path) from None
    except OSError:  # a file system without hard links, where this cannot be atomic
        if os.path.lexists(path):
            raise exists(path) from None
        os.rename(draft, path)


def exists(path: str) -> Refused:
    return Refused("file_exists", f"{path} already exists.", "Choose another name, or use --force.", file=path)


def reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _unusable(path: str, error: OSError) -> Unavailable:
    match error:
        case FileNotFoundError() | NotADirectoryError():
            remedy = "Create its folder first, or name another file."
        case PermissionError():
            remedy = "Name a file that this user may write."
        case _:
            remedy = "Name another file, or make room for it."
    return Unavailable("file_unusable", f"{path} cannot be written: {reason(error)}.", remedy, file=path)


def _sweep(path: str) -> None:
    """Remove what killed processes left of `path`. If it is unclear whether a process is gone, its files stay."""
    folder, name = os.path.split(path)
    try:
        left = [found for found in os.listdir(folder) if found.startswith(f"{name}.moot-") and found.endswith(".lock")]
    except OSError:
        return  # creating the draft reports the problem
    for found in left:
        lock = os.path.join(folder, found)
        try:
            file = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            if locked(file) and is_still(lock, file):
                _remove(lock.removesuffix(".lock"))
        except OSError:
            continue  # another user's file, or a file system without locks
        finally:
            os.close(file)


def _new_lock(path: str) -> int:
    """A new, locked file; -1 if the name is taken, or if another process swept the file before it was locked."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return -1
    try:
        if locked(file) and is_still(path, file):
            return file
    except OSError:
        return file  # a file system without locks, where nobody sweeps
    os.close(file)
    return -1


def _remove(base: str) -> None:
    for name in (*(f"{base}.part{kind}" for kind in _KINDS), f"{base}.lock"):
        try:
            os.unlink(name)
        except FileNotFoundError:
            continue
