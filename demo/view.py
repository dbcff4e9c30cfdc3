"""Two ways to watch: plain lines anywhere, a picture on a terminal. Both only read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from story import Line, seconds, told, who

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from moot import Workspace
    from moot.core.event import Event

PHASES = {"open": "ready", "working": "working", "review": "in review", "done": "done", "stopped": "stopped"}
STYLES = {"ready": "", "waits": "dim", "working": "cyan", "in review": "yellow", "done": "green", "stopped": "red"}
MARKS = {"refused": "bold red", "killed": "bold red", "lapsed": "bold red"}
MARKED = "bold yellow"


class Plain:
    """One line for each thing worth telling."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.lines: list[tuple[float, Line]] = []

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def happened(self, event: Event) -> None:
        """Tell what is to be told about an event."""
        now = seconds(event)
        self.began = self.began or now
        for line in told(event):
            self.tell(line, now - self.began)

    def tell(self, line: Line, at: float | None = None) -> None:
        """Add a line; what is no event happens when the last event did."""
        if at is None:
            at = self.lines[-1][0] if self.lines else 0.0
        self.lines.append((at, line))
        self.shown(at, line)

    def shown(self, at: float, line: Line) -> None:
        print(f"{at:6.1f} s  {line.text}", flush=True)

    def tick(self) -> None:
        """Nothing moves between the lines."""


class Screen(Plain):
    """Who is here, the board, what is held, and the last lines; drawn anew whenever something happens."""

    def __init__(self, workspace: Workspace, names: list[str]) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live

        self.workspace, self.names = workspace, names
        self.console = Console(highlight=False)
        self.live = Live(console=self.console, screen=True, auto_refresh=False)
        self.heard: dict[str, float] = {}
        self.dead: set[str] = set()

    def __enter__(self) -> Screen:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def happened(self, event: Event) -> None:
        if event.by.startswith("role:"):
            self.heard[who(event.by)] = seconds(event)
        super().happened(event)

    def shown(self, at: float, line: Line) -> None:
        pass  # with the next picture

    def tick(self) -> None:
        self.live.update(self._picture(), refresh=True)

    def _picture(self) -> RenderableType:
        from rich.layout import Layout

        height = self.console.height
        board, agents = self._board(), self._agents()
        middle = Layout(size=min(10, height - 8))
        middle.split_row(Layout(board, ratio=5), Layout(agents, ratio=6))
        claims = self._claims()
        picture = Layout()
        picture.split_column(
            Layout(self._head(), size=1), middle, Layout(claims, size=min(5, height // 5)), Layout(self._last(height))
        )
        return picture
