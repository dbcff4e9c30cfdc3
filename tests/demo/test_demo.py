"""What a visitor sees: the demo keeps its promises, shows its turning points, and leaves nothing behind."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "demo" / "run.py"
PROMISES = 8

pytestmark = pytest.mark.timeout(240)


COMMAND = [sys.executable, str(DEMO), "--speed", "8"]


def environment(folder: Path) -> dict[str, str]:
    """All that the demo makes lies in the folder. A caller's own agent takes no part in it."""
    return {
        **os.environ,
        "TMPDIR": str(folder),
        "MOOT_AGENT": "Nobody",
        "CLAUDECODE": "1",
        "TERM": "xterm",
        "PYTHONIOENCODING": "utf-8",
    }


def start(folder: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(COMMAND, env=environment(folder), stdout=pipe, stderr=pipe, text=True, encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def lines(folder: Path) -> list[str]:
    """All that one run of the demo says."""
    with start(folder) as demo:
        said, complained = demo.communicate(timeout=220)
    assert demo.returncode == 0, said + complained
    assert complained == ""
    return said.splitlines()


def in_order(lines: list[str], *parts: str) -> None:
    """Each part is said, and behind the one before it."""
    rest = iter(lines)
    for part in parts:
        assert any(part in line for line in rest), f"{part!r} is missing, or too early"


def test_the_demo_keeps_all_its_promises(lines: list[str]) -> None:
    assert sum(line.startswith("ok ") for line in lines) == PROMISES
    assert not [line for line in lines if line.startswith("NOT ")]
    in_order(lines, "8 of 8 tasks done", "20 of 20 settled", "1 task lapsed", "$ moot verify", "sound: ")


def test_a_collision_is_refused_and_settled_by_a_message(lines: list[str]) -> None:
    in_order(
        lines,
        "Sappho is refused: till/__init__.py is held by Yeats#1",
        "Sappho asks Yeats",
        "Yeats releases till/__init__.py",
        "Yeats answers Sappho",
        "Sappho holds till/__init__.py",
    )


def test_a_killed_builder_is_replaced_and_finds_its_answer(lines: list[str]) -> None:
    in_order(
        lines,
        "Yeats asks person",
        "Yeats is killed",
        "person answers Yeats",
        "basket lapses: Yeats was silent",
        "Yeats is back, as incarnation 2",
        "Yeats takes basket, attempt 2",
        "Sappho approves basket",
    )


def test_those_who_know_only_files_take_part(lines: list[str]) -> None:
    in_order(
        lines,
        "team-lead writes an assignment for discount into a file",
        "developer has read its file",
        "developer writes a report on discount into a file",
        "team-lead has read its file",
        "Sappho approves discount",
        "the mailbox files are cleared",
    )


def test_without_a_terminal_nothing_is_coloured(lines: list[str]) -> None:
    assert not [line for line in lines if "\x1b" in line]


def test_nothing_is_left_behind(lines: list[str], folder: Path) -> None:
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_behind_either(number: signal.Signals, tmp_path: Path) -> None:
    with start(tmp_path) as demo:
        assert demo.stdout is not None
        assert any("Yeats takes money" in line for line in demo.stdout)
        demo.send_signal(number)
        _, complained = demo.communicate(timeout=60)
    assert demo.returncode == 128 + number
    assert complained == ""
    assert list(tmp_path.iterdir()) == []


def test_on_a_terminal_it_draws_a_picture_and_puts_the_terminal_back(tmp_path: Path) -> None:
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with subprocess.Popen(COMMAND, env=environment(tmp_path), stdout=there) as demo:
        os.close(there)
        drawn = read_until(here, "takes money")
        demo.send_signal(signal.SIGINT)
        drawn += read_until(here, "\x1b[?1049l")  # back from the other screen
        assert demo.wait(timeout=60) == 128 + signal.SIGINT
    os.close(here)
    for title in ("board", "agents", "files held", "the last events"):
        assert title in drawn
    assert list(tmp_path.iterdir()) == []


def read_until(terminal: int, part: str) -> str:
    seen = ""
    while part not in seen and select.select([terminal], [], [], 60)[0]:
        seen += os.read(terminal, 1 << 16).decode(errors="replace")
    assert part in seen
    return seen
