"""A bounded pool of engines. An engine is one log handle and one views store; one call at a time uses it.

Each engine has its own file descriptors, so the locks of two calls exclude each other as those of two processes do.
The pool knows nothing of callers and verbs.
"""

from __future__ import annotations

from _thread import RLock, allocate_lock, get_ident
from weakref import ref

from moot.core.errors import Unavailable, Usage
from moot.fork_safety import watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.engine.engine import Engine

LIMIT = 32  # engines: about eight file descriptors each
PATIENCE = 30.0  # seconds to wait for one that another call has


class Pool:
    """Engines that calls borrow. It holds no reference to an engine that is borrowed."""

    def __init__(self, make: Callable[[], Engine], limit: int = LIMIT) -> None:
        self._make = make
        self._limit = limit
        self._guard = RLock()  # never held while a file is opened or closed; a collected call may give back inside
        self._idle: list[Engine] = []
        self._borrowed: dict[int, tuple[ref[Engine], int]] = {}  # by id: the engine, and the thread that borrowed it
        self._opening = 0
        self._waiting: list[_Waiter] = []
        self._closed = False
        watch(self)

    def borrow(self) -> Engine:
        """An idle engine, or a new one; else wait for one, for a bounded time."""
        with self._guard:
            if self._closed:
                raise closed()
            if self._idle:
                return self._lend(self._idle.pop())
            waiter = None
            if self._opening + len(self._borrowed) < self._limit:
                self._opening += 1
            else:
                waiter = _Waiter()
                self._waiting.append(waiter)
        if waiter is not None:
            engine = self._wait(waiter)
            if engine is not None:
                return engine
        return self._open()

    def give_back(self, engine: Engine, *, broken: bool = False) -> None:
        """Take an engine back. One that is broken, or that this pool has not lent, is closed."""
        with self._guard:
            ours = self._borrowed.pop(id(engine), None) is not None
            keep = ours and not broken and not self._closed
            if keep:
                self._idle.append(engine)
            if self._waiting:
                self._let_in()
        if not keep:
            _close(engine)

    def close(self) -> None:
        """Close what is idle; what is borrowed is closed when it comes back."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                waiter.bell.release()
        for engine in idle:
            _close(engine)

    def _lend(self, engine: Engine, thread: int | None = None) -> Engine:
        number = id(engine)
        self._borrowed[number] = ref(engine, lambda gone: self._lost(number, gone)), thread or get_ident()
        return engine

    def _lost(self, number: int, gone: ref[Engine]) -> None:
        """A borrowed engine was collected instead of given back: there is room for another one."""
        with self._guard:
            found = self._borrowed.get(number)
            if found is not None and found[0] is gone:
                del self._borrowed[number]
                self._let_in()

    def _let_in(self) -> None:
        """Let those who wait have what is idle, or open another one. The first comes first."""
        while self._waiting and not self._closed:
            if self._idle:
                waiter = self._waiting.pop(0)
                waiter.engine = self._lend(self._idle.pop(), waiter.thread)
            elif self._opening + len(self._borrowed) < self._limit:
                waiter = self._waiting.pop(0)
                self._opening += 1
            else:
                return
            waiter.served = True
            waiter.bell.release()

    def _wait(self, waiter: _Waiter) -> Engine | None:
        """The engine that came back; None: there is room to open one."""
        try:
            waiter.bell.acquire(timeout=PATIENCE)
        except BaseException:  # interrupted
            self._leave(waiter)
            raise
        with self._guard:
            if waiter.served:
                return waiter.engine
            if waiter in self._waiting:
                self._waiting.remove(waiter)
        raise closed() if self._closed else _exhausted(self._limit)

    def _leave(self, waiter: _Waiter) -> None:
        with self._guard:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            elif waiter.engine is not None:
                self.give_back(waiter.engine)
            elif waiter.served:
                self._opening -= 1
                self._let_in()

    def _open(self) -> Engine:
        try:
            engine = self._make()
        except BaseException:
            with self._guard:
                self._opening -= 1
                self._let_in()
            raise
        with self._guard:
            self._opening -= 1
            return self._lend(engine)

    def before_fork(self) -> None:
        """Nothing to wait for: wherever another thread is in here, the child can go on with what it finds."""

    def after_fork_in_parent(self) -> None:
        """Nothing has changed."""

    def after_fork_in_child(self) -> None:
        """Other threads are gone, with what they borrowed. The forking thread goes on with its own."""
        self._guard = RLock()
        self._borrowed = {n: lent for n, lent in self._borrowed.items() if lent[1] == get_ident()}
        self._opening, self._waiting = 0, []


class _Waiter:
    def __init__(self) -> None:
        self.thread = get_ident()
        self.bell = allocate_lock()
        self.bell.acquire()
        self.served = False
        self.engine: Engine | None = None


def _close(engine: Engine) -> None:
    try:
        engine.log.close()
    finally:
        engine.store.close()


def closed() -> Usage:
    return Usage("workspace_closed", "This workspace was closed.", "Open it again: Workspace(path).")


def _exhausted(limit: int) -> Unavailable:
    return Unavailable(
        "too_many_calls",
        f"Every handle of this workspace ({limit}) has been in use for {PATIENCE:g} seconds.",
        "End followers and other iterators that are no longer needed, or open another workspace for them.",
        limit=limit,
    )
