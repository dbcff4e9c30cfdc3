"""Measures how long `moot watch` takes to show its first full screen, or to print once.

Warm is the usual case: the shared views exist. Cold is without them, with read-only access: moot replays the whole log
into private views. It stays cold, because watching writes nothing.
"""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import struct
import sys
import termios
import time
from typing import TYPE_CHECKING

from common import Rounds, Row, interleaved
from starting import Command, script

if TYPE_CHECKING:
    from collections.abc import Callable

    from common import Size
    from workspaces import Stage

_COLUMNS, _LINES = 100, 30
_LAST = b"Events"  # the title of the last section; moot writes a screen as a whole
_PATIENCE = 60.0


class Screen:
    """`moot watch` in its own terminal. The cost is the time to the first full screen."""

    def __init__(self, words: list[str], env: dict[str, str], cwd: str) -> None:
        self._words, self._env, self._cwd = words, {**env, "TERM": "xterm-256color"}, cwd

    def __call__(self) -> float:
        start = time.perf_counter()
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self._cwd)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
            os.execve(self._words[0], self._words, self._env)
        shown = b""
        while _LAST not in shown:
            shown += os.read(terminal, 65536)
            if time.perf_counter() - start > _PATIENCE:
                raise RuntimeError(f"no full screen: {shown!r}")
        wall = time.perf_counter() - start
        os.write(terminal, b"q")
        _drained(terminal)
        _, status = os.waitpid(child, 0)
        os.close(terminal)
        if status:
            raise RuntimeError(f"watch ended with status {status}")
        return wall


def _drained(terminal: int) -> None:
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:  # Linux raises it when the last writer is gone
        return


def measure(stage: Stage) -> list[Row]:
    directory, size = stage.room("watching"), stage.size
    warm, cold = (stage.populated(f"watching/{name}", size.events) for name in ("warm", "cold"))
    env = {"PATH": os.defpath, "HOME": directory, "MOOT_PERSON": "1", "LANG": "C.UTF-8"}
    moot = script(directory)
    _forget_views(os.path.join(cold, ".git", "moot"))
    bare = Command([sys.executable, "-I", "-c", "pass"], env, warm)
    quick: dict[str, Callable[[], float]] = {
        "python": bare,
        "once": Command([moot, "watch", "--once"], env, warm),
        "screen": Screen([moot, "watch"], env, warm),
    }
    slow: dict[str, Callable[[], float]] = {"python": bare, "cold": Command([moot, "watch", "--once"], env, cold)}
    interleaved(quick, 0, 2)
    rounds, few = interleaved(quick, size.seconds, size.least), interleaved(slow, 0, size.repeats)
    return [
        _row("once", rounds, size, "`moot watch --once`"),
        _row("screen", rounds, size, f"`moot watch` to its first full screen ({_COLUMNS} x {_LINES})"),
        _row("cold", few, size, "`moot watch --once` without shared views, with private ones"),
    ]


def _forget_views(state: str) -> None:
    for name in os.listdir(state):
        if name.startswith("views"):
            path = os.path.join(state, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def _row(name: str, rounds: Rounds, size: Size, what: str) -> Row:
    ratio = rounds.ratio(name, "python")
    ours, bare = rounds.median(name) * 1e3, rounds.median("python") * 1e3
    note = (
        f"{what}, {size.events:,} events in the log: {ours:.1f} ms against {bare:.1f} ms of the interpreter; {ratio}."
    )
    return Row(f"watch.{name}", ratio.median, "x bare interpreter", None, note)
