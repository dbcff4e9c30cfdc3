"""Drawing on a terminal: its size, its keys, and restoring its state at the end in every case.

It does not know what is drawn.
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

# Switch to the alternate screen, hide the cursor, turn wrapping off; and the reverse.
_ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
_LEAVE = b"\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"

_ASCII = str.maketrans({"█": "#", "░": ".", "─": "-", "…": "~", "→": ">", "↑": "^", "↓": "v", "“": '"', "”": '"'})


class Ended(BaseException):
    """A signal ended this program."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


class Terminal:
    """A context manager. Inside, `show` draws lines and `wait` waits for keys and other file descriptors."""

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
            signal.SIGINT: signal.default_int_handler,  # Ctrl-C quits, even if the parent process ignores SIGINT
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
        for number in self._handlers:  # no signal may interrupt the restore
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
        """The current columns and lines."""
        try:
            found = os.get_terminal_size(self._out)
        except OSError:
            return 80, 24
        return found.columns or 80, found.lines or 24  # a terminal that does not know its size reports 0

    def wait(self, others: Sequence[int], timeout: float) -> tuple[bytes, set[int]]:
        """Wait for input; return the keys pressed and which of the other descriptors are readable."""
        mine = [self._wake] + ([] if self._keys is None else [self._keys])
        ready = set(select.select([*mine, *others], [], [], max(0.0, timeout))[0])
        if self._wake in ready:
            drain(self._wake)
        pressed = b""
        if self._keys is not None and self._keys in ready:
            pressed = os.read(self._keys, 256)
            if not pressed:  # end of file: the terminal was closed
                raise Ended(signal.SIGHUP)
        return pressed, ready.intersection(others)

    def show(self, lines: Sequence[str], *, anew: bool = False) -> None:
        """Write only the lines that differ from the screen."""
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
        """Ctrl-Z: restore the terminal for the shell, and redraw everything when the program continues."""
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._stop)  # here the program was continued
        self._take()
        self._size = (0, 0)


def drain(pipe: int) -> None:
    """Empty a non-blocking pipe."""
    try:
        while os.read(pipe, 4096):
            pass
    except BlockingIOError:
        pass


def _end(number: int, _frame: FrameType | None) -> None:
    raise Ended(number)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the wake-up pipe already reports the signal."""
