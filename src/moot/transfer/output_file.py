"""A file under another name until it is whole, and what is left of one whose process was killed.

    FILE.moot-1f2e3d.lock    locked as long as its process lives, however that ends; made first and removed last
    FILE.moot-1f2e3d.part    what is being written, and beside it what SQLite needs meanwhile

The lock is a file of its own because SQLite locks what it writes: where the file system knows one kind of locks only,
they would be in each other's way. A number of a process in the name would tell less: another may have it by now, or
it may be one of another machine.
"""

from __future__ import annotations

import os

from moot.private_files import is_still, locked

_KINDS = ("", "-journal", "-wal", "-shm")


class Part:
    """Used as `with Part(path) as draft`. Nothing of it is there afterwards."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._base = ""
        self._lock = -1

    def __enter__(self) -> str:
        sweep(self._path)
        while self._lock < 0:
            self._base = f"{self._path}.moot-{os.urandom(3).hex()}"
            self._lock = _made(f"{self._base}.lock")
        return f"{self._base}.part"

    def __exit__(self, *_: object) -> None:
        try:
            _remove(self._base)
        finally:
            os.close(self._lock)


def sweep(path: str) -> None:
    """Remove what killed processes have left of `path`. Where it cannot be told that one is gone, it stays."""
    folder, name = os.path.split(path)
    try:
        left = [found for found in os.listdir(folder) if found.startswith(f"{name}.moot-") and found.endswith(".lock")]
    except OSError:
        return  # whoever writes there will say what is wrong
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
            continue  # not ours to remove, or a file system without locks
        finally:
            os.close(file)


def _made(lock: str) -> int:
    """The new file, locked; -1 if the name is taken, or somebody who sweeps was faster than the lock."""
    try:
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return -1
    try:
        try:
            mine = locked(file) and is_still(lock, file)
        except OSError:
            mine = True  # a file system without locks, where nobody sweeps
    except BaseException:
        os.close(file)
        raise
    if not mine:
        os.close(file)
        return -1
    return file


def _remove(base: str) -> None:
    for name in (*(f"{base}.part{kind}" for kind in _KINDS), f"{base}.lock"):
        try:
            os.unlink(name)
        except FileNotFoundError:
            continue
