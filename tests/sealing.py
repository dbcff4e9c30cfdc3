"""Decisions that cannot look at the world: in the process of the tests, a decision that tries is stopped.

What runs between the begin of a commit and its append (`act`, `by`, what effects are requested) decides from states and
facts alone. Here the files, the clock and the accounts of the machine are out of its reach, in every test.
"""

from __future__ import annotations

import builtins
import fcntl
import functools
import io
import os
import pwd
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from moot.effects.requests import Requests
from moot.engine.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

OUT_OF_REACH: dict[Any, str] = {
    builtins: "open",
    fcntl: "flock lockf",
    io: "open open_code",
    os: "access chdir chmod chown close fstat fsync ftruncate getcwd link listdir lstat mkdir open pread pwrite read"
    " readlink remove rename replace rmdir scandir stat symlink truncate unlink utime write",
    pwd: "getpwall getpwnam getpwuid",
    subprocess: "Popen",
    time: "clock_gettime monotonic perf_counter sleep time time_ns",
}

_here = threading.local()


class LookedOutsideError(BaseException):
    """Not an `Exception`: nothing may take it for a refusal, or for a file that is not there."""


@contextmanager
def deciding(really: bool = True) -> Iterator[None]:
    """Whatever is called in here is a decision, or is none although one is under way."""
    before, _here.deciding = getattr(_here, "deciding", False), really
    try:
        yield
    finally:
        _here.deciding = before


def seal() -> None:
    """From now on, for the rest of this process."""
    for module, names in OUT_OF_REACH.items():
        for name in names.split():
            setattr(module, name, _unless_deciding(getattr(module, name), f"{module.__name__}.{name}"))
    commit, rehearse, request = Engine.commit, Engine.rehearse, Requests.__call__

    def sealed_commit(self: Engine, by: Any, act: Any, *more: Any, **named: Any) -> Any:
        with deciding(False):  # a test may let another commit come in between
            return commit(self, _decision(by) if callable(by) else by, _decision(act), *more, **named)

    Engine.commit = sealed_commit  # type: ignore[method-assign]
    Engine.rehearse = lambda self, act: rehearse(self, _decision(act))  # type: ignore[method-assign]
    Requests.__call__ = _decision(request)  # type: ignore[method-assign]


def _unless_deciding(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    if isinstance(function, type):
        return _class_unless_deciding(function, name)

    @functools.wraps(function)
    def checked(*given: Any, **named: Any) -> Any:
        if getattr(_here, "deciding", False) and not _is_pythons_own():
            raise LookedOutsideError(f"a decision called {name}: look it up before, see `moot.engine.facts`")
        return function(*given, **named)

    return checked


def _is_pythons_own() -> bool:
    """Whether a module is being imported or garbage collected, which no decision can know."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib") or code.co_name in ("__del__", "unraisable_hook"):
            return True
        frame = frame.f_back
    return False


def _class_unless_deciding(made: type, name: str) -> type:
    class Checked(made):  # type: ignore[misc, valid-type]
        def __init__(self, *given: Any, **named: Any) -> None:
            if getattr(_here, "deciding", False):
                raise LookedOutsideError(f"a decision started a process ({name})")
            super().__init__(*given, **named)

    return Checked


def _decision(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def decided(*given: Any, **named: Any) -> Any:
        with deciding():
            return function(*given, **named)

    return decided
