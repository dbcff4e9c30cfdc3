"""`moot run status --follow` at a terminal: one run, drawn again when it changes. Its status stays on the screen."""

from __future__ import annotations

import os

from moot.api.answer import Answer
from moot.core.identity import decide
from moot.overview.panes import Pane
from moot.pipelines.inspection import status, wanted
from moot.pipelines.status import INTERRUPTED, status_of
from moot.pipelines.status_lines import headline, lines_of, screen_lines
from moot.surfaces.cli import voices
from moot.surfaces.cli.watching import Watch, drawn
from moot.views import states
from moot.wiring import open_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.overview.panes import Line
    from moot.surfaces.cli.terminal import Terminal
    from moot.surfaces.cli.watching import Ear


def follow_live(cwd: str, name: str | None, *, named: bool = False) -> int:
    """Show a run until it has ended or the person quits, and then its whole status."""
    workspace = open_workspace(cwd, os.environ, reading=True, named=named)
    caller = decide(os.environ)
    call, listener = workspace.call(caller), workspace.call(caller)
    run = wanted(call, name)
    if run is None:
        voices.tell(status(call, None, follow=False), as_json=False)
        return 0
    code = drawn(lambda terminal, ear: RunWatch(call, terminal, ear, run.id), listener, os.environ)
    found = status_of(call, states.state(call.engine.read(), "run", run.id)[0])
    voices.tell(Answer(result=found, say=tuple(lines_of(found))), as_json=False)
    return code


class RunWatch(Watch):
    """Watches one run."""

    tick = 1.0

    def __init__(self, call: Call, terminal: Terminal, ear: Ear, run: str) -> None:
        super().__init__(call, terminal, ear, section=1)
        self._run = run
        self._over = False

    def _read(self) -> tuple[Line, tuple[Pane, ...]]:
        run = states.state(self._call.engine.read(), "run", self._run)[0]
        found = status_of(self._call, run)
        self._over = not run.open or found.state.startswith(INTERRUPTED)
        lines = tuple(((text, tone),) for text, tone in screen_lines(found))
        return ((headline(found), "bold"),), (Pane("run", "Stages" if run.target else "Files", lines),)

    def _is_over(self) -> bool:
        return self._over
