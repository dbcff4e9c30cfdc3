"""A terminal with a program in it, as a person has it: what is on the screen, pressing keys, changing the size."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Self

from tests.surfaces.command import PATIENCE

if TYPE_CHECKING:
    from tests.surfaces.command import Command

TOKEN = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|([^\x1b])", re.DOTALL)


class Glass:
    """Runs a command of moot in a terminal of its own. Leaving the block ends it."""

    def __init__(
        self, command: Command, *words: str, size: tuple[int, int] = (80, 24), script: str = "", **env: str
    ) -> None:
        self.raw = b""
        self.rows: dict[int, str] = {}
        self._row = self._column = 0
        self._pending = b""
        self._ours, self._theirs = pty.openpty()
        self.resize(*size, tell=False)
        self.modes = termios.tcgetattr(self._theirs)
        program = ["-c", script] if script else ["-m", "moot", *words]
        self.process = subprocess.Popen(
            [sys.executable, *program],
            cwd=command.repo,
            env={**command.environment, "TERM": "xterm-256color", **env},
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            start_new_session=True,
            preexec_fn=_as_its_terminal,  # noqa: PLW1509 (before any thread)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    @property
    def text(self) -> str:
        return "\n".join(self.rows.get(row, "").rstrip() for row in range(max(self.rows, default=-1) + 1))

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def resize(self, columns: int, lines: int, *, tell: bool = True) -> None:
        self.size = columns, lines
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if tell:
            self.process.send_signal(signal.SIGWINCH)

    def until(self, *texts: str, gone: str | None = None) -> str:
        """Wait until all of this is on the screen."""
        end = time.monotonic() + PATIENCE
        while not (all(text in self.text for text in texts) and (gone is None or gone not in self.text)):
            assert time.monotonic() < end, (texts, self.text)
            self._read(end - time.monotonic())
        return self.text

    def drawn(self, last: str) -> None:
        """Wait until the whole frame has arrived: it ends with this text."""
        end = time.monotonic() + PATIENCE
        while not TOKEN.sub(r"\3", self.raw[-200:].decode("utf-8", "replace")).rstrip().endswith(last):
            assert time.monotonic() < end, self.raw[-200:]
            self._read(end - time.monotonic())

    def ended(self) -> int:
        """Wait until the program ends; its exit code."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, self.text
            self._read(0.02)
        self._read(0)
        return self.process.returncode

    def restored(self) -> bool:
        """Whether the terminal is as it was: its modes, its first screen, its cursor."""
        last = self.raw.rpartition(b"\x1b[?1049h")[2]
        shown = all(mark in last for mark in (b"\x1b[?1049l", b"\x1b[?25h"))
        return shown and termios.tcgetattr(self._theirs) == self.modes

    def _read(self, timeout: float) -> None:
        if not select.select([self._ours], [], [], max(timeout, 0))[0]:
            return
        piece = os.read(self._ours, 65536)
        self.raw += piece
        self._pending += piece
        try:
            text = self._pending.decode()
        except UnicodeDecodeError:
            return  # half a character
        if re.search(r"\x1b(\[[?\d;]*)?$", text):
            return  # half a sequence
        self._pending = b""
        for code, kind, char in TOKEN.findall(text):
            self._obey(code, kind, char)

    def _obey(self, code: str, kind: str, char: str) -> None:
        if char == "\n":
            self._row += 1
        elif char == "\r":
            self._column = 0
        elif char:
            row = self.rows.get(self._row, "").ljust(self._column)
            self.rows[self._row] = row[: self._column] + char + row[self._column + 1 :]
            self._column += 1
        elif kind == "H":
            row, _, column = code.partition(";")
            self._row, self._column = int(row or 1) - 1, int(column or 1) - 1
        elif kind == "K":
            self.rows[self._row] = ""
        elif kind == "J":
            self.rows.clear()


def _as_its_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
