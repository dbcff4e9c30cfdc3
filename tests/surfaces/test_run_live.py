"""A run that is looked at while it works: `run status --follow` and `watch` at a terminal, whatever its size."""

from __future__ import annotations

import json
import re
import sys
import time
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from tests.surfaces.command import PATIENCE
from tests.surfaces.glass import Glass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.surfaces.command import Command

PACK = """
name = "checks"
title = "Checks"
version = "1.0"

[settings.parallel]
type = "integer"
default = 2

[[stage]]
name = "lint"
agent = "required"
answer = "exit"
reads = ["source"]

[[stage]]
name = "test"
agent = "required"
answer = "exit"
reads = ["source"]
"""
WAITS = f"""
import os, sys, time
end = time.monotonic() + {PATIENCE}
while not os.path.exists("GO") and time.monotonic() < end:
    time.sleep(0.02)
sys.exit("the total is wrong" if "bad" in sys.argv[1] else 0)
"""
FOLDER = "src/shop/payments/adapters"
NAMES = [f"{FOLDER}/a_rather_long_file_name_{end}.py" for end in ("one", "bad")]
ONE, BAD = (f"…{name[-27:]}" for name in NAMES)


@pytest.fixture
def working(bare: Command) -> Iterator[Command]:
    """Two files go through two stages. The second stage of each ends when there is a file GO."""
    (bare.repo / "pack").mkdir()
    (bare.repo / FOLDER).mkdir(parents=True)
    (bare.repo / "pack" / "pack.toml").write_text(PACK)
    (bare.repo / ".gitignore").write_text("GO\n")
    for name in NAMES:
        (bare.repo / name).write_text("x = 1\n")
    test = json.dumps([sys.executable, "-c", WAITS, "{source}"])
    settings = f'packs = ["checks"]\n[pack.checks]\npath = "pack"\n[run.checks]\nlint = ["true"]\ntest = {test}\n'
    (bare.repo / "moot.toml").write_text(settings)
    assert bare("init").code == 0
    assert bare("allow", "--all", "--yes").code == 0
    process = bare.popen("run", "checks", *NAMES, "--keep-going")
    try:
        wait_for_tests(bare)
        yield bare
    finally:
        go(bare)
        process.communicate(timeout=PATIENCE)


def wait_for_tests(command: Command) -> None:
    """Until both files are in their second stage."""
    end = time.monotonic() + PATIENCE
    with Workspace(command.repo, person=True) as person:
        while time.monotonic() < end:
            waves = getattr(person.run_status(), "waves", ())
            if [one.stages[1].state for wave in waves for one in wave if one.stages] == ["running", "running"]:
                return
            time.sleep(0.02)
    raise AssertionError("the tests do not start")


def go(command: Command) -> None:
    (command.repo / "GO").touch()


@pytest.mark.parametrize("columns", [40, 80])
def test_the_status_is_drawn_until_the_run_has_ended_and_stays_on_the_screen(working: Command, columns: int) -> None:
    with Glass(working, "run", "status", "--follow", size=(columns, 20)) as glass:
        glass.until(
            "checks: 0 of 2 finished", f"▶ {ONE}: test", "✓ lint  ▶ test", f"▶ {BAD}: test", "✓ lint  ▶ test", "q quit"
        )
        assert max(map(len, glass.text.splitlines())) <= columns
        go(working)
        assert glass.ended() == 0
        assert glass.restored()
        after = glass.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert f"{NAMES[0]}: finished (run-" in after
    assert re.search("✗ test failed.*: exit code 1: the total is wrong", after)


@pytest.mark.parametrize("keys", ["\x03", "q"])
def test_a_person_can_stop_looking_and_the_run_goes_on(working: Command, keys: str) -> None:
    with Glass(working, "run", "status", "--follow") as glass:
        glass.until(f"▶ {ONE}: test")
        glass.press(keys)
        assert glass.ended() == 0
        assert glass.restored()
        assert "▶ test running" in glass.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert working("--json", "run", "status").result["state"] == "running"


def test_one_file_is_drawn_with_its_stages_and_a_change_of_size_is_followed(working: Command) -> None:
    with Glass(working, "run", "status", NAMES[0], "--follow", size=(80, 20)) as glass:
        glass.until(f"{ONE}: running", "✓ lint completed", "▶ test running")
        glass.resize(20, 6)
        widest = 51
        for _ in range(3):  # the first may still be drawn for the old size
            glass.rows.clear()
            widest = max(map(len, glass.until("▶ test running", "q quit").splitlines()))
            if widest <= 20:
                break
        assert widest <= 20
        go(working)
        assert glass.ended() == 0


@pytest.mark.parametrize("columns", [40, 80])
def test_the_overview_has_the_stages_of_each_file(working: Command, columns: int) -> None:
    with Glass(working, "watch", size=(columns, 30)) as glass:
        glass.until("Runs", f"▶ {ONE}: test", "✓ lint  ▶ test", f"▶ {BAD}: test")
        go(working)
        glass.until(f"✗ {BAD}: test", f"✓ {ONE}", "- exit code 1: the total is")
        assert max(map(len, glass.text.splitlines())) <= columns
        glass.press("q")
        assert glass.ended() == 0
        assert glass.restored()


def test_without_a_terminal_each_change_is_printed_once(working: Command) -> None:
    process = working.popen("run", "status", "--follow")
    assert process.stdout is not None
    first = [process.stdout.readline() for _ in range(8)]
    assert sum("▶ test running" in line for line in first) == 2
    go(working)
    rest, _ = process.communicate(timeout=PATIENCE)
    assert rest.count("✗ test failed") >= 1
    assert rest.count("checks: ") <= 4  # not once for every second


def test_a_line_with_the_progress_is_gone_before_anything_else_is_written(working: Command) -> None:
    go(working)
    (working.repo / NAMES[0]).write_text("y = 2\n")
    with Glass(working, "run", "checks", NAMES[0], "--wait", size=(60, 20)) as glass:
        assert glass.ended() == 0
        assert b"finished\r\n" in glass.raw
    for line in glass.raw.decode().split("\n"):
        shown = line.rpartition("\r\x1b[K")[2]
        assert shown.count(NAMES[0]) <= 1, line


def test_ctrl_c_interrupts_the_run_and_the_shell_goes_on_in_a_new_line(working: Command) -> None:
    other = working.repo / "other.py"
    other.write_text("x = 1\n")
    with Glass(working, "run", "checks", "other.py", "--parallel", "4") as glass:
        glass.until("test starts")
        glass.press("\x03")
        assert glass.ended() == 130
        assert glass.raw.endswith(b"\n")
    shown = working("run", "status", "other.py").out
    assert "other.py: interrupted at test" in shown
    assert "! test interrupted\n" in shown
