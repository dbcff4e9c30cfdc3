"""`moot watch` at a terminal: reads the log when it changes and draws the differences.

It writes only lines that differ from the screen, so it works over slow connections. It always restores the terminal.
It never writes to the workspace.
"""

from __future__ import annotations

import os
import select
import sys
import threading  # noqa: TID253 (this module is loaded only at a person's terminal)
import time

from moot.core.errors import MootError, Unavailable
from moot.core.identity import decide
from moot.core.text import one_line
from moot.overview import overview
from moot.overview.panes import Pane, headline, panes
from moot.overview.recent import Recent
from moot.surfaces.cli.screen import Choice, compose, paint
from moot.surfaces.cli.terminal import Ended, Terminal, drain
from moot.wiring import open_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from moot.api.call import Call
    from moot.log import Log
    from moot.overview.panes import Line

_TICK = 2.0  # seconds between reads of what no event announces: presence, late answers
_LEAST = 0.2  # minimum seconds between two reads, however fast events come
_HEARD = 30.0  # seconds per call of `follow`
_PAGE = 10  # lines

_KEYS = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"k": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"j": "down",
    b"\x1b[5~": "page up",
    b"b": "page up",
    b"\x1b[6~": "page down",
    b" ": "page down",
    b"\x1b[H": "home",
    b"g": "home",
    b"\x1b[F": "end",
    b"G": "end",
    b"\x1b": "0",
    b"q": "leave",
    b"Q": "leave",
    b"\x03": "leave",
    b"\x04": "leave",
    b"\x0c": "anew",
    **{str(n).encode(): str(n) for n in range(10)},
}
_STEPS = {"up": -1, "down": 1, "page up": -_PAGE, "page down": _PAGE, "home": -(1 << 20), "end": 1 << 20}


def can_draw(env: Mapping[str, str]) -> bool:
    """Whether the terminal supports cursor movement."""
    return env.get("TERM", "") not in ("", "dumb", "unknown")


def watch_live(cwd: str, env: Mapping[str, str], *, named: bool = False) -> int:
    workspace = open_workspace(cwd, env, reading=True, named=named)
    # Errors are reported before the terminal changes. The listening thread has its own engine.
    call, listener = workspace.call(decide(env)), workspace.call(decide(env))
    return drawn(lambda terminal, ear: Watch(call, terminal, ear), listener, env)


def drawn(watch: Callable[[Terminal, Ear], Watch], listener: Call, env: Mapping[str, str]) -> int:
    """Draw until the person quits, or there is nothing more to watch. Returns the exit code."""
    ear = Ear(listener.engine.log)
    try:
        with Terminal(sys.stdout, sys.stdin, colours=not env.get("NO_COLOR")) as terminal:
            watch(terminal, ear).run()
    except KeyboardInterrupt:
        return 0
    except Ended as ended:
        return 128 + ended.number
    finally:
        ear.close()
    return 0


class Ear:
    """Waits for new events in its own thread, because a thread that follows the log can wait for nothing else."""

    def __init__(self, log: Log) -> None:
        self.pipe, self._end = os.pipe()
        for end in (self.pipe, self._end):
            os.set_blocking(end, False)
        self._log = log
        self._stop, self._stopping = os.pipe()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        os.write(self._stopping, b"!")
        self._thread.join(_LEAST)  # quitting does not wait longer for the thread

    def _listen(self) -> None:
        after = 0
        while True:
            try:
                after = min(after, self._log.head()) or self._log.head()
                for events in self._log.follow(after, timeout=_HEARD, stop=self._stop):
                    after = events[-1].position
                    self._say()
                if select.select([self._stop], [], [], 0)[0]:
                    return
            except MootError:
                self._say()  # the next read shows the error
                time.sleep(_TICK)

    def _say(self) -> None:
        try:
            os.write(self._end, b"!")
        except BlockingIOError:
            pass  # the pipe is full: a wake-up is already pending


class Watch:
    """The state of one `moot watch`."""

    tick = _TICK

    def __init__(self, call: Call, terminal: Terminal, ear: Ear, *, section: int = 0) -> None:
        self._call = call
        self._terminal = terminal
        self._ear = ear
        self._recent = Recent()
        self._choice = Choice(section=section)
        self._head: Line = (("Looking …", "dim"),)
        self._panes: tuple[Pane, ...] = ()

    def run(self) -> None:
        """Run until the person quits, or there is nothing more to watch."""
        self._draw()
        self._look()
        self._draw()
        looked, stale = time.monotonic(), False
        while not self._is_over():
            pause = _LEAST if stale else self.tick
            pressed, ready = self._terminal.wait([self._ear.pipe], looked + pause - time.monotonic())
            if ready:
                drain(self._ear.pipe)
                stale = True
            for key in _keys(pressed):
                if key == "leave":
                    return
                self._press(key)
            if time.monotonic() - looked >= (_LEAST if stale else self.tick):
                self._look()
                looked, stale = time.monotonic(), False
            self._draw()

    def _look(self) -> None:
        try:
            self._head, self._panes = self._read()
        except Unavailable as error:
            if error.code == "log_version":
                raise
            said = one_line(f"{error.message} {error.remedy}", 1000)
            self._head = (("moot ", "bold"), ("cannot read the workspace, trying again", "bad"))
            trouble = Pane("problems", f"Problems {error.code}", (((said, "bad"),),), "bad", urgent=True)
            self._panes = (trouble, *self._panes[1:])

    def _read(self) -> tuple[Line, tuple[Pane, ...]]:
        """What to show now."""
        found = overview(self._call, self._recent)
        return headline(found), panes(found)

    def _is_over(self) -> bool:
        """Whether there is nothing more to watch."""
        return False

    def _press(self, key: str) -> None:
        if key in _STEPS:
            scroll = max(0, self._choice.scroll + _STEPS[key])
            self._choice = self._choice.replace(scroll=min(scroll, self._deepest()))
        elif key == "anew":
            self._terminal.show([], anew=True)
        elif key.isdigit() and int(key) <= len(self._panes):
            self._choice = Choice(section=int(key))

    def _deepest(self) -> int:
        """The maximum scroll position."""
        section = self._choice.section
        return len(self._panes[section - 1].lines) if 0 < section <= len(self._panes) else 0

    def _draw(self) -> None:
        columns, lines = self._terminal.size
        shown = compose(self._head, self._panes, columns, lines, self._choice)
        self._terminal.show([paint(line, colours=self._terminal.colours) for line in shown])


def _keys(pressed: bytes) -> Iterator[str]:
    """The keys that were pressed; keys without a function are skipped."""
    while pressed:
        known = next((pressed[:n] for n in (4, 3, 1) if pressed[:n] in _KEYS), b"")
        if known == b"\x1b" and len(pressed) > 1 and pressed[1:2] in b"[O":  # an escape sequence of an unknown key
            known, pressed = b"", b""
        if known:
            yield _KEYS[known]
        pressed = pressed[len(known) or 1 :]
