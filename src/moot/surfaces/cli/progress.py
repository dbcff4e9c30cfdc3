"""The progress of a long operation: one line on standard error, redrawn in place and removed at the end."""

from __future__ import annotations

import sys
import time

_EVERY = 0.1  # seconds
_PATIENCE = 0.5  # seconds: shorter operations show no progress


class _Line:
    """The line that is currently shown."""

    what = ""
    begun = 0.0
    drawn = 0.0


def draw(what: str, done: int, of: int) -> None:
    """Redraw the line, at most every 0.1 seconds. `of` is 0 if the total is unknown, -1 if `done` are seconds."""
    now = time.monotonic()
    if what != _Line.what:
        begun = _Line.begun if _Line.drawn else now  # a line that is shown goes on with the next operation at once
        _Line.what, _Line.begun, _Line.drawn = what, begun, 0.0
    if of > 0 and done >= of:
        if _Line.drawn:
            _write("")
        _Line.what = ""
    elif now - _Line.begun > _PATIENCE and now - _Line.drawn > _EVERY:
        _Line.drawn = now
        _write(_fitted(f"{what}: {_amount(done, of)}"))


def hide() -> None:
    """Remove the line, so that something else can be written. The next `draw` shows it again."""
    if _Line.drawn:
        _Line.drawn = 0.0
        _write("")


def _fitted(text: str) -> str:
    """The end of the text, with the amount, if it does not fit into one line of the terminal."""
    import shutil

    from moot.core.text import ELLIPSIS, cells

    width = shutil.get_terminal_size().columns - 1
    if cells(text) <= width:
        return text
    while text and cells(text) >= width:
        text = text[1:]
    return f"{ELLIPSIS}{text}"


def _amount(done: int, of: int) -> str:
    if of < 0:
        from moot.core.text import age

        return age(done)
    return f"{100 * done // of} %" if of else f"{done:,}"


def _write(text: str) -> None:
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()
