"""What every show of the demo does: follow the log, show it, and stop if a process fails or it takes too long."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from stage import Stage
    from view import Plain

    from moot import Workspace
    from moot.core.event import Event

LONGEST = 180.0


class PlayStopped(Exception):
    """An agent failed, or the demo took too long."""


class Play:
    """Follows the log, and passes each event to the view and to `cue`."""

    def __init__(self, stage: Stage, ws: Workspace, view: Plain) -> None:
        self.stage, self.ws, self.view = stage, ws, view
        self.position = 0
        self.deadline = time.monotonic() + LONGEST

    def cue(self, event: Event) -> None:
        """What the show does when this happens."""

    def follow_until(self, over: Callable[[], bool]) -> None:
        while not over():
            self.follow(0.25)
            if time.monotonic() > self.deadline:
                raise PlayStopped(f"It took longer than {LONGEST:.0f} s.")
            if failed := self.stage.failed():
                said = self.stage.said(failed[0]).read_text(encoding="utf-8")
                raise PlayStopped(f"{failed[0]} failed:\n{said[-2000:]}")

    def follow(self, timeout: float) -> None:
        for event in self.ws.follow(after=self.position, timeout=timeout):
            self.position = event.position
            self.view.happened(event)
            self.cue(event)
            self.view.tick()
        self.view.tick()
