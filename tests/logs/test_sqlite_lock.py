"""The writer lock: waiting for it, waiting in vain, and being interrupted."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from moot.core.errors import Unavailable
from moot.logs.sqlite.lock import WriterLock

PATIENCE = 20.0


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "lock")


@pytest.fixture
def lock(path: str) -> Iterator[WriterLock]:
    made = WriterLock(path, PATIENCE)
    yield made
    made.close()


class Other:
    """Another process, as far as the lock can tell."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT)

    def takes(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def frees(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._file)


@pytest.fixture
def other(path: str) -> Iterator[Other]:
    made = Other(path)
    yield made
    made.close()


@contextmanager
def interrupted_when(ready: Callable[[], bool]) -> Iterator[None]:
    """Ctrl-C, as soon as something is the case. This is where it arrives, too."""

    def strike() -> None:
        end = time.monotonic() + PATIENCE
        while not ready() and time.monotonic() < end:
            time.sleep(0.0001)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=strike)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread.start()
    try:
        yield
        pytest.fail("nobody was interrupted")
    except KeyboardInterrupt:
        pass
    finally:
        thread.join(PATIENCE)
        signal.signal(signal.SIGINT, before)


def test_a_writer_that_waits_gets_the_lock_when_it_is_released(lock, other):
    assert other.takes()
    thread = threading.Timer(0.05, other.frees)
    thread.start()
    lock.acquire()
    thread.join()
    assert not other.takes()
    lock.release()
    assert other.takes()


@pytest.mark.parametrize("patience", [None, 0.0, 0.02])
def test_a_writer_that_waited_in_vain_says_who_holds_the_lock_and_takes_nothing(path, other, patience):
    impatient = WriterLock(path, 0.05)
    assert other.takes()
    with pytest.raises(Unavailable) as refusal:
        impatient.acquire(patience)
    assert refusal.value.code == "locked"
    if os.path.exists("/proc/locks"):
        assert refusal.value.details["pid"] == os.getpid()
    other.frees()
    assert other.takes()
    impatient.close()


def test_without_patience_a_free_lock_is_taken_all_the_same(lock, other):
    lock.acquire(0.0)
    assert not other.takes()


def test_an_interrupt_while_waiting_leaves_nothing_locked(lock, other, monkeypatch):
    assert other.takes()
    waits = threading.Event()
    real = WriterLock._wait

    def wait(lock: WriterLock, file: int, longest: float) -> None:
        waits.set()
        real(lock, file, longest)

    monkeypatch.setattr(WriterLock, "_wait", wait)
    with interrupted_when(waits.is_set):
        lock.acquire()
    other.frees()
    assert other.takes()
    other.frees()
    lock.acquire()
    assert not other.takes()


def test_every_waiting_writer_gets_the_lock_while_others_keep_taking_it(path):
    """Eight threads with a lock each, which take it again and again: nobody is left out."""
    taken = [0] * 8

    def write(me: int) -> None:
        lock = WriterLock(path, PATIENCE)
        for _ in range(25):
            lock.acquire()
            taken[me] += 1
            lock.release()
        lock.close()

    threads = [threading.Thread(target=write, args=(me,)) for me in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert taken == [25] * 8


def test_a_lock_that_the_system_refuses_is_a_plain_error(lock, other, monkeypatch):
    def refuse(_file: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(Unavailable) as refusal:
        lock.acquire()
    assert refusal.value.code == "log_io"
    monkeypatch.undo()
    lock.acquire()
    assert not other.takes()
