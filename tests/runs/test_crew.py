"""Several agents at once: a turn is started once, ended in time, and recorded, whatever happens to the driver."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot.views import queries
from tests.runs.conftest import folder, theatre
from tests.runs.pipelines.conftest import is_running
from tests.specs.orchestrator.project import PATIENCE, until

if TYPE_CHECKING:
    from tests.runs.theatre import Theatre

__all__ = ["folder", "theatre"]

PREAMBLE = """\
import json, os, signal, subprocess, sys, time
brief = sys.stdin.buffer.read()
me, turn = os.environ["MOOT_AGENT"], os.environ["TURN"]
def write(name, text=""):
    with open(f"{name}.new", "w") as file:
        file.write(str(text))
    os.rename(f"{name}.new", name)
def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.02)
with open(f"{me}.turns", "a") as file:
    file.write(turn)
"""


class Troupe:
    """The driver of `tests.runs.troupe` in a project."""

    def __init__(self, theatre: Theatre) -> None:
        self.theatre, self.root = theatre, theatre.root
        self.started: list[subprocess.Popen[str]] = []
        (self.root / "brief").write_text("Do it.", encoding="utf-8")

    def script(self, body: str, timeout: str = "60s") -> None:
        """What all members do."""
        self.theatre.play("A task")
        (self.root / "member.py").write_text(PREAMBLE + body, encoding="utf-8")
        lead = json.dumps([sys.executable, "member.py", "{session}"])
        text = 'packs = ["orchestrator"]\n[tasks]\nlifecycle = "orchestrator"\n[run.orchestrator]\n'
        text += f'lead = {{ command = {lead}, timeout = "{timeout}", env = ["OLD"] }}\ndeveloper = ["true"]\n'
        (self.root / "moot.toml").write_text(text, encoding="utf-8")
        self.theatre.session().workspace.reload()
        self.theatre.allow()

    def start(self, *members: str) -> subprocess.Popen[str]:
        env = {**self.theatre.environment(), "OLD": "old"}
        command = [sys.executable, "-m", "tests.runs.troupe", str(self.root), *members]
        place = Path(__file__).resolve().parents[2]
        env["PYTHONPATH"] = os.pathsep.join([env["PYTHONPATH"], str(place)])
        process = subprocess.Popen(command, cwd=place, env=env, text=True, stdout=-1, stderr=-1)
        self.started.append(process)
        return process

    def perform(self, *members: str) -> list[str]:
        return lines_of(self.start(*members))

    def text(self, name: str) -> str:
        until((self.root / name).exists, f"the file {name}")
        return (self.root / name).read_text(encoding="utf-8")

    def tries(self, member: str) -> list[str]:
        found = queries.things(self.theatre.session().engine.read(), "run", ended=True)
        (run,) = (run for run in found if run.parameters.get("member") == member)
        return [one.status for one in run.tries]


def lines_of(process: subprocess.Popen[str]) -> list[str]:
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    return out.splitlines()


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=PATIENCE)


@pytest.fixture
def troupe(theatre: Theatre) -> Iterator[Troupe]:
    made = Troupe(theatre)
    yield made
    for process in made.started:
        killed(process)


@pytest.mark.proves("S3-TEAM-06", "S3-TEAM-09", "S3-HARD-17", "S3-HARD-19")
def test_members_run_side_by_side_each_with_its_own_environment_and_its_brief_byte_for_byte(troupe: Troupe) -> None:
    body = """
write(f"{me}.json", json.dumps([dict(os.environ), sys.argv[1:], len(brief)]))
write(f"{me}.brief", brief.decode())
wait_for(".brief".join(["b", ""]) if me == "a" else "a.brief")
wait_for("go") if me == "a" else write("b.done")
write(f"{me}.done")
"""
    brief = "quotes \"'`, $(touch EXECUTED); ünïcode\n" * 30_000
    troupe.script(body)
    (troupe.root / "brief").write_text(brief, encoding="utf-8")
    driver = troupe.start("a", "b")
    assert driver.stdout is not None
    assert driver.stdout.readline() == "b 1 passed\n", "b does not wait for a"
    (troupe.root / "go").touch()
    assert lines_of(driver) == ["a 1 passed"]
    for name in ("a", "b"):
        env, words, size = json.loads(troupe.text(f"{name}.json"))
        assert (troupe.text(f"{name}.brief") == brief, size) == (True, len(brief.encode()))
        assert (words, env["MOOT_AGENT"], env["MOOT_INCARNATION"]) == ([f"session-of-{name}"], name, "1")
        assert not {"OLD", "MOOT_PERSON"} & env.keys()
    assert not (troupe.root / "EXECUTED").exists()


@pytest.mark.proves("S3-HARD-13")
def test_a_turn_that_failed_is_started_again_and_its_end_is_noticed_within_seconds(troupe: Troupe) -> None:
    troupe.script("print('no idea')\nwrite('time', time.time())\nsys.exit(3) if turn == '1' else write(f'{me}.done')")
    begun = time.time()
    assert troupe.perform("a") == ["a 1 failed", "a 2 passed"]
    assert troupe.text("a.turns") == "12"
    found = queries.things(troupe.theatre.session().engine.read(), "run", ended=True)
    (run,) = (run for run in found if run.parameters == {"member": "a", "wave": 1})
    assert [(one.who, one.code, one.output_size) for one in run.tries] == [("a#1", 3, 8), ("a#2", 0, 8)]
    assert time.time() - begun < PATIENCE


@pytest.mark.proves("S3-HARD-15")
def test_after_a_kill_of_the_driver_no_member_runs_twice(troupe: Troupe) -> None:
    """a still runs, b has ended in the meantime and is done, c has ended and is not."""
    body = """
