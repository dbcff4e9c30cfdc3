"""The lock for mirrors, and a check whether a file is open for writing.

One process at a time per workspace syncs mirrors. The lock is on the state directory itself: a lock file could be
deleted while it is locked, and the next process would lock a new one. A waiting process gives up its wait when another
process has already done its work. A second lock, the gate, admits one waiter at a time: without it, a process that
locks repeatedly starves the others (measured). It only orders them, so it is a file. The kernel releases locks when
their holder dies.

This module does not know what is done under the lock.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from moot.core.errors import Unavailable
from moot.place.private_files import open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    Got = Literal["ours", "done", "timeout"]

_NAP, _LONGEST_NAP = 0.001, 0.008


class MirrorLock:
    """Waits for the lock. As a context manager it gives "ours", "done" (by another process) or "timeout".

    Not re-entrant; threads exclude each other as processes do.
    """

    def __init__(self, state: str, gate: str, timeout: float, done: Callable[[], bool]) -> None:
        self._gate, self._lock = FileLock(gate), _FolderLock(state)
        self._timeout, self._done = timeout, done

    def __enter__(self) -> Got:
        got: Got = "timeout"
        try:
            got = self._wait(time.monotonic() + self._timeout)
        finally:
            self._gate.leave()
            if got != "ours":
                self._lock.leave()
        return got

    def __exit__(self, *_error: object) -> None:
        self._lock.leave()

    def _wait(self, deadline: float) -> Got:
        for flock, longest in ((self._gate, _LONGEST_NAP), (self._lock, _NAP)):  # the first in line polls often
            nap = _NAP
            while not flock.take():
                if self._done():
                    return "done"
                left = deadline - time.monotonic()
                if left <= 0:
                    return "timeout"
                time.sleep(min(nap, left))
                nap = min(nap * 2, longest)
        return "done" if self._done() else "ours"


class _FolderLock:
    """A lock on a directory."""

    def __init__(self, path: str) -> None:
        self._path, self._fd = path, -1

    def _open(self) -> int:
        return os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def take(self) -> bool:
        """Try once."""
        try:
            if self._fd < 0:
                self._fd = self._open()
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._is_at_its_path():
                return True
        except BlockingIOError:
            if self._is_at_its_path():
                return False
        except OSError as error:
            raise Unavailable(
                "mirror_lock_unusable",
                f"the mirrors' lock cannot be taken: {self._path}: {error.strerror}",
                "make its directory writable, on a local file system",
            ) from error
        self.leave()  # it was deleted, perhaps created again: this lock excludes no one
        return False

    def _is_at_its_path(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._fd), os.stat(self._path))
        except FileNotFoundError:
            return False

    def leave(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            try:
                fcntl.flock(fd, fcntl.LOCK_UN)  # a forked child may share the descriptor: closing would not be enough
            finally:
                os.close(fd)


class FileLock(_FolderLock):
    """A lock on a file that may be deleted at any time."""

    def _open(self) -> int:
        return open_private(self._path, os.O_RDWR | os.O_CREAT, 0o660)


def _urgent() -> int:
    try:
        return int(__import__("_signal").SIGURG)  # `signal` brings enum, which takes longer than the whole check
    except (ImportError, AttributeError):
        from signal import SIGURG

        return SIGURG


def open_for_writing(fd: int) -> bool | None:
    """Whether any process has the file behind the read-only `fd` open for writing; None if unknown.

    Linux grants a read lease only if none has. The lease lasts until `fd` is closed.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return None

    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, _urgent())  # the signal for a broken lease; the default would end the process
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    return False
