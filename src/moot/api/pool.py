"""A bounded pool of engines. An engine is one log handle and one views store; one call at a time uses it.

Each engine has its own file descriptors, so the locks of two calls exclude each other as those of two processes do.
The pool does not know callers or verbs.
"""

from __future__ import annotations

from _thread import RLock, allocate_lock
from os import getpid
from weakref import ref

from moot.core.errors import Unavailable, Usage
from moot.log import check_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable

    from moot.engine.engine import Engine

LIMIT = 32  # engines: about eight file descriptors each
PATIENCE = 30.0  # seconds to wait for an engine when all are in use


class Pool:
    """Engines that calls borrow. It holds no reference to an engine that is borrowed."""

    def __init__(self, make: Callable[[], Engine], limit: int = LIMIT) -> None:
        self._make = make
        self._limit = limit
        self._guard = RLock()  # never held while a file is opened or closed; a collected call may give back inside
        self._idle: list[Engine] = []
        self._borrowed: dict[int, ref[Engine]] = {}  # by id
        self._opening = 0
        self._waiting: list[LockType] = []  # a lock for each waiting call, in the order of their arrival
        self._closed = False
        self._process = getpid()

    def borrow(self) -> Engine:
        """An idle engine, or a new one. If the limit is reached, wait for one for a bounded time."""
        check_process(self._process)
        bell: LockType | None = None
        try:
            while True:
                with self._guard:
                    if self._closed:
                        raise closed()
                    first = not self._waiting or self._waiting[0] is bell
                    if first and self._idle:
                        return self._lend(self._idle.pop())
                    if first and self._has_room():
                        self._opening += 1
                        break
                    if bell is None:
                        bell = allocate_lock()
                        bell.acquire()
                        self._waiting.append(bell)
                if not bell.acquire(timeout=PATIENCE):
                    raise _exhausted(self._limit)
        finally:
            if bell is not None:
                with self._guard:
                    self._waiting.remove(bell)
                    self._ring()
        return self._open()

    def _open(self) -> Engine:
        try:
            engine = self._make()
        except BaseException:
            with self._guard:
                self._opening -= 1
                self._ring()
            raise
        with self._guard:
            self._opening -= 1
            return self._lend(engine)

    def give_back(self, engine: Engine, *, broken: bool = False) -> None:
        """Take an engine back. One that is broken, or that this pool has not lent, is closed."""
        with self._guard:
            ours = self._borrowed.pop(id(engine), None) is not None
            keep = ours and not broken and not self._closed
            if keep:
                self._idle.append(engine)
            self._ring()
        if not keep:
            _close(engine)

    def close(self) -> None:
        """Close the idle engines. Borrowed ones are closed when they are given back."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
            self._ring()
        for engine in idle:
            _close(engine)

    def _lend(self, engine: Engine) -> Engine:
        number = id(engine)
        self._borrowed[number] = ref(engine, lambda gone: self._lost(number, gone))
        return engine

    def _lost(self, number: int, gone: ref[Engine]) -> None:
        """A borrowed engine was collected instead of given back: there is room for another one."""
        with self._guard:
            if self._borrowed.get(number) is gone:
                del self._borrowed[number]
                self._ring()

    def _has_room(self) -> bool:
        return self._opening + len(self._borrowed) < self._limit

    def _ring(self) -> None:
        """Wake the call that has waited longest, if it can go on. It wakes the next one."""
        if self._waiting and (self._closed or self._idle or self._has_room()):
            try:
                self._waiting[0].release()
            except RuntimeError:
                pass  # it is awake already


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
