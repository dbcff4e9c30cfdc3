"""A process that does something to itself at a chosen line of moot: dies there, or stands still."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType


def at_line(number: int, signal: int, only: str, command: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Carry out a command and send the signal to oneself at the line with this number; 0 is none.

    The lines that are run in files of moot count, those that have `only` in their path. The answer says how many.
    """
    lines = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Callable[..., Any] | None:
        nonlocal lines
        if "/moot/" not in frame.f_code.co_filename or only not in frame.f_code.co_filename:
            return None
        if event == "line":
            lines += 1
            if lines == number:
                os.kill(os.getpid(), signal)
        return trace

    sys.settrace(trace)
    try:
        said = command()
    finally:
        sys.settrace(None)
    return {"lines": lines, **said}
