"""The queue of writers: an advisory lock on a file, taken in front of SQLite's own.

SQLite lets waiting writers poll, and some of them starve for seconds. Waiting in `flock` is a matter of
milliseconds. The lock only orders writers; that they never mix is SQLite's work, with or without it.
"""

from __future__ import annotations

import fcntl
import os
from _thread import TIMEOUT_MAX, allocate_lock, start_new_thread

from moot.forks import watch
from moot.logs.sqlite import faults


class WriterLock:
    """Held by one handle at a time."""

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self.contended = False  # whether others were before us when we came
        self._file: int | None = None
        self._waiter: _Waiter | None = None
        watch(self)

    def acquire(self) -> None:
        """Wait for it, but no longer than the timeout."""
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            if self._waiter is not None and self._waiter.blocks:
                self._wait(self._file)
                return
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.contended = False
            except BlockingIOError:
                self._wait(self._file)
        except OSError as error:
            self.close()
            raise faults.of_system(error, self._path) from error

    def release(self) -> None:
        """Let the next one in."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give back the file, and with it the lock."""
        waiter, self._waiter = self._waiter, None
        file, self._file = self._file, None
        if waiter is not None and file is not None:
            fcntl.flock(file, fcntl.LOCK_UN)
            waiter.close()
        elif file is not None:
            os.close(file)

    def __del__(self) -> None:
        self.close()

    def _wait(self, file: int) -> None:
        self.contended = True
        if self._waiter is None:
            self._waiter = _Waiter(file)
        if not self._waiter.wait(min(self._timeout, TIMEOUT_MAX)):
            raise faults.locked(self._path, self._holder(), self._timeout)

    def _holder(self) -> int | None:
        """The process that has the lock, for whoever waits in vain; None where the system does not tell."""
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

    def before_fork(self) -> None:
        """The lock stays with this process."""

    def after_fork_in_parent(self) -> None:
        """Nothing changed."""

    def after_fork_in_child(self) -> None:
        """The child shares the open file and must neither hold nor release its parent's lock."""
        self._waiter = None  # threads stay with the parent
        self.close()


class _Waiter:
    """Blocks in `flock` in a thread of its own, because that call knows no timeout and no way back.

    The thread is kept for the next time: where several write, one waits more often than not. One that was left while it
    still blocks is gone on with; until then nobody else may lock this file, since both would be one to the system.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._asked, self._arrived, self._guard = allocate_lock(), allocate_lock(), allocate_lock()
        self._asked.acquire()
        self._arrived.acquire()
        self._state = "idle"  # wanted, left (nobody waits any more, and the thread still blocks), here
        self._ended = False
        self._failed: OSError | None = None
        start_new_thread(self._work, ())

    @property
    def blocks(self) -> bool:
        """Whether the thread still waits for somebody who has left."""
        return self._state == "left"

    def wait(self, timeout: float) -> bool:
        """True once the lock is there, False if that took too long."""
        with self._guard:
            if self._state == "idle":
                self._asked.release()
            self._state = "wanted"
        try:
            self._arrived.acquire(timeout=timeout)
        except BaseException:  # interrupted by a signal
            self._leave()
            raise
        here = not self._leave(unless_here=True)
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed
        return here

    def _leave(self, *, unless_here: bool = False) -> bool:
        """Whether nothing is held now."""
        with self._guard:
            if self._state == "wanted":
                self._state = "left"
                return True
            self._state = "idle"
            self._arrived.acquire(blocking=False)
            if not unless_here:
                fcntl.flock(self._file, fcntl.LOCK_UN)
            return not unless_here

    def close(self) -> None:
        """Let go of the file, and of the lock; by the thread, as soon as it can."""
        self._ended = True
        with self._guard:
            if self._state == "idle":
                self._asked.release()

    def _over(self) -> bool:
        return self._ended

    def _work(self) -> None:
        while self._asked.acquire() and not self._over():
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX)
            except OSError as error:
                self._failed = error
            with self._guard:
                if self._state == "wanted":
                    self._state = "here"
                    self._arrived.release()
                else:
                    self._state = "idle"
                    fcntl.flock(self._file, fcntl.LOCK_UN)
            if self._over():
                break
        fcntl.flock(self._file, fcntl.LOCK_UN)  # a child that was forked meanwhile may have the file open, too
        os.close(self._file)


class NoLock:
    """No queue: writers meet in SQLite."""

    contended = False

    def acquire(self) -> None:
        """Nothing to wait for."""

    def release(self) -> None:
        """Nothing to give back."""

    def close(self) -> None:
        """Nothing is open."""