write(f"{me}.up", os.getpid())
wait_for(f"{me}.go")
write(f"{me}.done") if me != "c" or turn == "2" else None
"""
    troupe.script(body)
    first = troupe.start("a", "b", "c")
    pids = {name: int(troupe.text(f"{name}.up")) for name in "abc"}
    killed(first)
    for name in "bc":
        (troupe.root / f"{name}.go").touch()
        until(lambda name=name: not is_running(pids[name]), "the end of a member")
    second = troupe.start("a", "b", "c")
    assert second.stdout is not None
    assert sorted(second.stdout.readline() for _ in range(3)) == ["b 1 passed\n", "c 1 interrupted\n", "c 2 passed\n"]
    assert is_running(pids["a"])
    (troupe.root / "a.go").touch()
    assert lines_of(second) == ["a 1 passed"]
    assert [troupe.text(f"{name}.turns") for name in "abc"] == ["1", "1", "12"]
    assert [troupe.tries(name) for name in "abc"] == [["passed"], ["passed"], ["interrupted", "passed"]]


@pytest.mark.proves("S3-SHUT-03", "S3-HARD-16")
def test_a_member_that_is_asked_to_stop_ends_its_turn_or_is_killed_with_its_children(troupe: Troupe) -> None:
    """a and c end by themselves and are not signalled; b and d ignore it, and so does what they have started."""
    body = """
signal.signal(signal.SIGTERM, (lambda *_: write("SIGNALLED")) if me in "ac" else signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
write(f"{me}.up", json.dumps([os.getpid(), child.pid]))
wait_for(f"{me}.stop" if me in "ac" else "never")
child.kill()
write(f"{me}.done")
"""
    troupe.script(body)
    for quick, stubborn, adopted in (("a", "b", False), ("c", "d", True)):
        driver = troupe.start(quick, stubborn)
        pids = [pid for name in (quick, stubborn) for pid in json.loads(troupe.text(f"{name}.up"))]
        if adopted:
            killed(driver)
        (troupe.root / f"{quick}.stop").write_text("50")
        (troupe.root / f"{stubborn}.stop").write_text("0.3")
        if adopted:
            driver = troupe.start(quick, stubborn)
        assert lines_of(driver) == [f"{quick} 1 passed", f"{stubborn} 1 interrupted forced"]
        until(lambda pids=pids: not any(map(is_running, pids)), "the end of all processes")
    assert not (troupe.root / "SIGNALLED").exists()


def test_a_turn_ends_at_its_time_limit_also_if_its_driver_was_killed(troupe: Troupe) -> None:
    troupe.script("write(f'{me}.up', os.getpid())\ntime.sleep(600) if turn != '3' else write(f'{me}.done')", "2s")
    first = troupe.start("a")
    process = int(troupe.text("a.up"))
    killed(first)
    assert is_running(process)
    assert troupe.perform("a") == ["a 1 interrupted", "a 2 failed", "a 3 passed"]
    assert not is_running(process)


def test_an_interrupt_ends_all_turns_and_records_it(troupe: Troupe) -> None:
    troupe.script("write(f'{me}.up', os.getpid())\ntime.sleep(600)")
    driver = troupe.start("a", "b")
    pids = [int(troupe.text(f"{name}.up")) for name in "ab"]
    driver.send_signal(signal.SIGTERM)
    driver.communicate(timeout=PATIENCE)
    assert driver.returncode != 0
    assert not any(map(is_running, pids))
    assert [troupe.tries(name) for name in "ab"] == [["interrupted"]] * 2
