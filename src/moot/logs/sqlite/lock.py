"""The queue of writers: an advisory lock on a file, taken in front of SQLite's own.

SQLite lets waiting writers poll, and some of them starve for seconds. Waiting in `flock` is a matter of
milliseconds. The lock only orders writers; that they never mix is SQLite's work, with or without it.
"""

from __future__ import annotations

import fcntl
import os
import sys
from _thread import TIMEOUT_MAX

from moot.forks import watch
from moot.logs.sqlite import faults

# Not when it is needed: a child that is forked while another thread imports it would wait for that thread for ever.
from moot.logs.sqlite.waiter import Waiter, Wanted
from moot.private_files import open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


class WriterLock:
    """Held by one handle at a time."""

    keeps_others_out = True
    patience: float | None = None  # seconds, in place of the timeout

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._file: int | None = None
        self._waiter: Waiter | None = None
        watch(self)

    def acquire(self) -> None:
        """Wait for it, but no longer than the timeout."""
        if not self.acquire_now():
            self._wait(self._opened(), None)

    def acquire_now(self) -> bool:
        """Take it if nobody has it."""
        try:
            file = self._opened() if self._file is None else self._file
            if self._waiter is not None and self._waiter.blocks:
                return False
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            self.close()
            raise faults.of_system(error, self._path) from error
        return True

    def hold(self, work: Callable[[], T]) -> T:
        """Wait for it, do something short while one has it, and give it back; all by another thread."""
        return self._wait(self._opened(), work)  # type: ignore[return-value]

    def _opened(self) -> int:
        if self._file is None:
            self._file = open_private(self._path, os.O_RDWR | os.O_CREAT, 0o660)
        return self._file

    def release(self) -> None:
        """Let the next one in. As long as the thread that waits is busy, the lock is its own."""
        if self._file is not None and (self._waiter is None or not self._waiter.blocks):
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give back the file, and with it the lock."""
        self.release()
        waiter, self._waiter = self._waiter, None
        file, self._file = self._file, None
        if waiter is not None and file is not None:
            waiter.close()
        elif file is not None:
            os.close(file)

    def __del__(self) -> None:
        if not sys.is_finalizing():  # then the system lets go, and the thread may have ended with its guard held
            self.close()

    def _wait(self, file: int, work: Callable[[], T] | None) -> T | None:
        if self._waiter is None:
            self._waiter = Waiter(file)
        wanted, longest = Wanted(work), self._timeout if self.patience is None else min(self.patience, self._timeout)
        if not self._waiter.wait(wanted, min(longest, TIMEOUT_MAX)):
            raise faults.locked(self._path, self._holder(), longest)
        if wanted.refused is not None:
            self.close()
            raise faults.of_system(wanted.refused, self._path) from wanted.refused
        if wanted.failed is not None:
            raise wanted.failed
        done: T | None = wanted.result
        return done

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
        file, self._file, self._waiter = self._file, None, None  # threads stay with the parent
        if file is not None:
            os.close(file)


class NoLock:
    """No queue: writers meet in SQLite."""

    keeps_others_out = False
    patience: float | None = None

    def acquire(self) -> None:
        """Nothing to wait for."""

    def acquire_now(self) -> bool:
        """Nobody is kept out, so whoever decides before its turn has nothing to gain."""
        return True

    def hold(self, work: Callable[[], T]) -> T:
        """Just do it."""
        return work()

    def release(self) -> None:
        """Nothing to give back."""

    def close(self) -> None:
        """Nothing is open."""
