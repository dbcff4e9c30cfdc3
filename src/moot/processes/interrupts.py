"""Treats SIGTERM and SIGHUP like an interrupt, so that a program stops what it started and reports it."""

from __future__ import annotations

import signal
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def interruptible() -> Iterator[None]:
    """A context in which these signals raise `KeyboardInterrupt`, if it is entered in the main thread."""
    import threading

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
