"""`moot watch` and `moot run status --follow` at a terminal: drawn by rich, and again when something has changed.

They never write to the workspace. `q` or Ctrl-C ends them, and the terminal is restored however they end.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty

from rich.console import Console  # noqa: TID253 (this module is loaded only at a person's terminal)
from rich.live import Live  # noqa: TID253
from rich.text import Text  # noqa: TID253

from moot.core.errors import Unavailable
from moot.core.identity import decide
from moot.core.record import Record
from moot.core.text import one_line, visible
from moot.overview import overview
from moot.overview.panes import Pane, headline, panes
from moot.wiring import open_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType
    from typing import NoReturn, TextIO

    from rich.console import ConsoleOptions

    from moot.api.call import Call
    from moot.overview.panes import Line

_TICK = 1.0  # seconds between reads of what no event announces: presence, late answers, the size of the terminal
_LEAST = 0.2  # minimum seconds between two reads, however fast events come
_LEAVE = b"\x1b[0m\x1b[?25h\x1b[?1049l"  # show the cursor, leave the alternate screen
_STYLES = {"dim": "dim", "bold": "bold", "good": "green", "busy": "cyan", "warn": "yellow", "bad": "bold red"}


class Shown(Record):
    """What is on the screen. `over`: it will not change any more."""

    head: Line
    panes: tuple[Pane, ...]
    over: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield Text("\n", no_wrap=True, overflow="crop").join(
            rows(self.head, self.panes, console, options.max_width, options.height or console.height)
        )


def can_draw(env: Mapping[str, str], out: TextIO) -> bool:
    """Whether the terminal can move its cursor and show all characters."""
    return env.get("TERM", "") not in ("", "dumb", "unknown") and "utf" in (out.encoding or "").lower()


def watch_live(cwd: str, env: Mapping[str, str], *, named: bool = False) -> int:
    """Show the workspace until the person quits. Returns the exit code."""
    call = open_workspace(cwd, env, reading=True, named=named).call(decide(env))

    def read() -> Shown:
        found = overview(call)
        return Shown(headline(found), tuple(pane for pane in panes(found) if pane.lines or pane.urgent))

    return _show(call, read)


def follow_run(cwd: str, name: str | None, env: Mapping[str, str], *, named: bool = False) -> int:
    """Show a run until it has ended or the person quits, and leave its whole status on the screen."""
    from moot.api.answer import Answer
    from moot.api.verbs.runs import status_lines
    from moot.api.verbs.runs.looking import status, wanted
    from moot.api.verbs.runs.status import INTERRUPTED, status_of
    from moot.surfaces.cli import voices
    from moot.views import states

    call = open_workspace(cwd, env, reading=True, named=named).call(decide(env))
    run = wanted(call, name)
    if run is None:
        voices.tell(status(call, None, follow=False), as_json=False)
        return 0

    def read() -> Shown:
        now = states.state(call.engine.read(), "run", run.id)[0]
        found = status_of(call, now)
        lines = tuple(((text, tone),) for text, tone in status_lines.screen_lines(found))
        pane = Pane("run", "Stages" if now.target else "Files", lines, urgent=True)
        over = not now.open or found.state.startswith(INTERRUPTED)
        return Shown(((status_lines.headline(found), "bold"),), (pane,), over)

    code = _show(call, read)
    found = status_of(call, states.state(call.engine.read(), "run", run.id)[0])
    voices.tell(Answer(result=found, say=tuple(status_lines.lines_of(found))), as_json=False)
    return code


def rows(head: Line, shown: Sequence[Pane], console: Console, width: int, height: int) -> list[Text]:
    """The lines of a screen: sections get a line in turn until it is full. Lines of urgent ones are wrapped."""
    bodies = [[row for line in pane.lines for row in _rows(line, console, width, wrap=pane.urgent)] for pane in shown]
    room, shares = height - 2, [0] * len(shown)
    while room > 0 and any(share <= len(body) for share, body in zip(shares, bodies, strict=True)):
        for at, body in enumerate(bodies):
            if room > 0 and shares[at] <= len(body):
                shares[at], room = shares[at] + 1, room - 1
    lines = _rows(head, console, width)
    for pane, body, share in zip(shown, bodies, shares, strict=True):
        hidden = len(body) + 1 - share
        title = ((pane.title, pane.tone), (f"  {hidden} more" if hidden else "", "dim"))
        lines += [*_rows(title, console, width), *body[: share - 1]] if share else []
    return [*lines, *[Text()] * room, *_rows((("q quit", "dim"),), console, width)][: max(height, 0)]


def _rows(line: Line, console: Console, width: int, *, wrap: bool = False) -> list[Text]:
    text = Text.assemble(*((" ".join(visible(said).splitlines()), _STYLES.get(tone, "")) for said, tone in line))
    text.rstrip()
    if wrap:
        return list(text.wrap(console, width))
    text.truncate(width, overflow="ellipsis")
    return [text]


def _show(call: Call, read: Callable[[], Shown]) -> int:
    """Draw until the person quits, or there is nothing more to see."""
    shown = read()  # errors are reported before the terminal changes
    keys = 0 if sys.stdin is not None and sys.stdin.isatty() else None
    modes = termios.tcgetattr(keys) if keys is not None else []
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    live = Live(shown, console=Console(), screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
    try:
        if keys is not None:
            tty.setcbreak(keys)
        with live:
            drawn = None
            while not shown.over and (drawn is None or _changed(call, keys)):
                shown = shown if drawn is None else _read(read, shown)
                if (shown, live.console.size) != drawn:
                    drawn = shown, live.console.size
                    live.update(shown, refresh=True)
    except KeyboardInterrupt:
        pass
    finally:
        os.write(sys.stdout.fileno(), _LEAVE)  # a signal may have come while rich was writing
        if keys is not None:
            termios.tcsetattr(keys, termios.TCSADRAIN, modes)
    return 0


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _read(read: Callable[[], Shown], before: Shown) -> Shown:
    """What to show now. What cannot be read now is tried again."""
    try:
        return read()
    except Unavailable as error:
        said = one_line(f"trying again: {error.message} {error.remedy}", 1000)
        return before.replace(head=(("moot ", "bold"), (said, "bad")))


def _changed(call: Call, keys: int | None) -> bool:
    """Wait for an event, a key or the next look. False if the person quits."""
    try:
        log = call.engine.log
        for _ in log.follow(log.head(), timeout=_TICK, stop=keys):
            break
        pause = _LEAST
    except Unavailable:
        pause = _TICK
    watched = [] if keys is None else [keys]
    while any(select.select(watched, [], [], pause)):
        if os.read(watched[0], 1) in (b"", b"q", b"Q", b"\x04"):  # what was typed after it is for the shell
            return False
        pause = 0.0
    return True
