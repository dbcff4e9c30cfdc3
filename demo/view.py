"""Shows the demo: as plain lines, or as a picture on a terminal. Both are read-only."""

from __future__ import annotations

import os
import textwrap
import time
from typing import TYPE_CHECKING

from story import Line, seconds, told, who

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from moot import Workspace
    from moot.api.verbs.agents import Member
    from moot.core.event import Event
    from moot.core.task import Task

MARKED = {"refused": "bold red", "killed": "bold red", "lapsed": "bold red"}  # other marked lines:
TURNING = "bold yellow"
STATES = {"waits for": "dim", "ready": "", "working": "cyan", "in review": "yellow", "done": "green", "stopped": "red"}
PHASES = {"open": "ready", "review": "in review"}
QUIET = 2.0  # seconds; a running agent gives a sign of life every second


class Plain:
    """Plain lines."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.lines: list[tuple[float, Line]] = []

    def begin(self) -> None:
        """Prepare the display. Plain lines need nothing."""

    def end(self) -> None:
        """Restore the terminal. Plain lines need nothing."""

    def happened(self, event: Event) -> None:
        """Show the lines for an event."""
        now = seconds(event)
        self.began = self.began or now
        for line in told(event):
            self.tell(line, now - self.began)

    def tell(self, line: Line, at: float | None = None) -> None:
        """Add a line. Without `at`, it gets the time of the last line."""
        if at is None:
            at = self.lines[-1][0] if self.lines else 0.0
        self.lines.append((at, line))
        self.show(at, line)

    def show(self, at: float, line: Line) -> None:
        self.say(_timed(at, line))

    def tick(self) -> None:
        """Redraw. Plain lines need nothing."""

    def say(self, text: str = "", style: str = "") -> None:  # noqa: ARG002 (plain lines have no style)
        print(text, flush=True)

    def look_back(self) -> None:
        """Repeat the marked lines. Plain lines are still visible."""


class Screen(Plain):
    """The board, the agents, the claimed files and the last lines, redrawn after each event."""

    def __init__(self, workspace: Workspace, plan: list[str], by_files: dict[str, str]) -> None:
        """`plan` has the ids of the tasks; `by_files` the agents that only write files, with their worktrees."""
        super().__init__()
        from rich.console import Console
        from rich.live import Live

        self.ws, self.plan, self.by_files = workspace, plan, by_files
        self.console = Console(highlight=False)
        self.live = Live(console=self.console, screen=True, auto_refresh=False)

    def begin(self) -> None:
        self.live.start()

    def end(self) -> None:
        self.live.stop()

    def show(self, at: float, line: Line) -> None:
        """The next picture shows the line."""

    def tick(self) -> None:
        self.live.update(self._picture(), refresh=True)

    def say(self, text: str = "", style: str = "") -> None:
        self.console.print(text, style=style or None, markup=False)

    def look_back(self) -> None:
        """Repeat the marked lines, because the picture is gone."""
        for at, line in self.lines:
            if line.mark:
                self.say("\n".join(_folded(at, line, self.console.width)), _style(line))

    def _picture(self) -> RenderableType:
        from rich.layout import Layout

        tasks = sorted(self.ws.board(all=True).tasks, key=lambda task: self.plan.index(task.id))
        right = Layout()
        people = len(self.by_files) + 2
        right.split_column(Layout(self._agents(tasks), size=people + 2), Layout(self._claims()))
        middle = Layout(size=len(self.plan) + 2)
        middle.split_row(Layout(self._board(tasks)), right)
        picture = Layout()
        picture.split_column(Layout(self._head(tasks), size=1), middle, Layout(self._last(len(self.plan) + 5)))
        return picture

    def _head(self, tasks: list[Task]) -> Text:
        from rich.text import Text

        done = sum(task.phase == "done" for task in tasks)
        passed = 0.0 if self.began is None else time.time() - self.began
        bar = ("━" * 3 * done, "green"), ("━" * 3 * (len(self.plan) - done), "dim")
        said = f"  {done} of {len(self.plan)} done   {passed:.0f} s"
        return Text.assemble((" moot ", "bold reverse"), "  ", *bar, said)

    def _board(self, tasks: list[Task]) -> Panel:
        table = _grid()
        for task in tasks:
            waits = task.phase == "open" and task.waits
            state = "waits for" if waits else PHASES.get(task.phase, task.phase)
            whose = ", ".join(task.waits) if waits else _worker(task)
            again = f" (attempt {task.attempt})" if task.attempt > 1 else ""
            style = STATES[state]
            table.add_row(_text(task.id, style), _text(f"{state:<9}", style), _text(whose + again, style))
        return _panel(table, "board")

    def _agents(self, tasks: list[Task]) -> Panel:
        table = _grid()
        for member in self.ws.agents(all=True):
            doing, style = _doing(member)
            table.add_row(f"{member.name}#{member.incarnation}", _folder(member), _text(doing, style))
        for name, folder in self.by_files.items():
            mine = [task.id for task in tasks if task.phase == "working" and _worker(task) == name]
            table.add_row(name, folder, _text(f"works on {mine[0]}" if mine else "only files", "" if mine else "dim"))
        return _panel(table, "agents")

    def _claims(self) -> Panel:
        table = _grid()
        for held in self.ws.claims():
            table.add_row(", ".join(held.paths), _text(who(held.holder), "dim"))
        return _panel(table, "files held")

    def _last(self, above: int) -> Panel:
        """As many of the last lines as fit, with long ones wrapped."""
        from rich.text import Text

        rows = max(1, self.console.height - above)
        folded: list[tuple[str, str]] = []
        for at, line in self.lines[-rows:]:
            folded += [(part, _style(line)) for part in _folded(at, line, self.console.width - 4)]
        return _panel(Text("\n").join(Text(part, style) for part, style in folded[-rows:]), "the last events")


def _timed(at: float, line: Line) -> str:
    return f"{at:6.1f} s  {line.text}"


def _folded(at: float, line: Line, width: int) -> list[str]:
    return textwrap.wrap(_timed(at, line), width, subsequent_indent=" " * 10)


def _style(line: Line) -> str:
    return MARKED.get(line.mark, TURNING) if line.mark else ""


def _worker(task: Task) -> str:
    """Who works on the task, or did. A task that the lead assigns through a file is the developer's."""
    name = who(task.holder or task.author or "")
    return "developer" if name == "team-lead" else name


def _doing(member: Member) -> tuple[str, str]:
    if not member.here:
        return "has left", "dim"
    silent = member.silent_for or 0.0
    if silent > QUIET:
        return f"silent for {silent:.0f} s", "bold red"
    return (f"works on {member.holds[0]}", "cyan") if member.holds else ("is here", "green")


def _folder(member: Member) -> str:
    return "desk" if member.worktree in (None, ".") else os.path.basename(str(member.worktree))


def _grid() -> Table:
    from rich.table import Table

    return Table.grid(padding=(0, 1), expand=False)


def _text(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text, style, no_wrap=True, overflow="ellipsis")


def _panel(content: RenderableType, title: str) -> Panel:
    from rich.panel import Panel

    return Panel(content, title=title, title_align="left", border_style="dim", padding=(0, 1))
