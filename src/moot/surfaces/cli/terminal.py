"""A terminal that is drawn on: its size, its keys, and giving it back as it was, however things end.

It knows nothing of what is drawn.
"""

from __future__ import annotations

import os
import select
import signal
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType, TracebackType
    from typing import Any, Self, TextIO

# The other screen, no cursor, no wrapping at the right edge; and all of it back again.
_ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
_LEAVE = b"\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"

_ASCII = str.maketrans({"█": "#", "░": ".", "─": "-", "…": "~", "→": ">", "↑": "^", "↓": "v", "“": '"', "”": '"'})


class Ended(BaseException):
    """Somebody ended this program by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


class Terminal:
    """Used as `with terminal`; in between, `show` draws lines and `wait` waits for keys and other things."""

    def __init__(self, out: TextIO, keys: TextIO | None, *, colours: bool) -> None:
        self.colours = colours
        self._out = out.fileno()
        self._encoding = out.encoding or "ascii"
        self._keys = keys.fileno() if keys is not None and not keys.closed and keys.isatty() else None
        self._before: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._wake, self._woken = os.pipe()
        self._shown: list[str] = []
        self._size = (0, 0)

    def __enter__(self) -> Self:
        for end in (self._wake, self._woken):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        wanted = {
            signal.SIGINT: signal.default_int_handler,  # Ctrl-C leaves, also where whoever started us ignores it
            signal.SIGTERM: _end,
            signal.SIGHUP: _end,
            signal.SIGWINCH: _nothing,
            signal.SIGTSTP: self._stop,
        }
        self._handlers = {number: signal.signal(number, handler) for number, handler in wanted.items()}
        self._take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in self._handlers:  # nothing may interrupt what follows
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        try:
            self._give_back()
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            os.close(self._wake)
            os.close(self._woken)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, as they are now."""
        try:
            found = os.get_terminal_size(self._out)
        except OSError:
            return 80, 24
        return found.columns or 80, found.lines or 24  # a terminal that does not know says 0

    def wait(self, others: Sequence[int], timeout: float) -> tuple[bytes, set[int]]:
        """Keys that were pressed, and which of the others have something to read, once there is anything."""
        mine = [self._wake] + ([] if self._keys is None else [self._keys])
        ready = set(select.select([*mine, *others], [], [], max(0.0, timeout))[0])
        if self._wake in ready:
            drain(self._wake)
        pressed = b""
        if self._keys is not None and self._keys in ready:
            pressed = os.read(self._keys, 256)
            if not pressed:  # whoever sat there is gone
                raise Ended(signal.SIGHUP)
        return pressed, ready.intersection(others)

    def show(self, lines: Sequence[str], *, anew: bool = False) -> None:
        """Write what differs from what is on the screen."""
        if anew or self.size != self._size:
            self._size, self._shown = self.size, []
            self._write(b"\x1b[0m\x1b[2J")
        pieces = []
        for row in range(max(len(lines), len(self._shown))):
            line, before = (rows[row] if row < len(rows) else "" for rows in (lines, self._shown))
            if line != before:
                pieces.append(f"\x1b[{row + 1};1H\x1b[2K{line}")
        if pieces:
            self._write(self._encoded("".join(pieces)))
        self._shown = list(lines)

    def _encoded(self, text: str) -> bytes:
        try:
            return text.encode(self._encoding)
        except UnicodeEncodeError:
            return text.translate(_ASCII).encode(self._encoding, "replace")

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._out, data) :]

    def _take(self) -> None:
        if self._keys is not None:
            self._before = termios.tcgetattr(self._keys)
            mode = termios.tcgetattr(self._keys)
            mode[3] &= ~(termios.ECHO | termios.ICANON)
            mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._keys, termios.TCSADRAIN, mode)
        self._write(_ENTER)
        self._shown = []

    def _give_back(self) -> None:
        try:
            self._write(_LEAVE)
        finally:
            if self._keys is not None and self._before is not None:
                termios.tcsetattr(self._keys, termios.TCSADRAIN, self._before)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        """Ctrl-Z: the shell gets the terminal as it was, and when we go on everything is drawn anew."""
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._stop)  # from here on somebody let us go on
        self._take()
        self._size = (0, 0)


def drain(pipe: int) -> None:
    """Read what is in a pipe that does not block."""
    try:
        while os.read(pipe, 4096):
            pass
    except BlockingIOError:
        pass


def _end(number: int, _frame: FrameType | None) -> None:
    raise Ended(number)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """That it came is enough: the pipe wakes us."""
