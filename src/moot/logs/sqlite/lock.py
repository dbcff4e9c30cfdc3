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
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.contended = False
            except BlockingIOError:
                self.contended = True
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
        if self._file is not None and self._waiter is None:
            os.close(self._file)
            self._file = None
        elif self._waiter is not None:
            self.release()
            self._abandon()

    def __del__(self) -> None:
        self.close()

    def _wait(self, file: int) -> None:
        if self._waiter is None:
            self._waiter = _Waiter(file)
        try:
            in_time = self._waiter.wait(min(self._timeout, TIMEOUT_MAX))
        except BaseException:  # interrupted by a signal, or refused by the system
            self._abandon()
            raise
        if not in_time:
            self._abandon()
            raise faults.locked(self._path, self._holder(), self._timeout)

    def _abandon(self) -> None:
        """Leave the file to the one who still waits in it, or has just got the lock: it gives both back."""
        waiter, self._waiter, self._file = self._waiter, None, None
        if waiter is not None:
            waiter.leave()

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

    The thread is kept for the next time: where several write, one waits more often than not. Whoever takes `_decided`
    first settles a wait: the thread has the lock, or the caller has left.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._asked, self._arrived, self._decided = allocate_lock(), allocate_lock(), allocate_lock()
        self._asked.acquire()
        self._arrived.acquire()
        self._failed: OSError | None = None
        start_new_thread(self._work, ())

    def wait(self, timeout: float) -> bool:
        """True once the lock is there, False if that took too long. Whoever does not get True must `leave`."""
        self._asked.release()
        if not self._arrived.acquire(timeout=timeout):
            return False
        if self._failed is not None:
            raise self._failed
        self._decided.release()  # for the next time
        return True

    def leave(self) -> None:
        """Never to be asked again: the thread gives back the file, and the lock if it has it or still gets it."""
        self._decided.acquire(blocking=False)
        if self._asked.locked():
            self._asked.release()

    def _work(self) -> None:
        while self._asked.acquire() and self._failed is None and not self._decided.locked():
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX)
            except OSError as error:
                self._failed = error
            if not self._decided.acquire(blocking=False):
                break
            self._arrived.release()
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
