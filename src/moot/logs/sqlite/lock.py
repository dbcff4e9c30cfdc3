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
    """Held by one handle at a time. The file names the process that holds it, for whoever waits in vain."""

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._file: int | None = None
        watch(self)

    def acquire(self) -> None:
        """Wait for it, but no longer than the timeout."""
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._wait(self._file)
            os.pwrite(self._file, b"%-20d\n" % os.getpid(), 0)
        except OSError as error:
            self.close()
            raise faults.of_system(error, self._path) from error

    def release(self) -> None:
        """Let the next one in."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give back the file, and with it the lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __del__(self) -> None:
        self.close()

    def _wait(self, file: int) -> None:
        """Block in a helper thread, because `flock` knows no timeout and no way back.

        Whoever takes `decided` first settles it: the helper has the lock, or the caller has left. A helper that
        was left alone gives the lock back when it comes.
        """
        decided, arrived = allocate_lock(), allocate_lock()
        arrived.acquire()
        failed: list[OSError] = []

        def block() -> None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError as error:
                failed.append(error)
            if decided.acquire(blocking=False):
                arrived.release()
            else:
                fcntl.flock(file, fcntl.LOCK_UN)
                os.close(file)

        start_new_thread(block, ())
        try:
            in_time = arrived.acquire(timeout=min(self._timeout, TIMEOUT_MAX))
        except BaseException:  # interrupted by a signal: leave, or give back what just came
            if decided.acquire(blocking=False):
                self._file = None
            else:
                self.release()
            raise
        if not in_time and decided.acquire(blocking=False):
            self._file = None
            raise faults.locked(self._path, self._holder(), self._timeout)
        if failed:
            raise failed[0]

    def _holder(self) -> int | None:
        try:
            with open(self._path, "rb", buffering=0) as file:
                return int(file.read(32))
        except (OSError, ValueError):
            return None

    def before_fork(self) -> None:
        """The lock stays with this process."""

    def after_fork_in_parent(self) -> None:
        """Nothing changed."""

    def after_fork_in_child(self) -> None:
        """The child shares the open file and must neither hold nor release its parent's lock."""
        self.close()


class NoLock:
    """No queue: writers meet in SQLite."""

    def acquire(self) -> None:
        """Nothing to wait for."""

    def release(self) -> None:
        """Nothing to give back."""

    def close(self) -> None:
        """Nothing is open."""
