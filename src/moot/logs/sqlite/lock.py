"""The writer lock: an advisory lock on a file, taken before SQLite's own.

SQLite lets waiting writers sleep longer and longer, so some of them starve for seconds. Here all waiters poll at about
the same rate, however long they have waited, so each has the same chance. The lock only orders writers; SQLite isolates
them from each other, with or without it.
"""

from __future__ import annotations

import fcntl
import os
import time

from moot.logs.sqlite import faults
from moot.place.private_files import open_private

_QUICK = 0.0001  # seconds between the first few polls: most writers hold the lock for less than a millisecond
_LOOKS = 3
_PAUSE = 0.001
_LONG = 1.0  # seconds: a writer that has held the lock for so long will not release it in a millisecond
_LONG_PAUSE = 0.005


class WriterLock:
    """Held by one handle at a time."""

    keeps_others_out = True

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._file: int | None = None
        self._process = os.getpid()

    def acquire(self, patience: float | None = None) -> None:
        """Wait for the lock, at most for the timeout, or for `patience` seconds if that is less."""
        try:
            if self._file is None:
                self._file = open_private(self._path, os.O_RDWR | os.O_CREAT, 0o660)
            if not _taken(self._file):
                self._wait(self._file, self._timeout if patience is None else min(patience, self._timeout))
        except OSError as error:
            self.close()
            raise faults.of_system(error, self._path) from error

    def _wait(self, file: int, longest: float) -> None:
        start, looks = time.monotonic(), 0
        while (waited := time.monotonic() - start) < longest:
            looks += 1
            pause = _QUICK if looks <= _LOOKS else _PAUSE if waited < _LONG else _LONG_PAUSE
            time.sleep(min(pause, longest))
            if _taken(file):
                return
        raise faults.locked(self._path, self._holder(), longest)

    def release(self) -> None:
        """Let the next writer in. Not in a forked child, which shares the open file: the lock is its parent's."""
        if self._file is not None and self._process == os.getpid():
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file, and release the lock with it."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def __del__(self) -> None:
        self.close()

    def _holder(self) -> int | None:
        """The process that holds the lock; None if unknown."""
        try:
            place = os.stat(self._path)
            name = f"{os.major(place.st_dev):02x}:{os.minor(place.st_dev):02x}:{place.st_ino}"
            with open("/proc/locks", encoding="ascii") as locks:
                for line in locks:  # 1: FLOCK  ADVISORY  WRITE 4711 fe:00:98765 0 EOF; a waiting one has an arrow
                    fields = line.split()
                    if fields[1] == "FLOCK" and fields[5] == name:
                        return int(fields[4]) or None
        except (OSError, ValueError, IndexError):
            pass
        return None


def _taken(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class NoLock:
    """No lock: only SQLite's own locks order the writers."""

    keeps_others_out = False

    def acquire(self, patience: float | None = None) -> None:
        """Nothing to wait for."""

    def release(self) -> None:
        """Nothing to release."""

    def close(self) -> None:
        """Nothing is open."""
