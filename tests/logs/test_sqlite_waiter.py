"""Waiting for the writers' lock in a thread, which may also do what the lock is wanted for."""

from __future__ import annotations

import _thread
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
from moot.logs.sqlite import waiter
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

    def waits(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

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


def test_what_the_lock_was_wanted_for_is_done_as_soon_as_it_comes(lock, other):
    """Whoever waits gets what came of it, and the lock is free again by then."""
    assert other.takes()
    kept = []

    def work() -> str:
        kept.append(other.takes())
        return "done"

    thread = threading.Timer(0.05, other.frees)
    thread.start()
    assert lock.hold(work) == "done"
    thread.join()
    assert kept == [False]  # the other did not get it meanwhile
    assert other.takes()


def test_what_the_work_raises_is_raised_where_one_waits(lock, other):
    assert other.takes()
    thread = threading.Timer(0.05, other.frees)
    thread.start()
    with pytest.raises(ZeroDivisionError):
        lock.hold(lambda: 1 // 0)
    thread.join()
    assert other.takes()


def test_whoever_waited_in_vain_has_done_nothing_and_never_will(path, other):
    impatient = WriterLock(path, 0.01)
    assert other.takes()
    done = []
    with pytest.raises(Unavailable) as refusal:
        impatient.hold(lambda: done.append(1))
    assert refusal.value.code == "locked"
    other.frees()
    other.waits()  # behind the thread that was left, which lets go when its turn comes
    impatient.close()
    assert done == []


def test_an_interrupt_while_one_waits_leaves_nothing_locked_and_nothing_done(lock, other):
    assert other.takes()
    done = []
    with interrupted_when(lambda: lock._waiter is not None and lock._waiter.blocks):
        lock.hold(lambda: done.append(1))
    other.frees()
    other.waits()
    other.frees()
    assert done == []
    assert lock.hold(lambda: 5) == 5


@pytest.mark.parametrize("once_more", [lambda lock: lock.hold(lambda: "next"), lambda lock: lock.acquire()])
def test_an_interrupt_while_the_work_is_done_lets_it_come_to_its_end(
    lock, other, once_more: Callable[[WriterLock], object]
):
    assert other.takes()
    begun, go_on, ended = threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        ended.append(1)

    thread = threading.Timer(0.05, other.frees)
    thread.start()
    with interrupted_when(begun.is_set):
        lock.hold(work)
    thread.join()
    assert not ended
    assert not other.takes()  # the work goes on, under the lock
    threading.Timer(0.05, go_on.set).start()
    once_more(lock)  # waits for it
    assert ended == [1]
    lock.release()
    assert other.takes()


def test_an_interrupt_just_when_the_lock_comes_gives_it_back(path, other):
    """However the two meet: afterwards nobody has it."""
    for moment in range(100):
        lock = WriterLock(path, PATIENCE)
        other.waits()  # for whoever was left the last time, and lets go when its turn comes
        began = threading.Event()
        freeing = threading.Timer(moment / 50_000, other.frees)
        with interrupted_when(began.is_set):
            freeing.start()
            began.set()
            lock.acquire()
            lock.release()
            threading.Event().wait(PATIENCE)
        freeing.join()
        lock.close()
    other.waits()


def struck(real: Callable[..., object], when: Callable[..., bool]) -> Callable[..., object]:
    """The same, interrupted just when it comes back: what it did is done, and nobody was told."""

    def call(*arguments: object) -> object:
        result = real(*arguments)
        if when(*arguments):
            raise KeyboardInterrupt
        return result

    return call


@pytest.mark.parametrize("once", [lambda lock: lock.hold(list), lambda lock: lock.acquire()])
def test_an_interrupt_just_when_the_thread_was_asked_leaves_nothing_locked(
    lock, other, monkeypatch, once: Callable[[WriterLock], object]
):
    assert other.takes()
    made = waiter.Waiter(lock._opened())
    monkeypatch.setattr(lock, "_waiter", made)
    monkeypatch.setattr(made, "_asked", Asked(made._asked))
    with pytest.raises(KeyboardInterrupt):
        once(lock)
    other.frees()
    end = time.monotonic() + PATIENCE
    while made.blocks and time.monotonic() < end:
        time.sleep(0.0001)
    assert other.takes()
    other.frees()
    assert lock.hold(lambda: 5) == 5


class Asked:
    """The bell of the thread: whoever rings it is interrupted, once."""

    def __init__(self, real: _thread.LockType) -> None:
        self._real = real
        self._before = False
        self.acquire = real.acquire

    def release(self) -> None:
        self._real.release()
        if not self._before:
            self._before = True
            raise KeyboardInterrupt


def test_whoever_waits_in_vain_takes_no_lock_from_work_that_goes_on(path, other):
    """Another handle's work, begun for one who was interrupted, keeps the others out until it has ended."""
    lock = WriterLock(path, 0.05)
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    assert other.takes()
    thread = threading.Timer(0.01, other.frees)
    thread.start()
    with interrupted_when(begun.is_set):
        lock.hold(work)
    thread.join()
    with pytest.raises(Unavailable):
        lock.acquire()
    lock.release()  # as whoever is refused does, in case that it came after all
    assert not other.takes()
    go_on.set()
    other.waits()
    lock.close()


def test_a_lock_that_the_system_refuses_is_said_in_our_words(lock, other, monkeypatch):
    assert other.takes()

    real = fcntl.flock

    def refuse(file: int, how: int) -> None:
        if how == fcntl.LOCK_EX:
            raise OSError(errno.ENOLCK, "No locks available")
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(Unavailable):
        lock.hold(lambda: 5)
    monkeypatch.undo()
    other.frees()


def test_a_handle_that_is_closed_wherever_its_thread_is_keeps_nobody_waiting(path, other):
    """One that nobody holds any more may be collected, and so closed, by the very thread that it has."""
    made = waiter.Waiter(os.open(path, os.O_RDWR))
    with made._guard:
        closed = made.close()
    assert closed is None
    other.waits()
