"""Waiting for a lock on a file in a thread of its own, because `flock` knows no timeout and no way back.

The thread is kept for the next time: where several write, one waits more often than not. It may also do what the lock
is wanted for: waking another thread takes about as long as an append, and everybody behind would wait for that.
"""

from __future__ import annotations

import fcntl
import os
from _thread import RLock, allocate_lock, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Wanted:
    """What somebody waits for: the lock itself, or some work done under it, and what came of that."""

    def __init__(self, work: Callable[[], Any] | None) -> None:
        self.work = work
        self.result: Any = None
        self.failed: BaseException | None = None  # the work
        self.refused: OSError | None = None  # why the system did not give the lock
        self.done = False
        self.left = False  # by whoever waited, too late to call it off
        self.bell = allocate_lock()
        self.bell.acquire()


class Waiter:
    """For one open file, and for one caller at a time.

    Both are one to the system: while it `blocks`, nobody else may lock the file by this descriptor.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._guard = RLock()  # a handle may be collected, and so closed, wherever either thread is
        self._asked = allocate_lock()
        self._asked.acquire()
        self._wanted: Wanted | None = None  # under the guard; the thread takes it out when it has the lock
        self._idle = True
        self._ended = False
        start_new_thread(self._serve, ())

    @property
    def blocks(self) -> bool:
        """Whether the thread is still busy, maybe for somebody who has left."""
        return not self._idle

    def wait(self, wanted: Wanted, timeout: float) -> bool:
        """True once it is done, False if the lock did not come in time; then nothing was done, and nothing will be."""
        try:
            with self._guard:
                self._wanted = wanted
                if self._idle:
                    self._idle = False
                    self._asked.release()
            if wanted.bell.acquire(timeout=timeout):
                return True
            if self._call_off():
                return False
            wanted.bell.acquire()  # it has just begun
        except BaseException:  # interrupted by a signal
            self._leave(wanted)
            raise
        return True

    def close(self) -> None:
        """Let go of the file, and of the lock; by the thread, as soon as it can."""
        with self._guard:
            self._ended = True
            if self._idle:
                self._idle = False
                self._asked.release()

    def _call_off(self) -> bool:
        with self._guard:
            waits, self._wanted = self._wanted is not None, None
            return waits

    def _leave(self, wanted: Wanted) -> None:
        """Work that has begun comes to its end without us. A lock that came is given back by whoever comes second."""
        with self._guard:
            self._wanted, wanted.left = None, True
            if wanted.done and wanted.work is None and wanted.refused is None:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _serve(self) -> None:
        while self._asked.acquire() and not self._ended:
            while self._once():
                pass
        fcntl.flock(self._file, fcntl.LOCK_UN)  # a child that was forked meanwhile may have the file open, too
        os.close(self._file)

    def _once(self) -> bool:
        """Wait for the lock and give it to whoever wants it then. Whether somebody wants it again."""
        refused: OSError | None = None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            refused = error
        with self._guard:
            wanted, self._wanted = self._wanted, None
        kept = False
        if wanted is not None:
            wanted.refused, kept = refused, wanted.work is None and refused is None
            if wanted.work is not None and refused is None:
                _do(wanted)
        with self._guard:
            if not kept or (wanted is not None and wanted.left):
                fcntl.flock(self._file, fcntl.LOCK_UN)
            ended = self._ended
            again = self._is_wanted() and not ended
            self._idle = not again and not ended
            if ended:
                self._asked.release()
            if wanted is not None:
                wanted.done = True
                wanted.bell.release()  # last: from here on the lock is that of whoever waited
            return again

    def _is_wanted(self) -> bool:
        return self._wanted is not None


def _do(wanted: Wanted) -> None:
    assert wanted.work is not None
    try:
        wanted.result = wanted.work()
    except BaseException as error:
        wanted.failed = error
