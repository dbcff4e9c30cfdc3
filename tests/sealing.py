"""Checks in every test that decisions do no I/O.

The code between the start of a commit and its append (`act`, `by`, requests for effects) may read only states and
facts. If it uses files, the clock, processes or the accounts of the machine, the call raises `LookedOutsideError`.
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

from moot.engine.engine import Engine
from moot.runs.requests import Requests

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
    """A decision did I/O. Not an `Exception`, so that no code mistakes it for a refusal or a missing file."""


@contextmanager
def deciding(really: bool = True) -> Iterator[None]:
    """Treat the calls in this block as a decision; with `really=False`, not, even inside of a decision."""
    before, _here.deciding = getattr(_here, "deciding", False), really
    try:
        yield
    finally:
        _here.deciding = before


def seal() -> None:
    """Install the checks, for the rest of this process."""
    for module, names in OUT_OF_REACH.items():
        for name in names.split():
            setattr(module, name, _unless_deciding(getattr(module, name), f"{module.__name__}.{name}"))
    commit, rehearse, request = Engine.commit, Engine.rehearse, Requests.__call__

    def sealed_commit(self: Engine, by: Any, act: Any, *more: Any, **named: Any) -> Any:
        with deciding(False):  # a test may make another commit in between
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
            raise LookedOutsideError(
                f"a decision called {name}; look it up before the decision, see `moot.engine.facts`"
            )
        return function(*given, **named)

    return checked


def _is_pythons_own() -> bool:
    """Whether a decision does not control it: Python imports a module or collects garbage, or hypothesis traces."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib") or code.co_name in ("__del__", "unraisable_hook"):
            return True
        if code.co_name == "trace" and code.co_filename.endswith("hypothesis/internal/scrutineer.py"):
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
