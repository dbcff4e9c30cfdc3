"""moot in a real terminal multiplexer, as many people run their agents: typed commands and what the screen shows."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.surfaces.command import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.surfaces.command import Command

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Tmux:
    """One shell in a tmux server of its own."""

    def __init__(self, command: Command, socket: Path) -> None:
        self._command, self._socket = command, str(socket)

    def start(self, columns: int, lines: int) -> None:
        shell = ("env", "PS1=$ ", "sh")
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), *shell)
        self.types(f'moot() {{ {sys.executable} -m moot "$@"; }}; clear')

    def types(self, line: str) -> None:
        self._tmux("send-keys", "-l", line)
        self._tmux("send-keys", "Enter")

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def until(self, *texts: str) -> str:
        """Wait until all of this is on the screen; returns the screen."""
        end = time.monotonic() + PATIENCE
        while True:
            screen = self._tmux("capture-pane", "-p")
            if all(text in screen for text in texts):
                return screen
            assert time.monotonic() < end, (texts, screen)
            time.sleep(0.05)

    def stop(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words],
            cwd=self._command.repo,
            env=self._command.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return done.stdout


@pytest.fixture
def tmux(run: Command, tmp_path: Path) -> Iterator[Tmux]:
    server = Tmux(run, tmp_path / "tmux")
    yield server
    server.stop()


@pytest.mark.parametrize("columns", [80, 40])
def test_the_board_fits_the_screen(run: Command, tmux: Tmux, columns: int) -> None:
    title = "Write the parser for the new configuration grammar"
    run("task", "add", title)
    tmux.start(columns, 24)
    tmux.types("moot board")
    screen = tmux.until("Board: 1 open", "task-001", title.rpartition(" ")[2])
    assert title in " ".join(screen.replace("task-001", "").replace("open", "").split())


def test_watch_follows_what_another_shell_does_and_gives_the_screen_back(run: Command, tmux: Tmux) -> None:
    tmux.start(80, 24)
    tmux.types("moot watch")
    tmux.until("Agents:", "q quit")
    run("task", "add", "Write the parser")
    tmux.until("Write the parser")
    tmux.press("q")
    tmux.types("echo back")
    assert "q quit" not in tmux.until("back")
