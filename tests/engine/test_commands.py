"""Commands: what they get, what is kept of what they say, and that their time is bounded."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from moot.core.deciders.effect import Effect
from moot.core.handler import Handler
from moot.place import locks
from moot.runs.consent import pin
from moot.runs.effects import Attempt, Result, perform
from tests.faults.crew import alive, until

EVENT = {"id": "c.0", "type": "build:finished", "at": "2031-05-08T09:30:00.000Z", "data": {"text": "grün\x1b" * 50_000}}


def run(root: Path, *words: str, timeout: float = 30.0, cancel: bool = False) -> Result:
    handler = Handler(name="h", on=("a:b",), run=words, timeout=timeout)
    env = {"PATH": os.environ["PATH"], "X": "$HOME"}
    lock = locks.take(locks.path_of(str(root), "locks", "e-1"))
    assert lock is not None
    attempt = Attempt(Effect(id="e-1", handler="h", attempt=2), handler, lock)
    attempt.pinned = pin(handler, str(root), env)
    try:
        return perform(attempt, EVENT, env, lambda: cancel)
    finally:
        lock.release()


def script(root: Path, *lines: str) -> tuple[str, str]:
    (root / "script.py").write_text("\n".join(("import json, os, sys, time, subprocess, signal", *lines)))
    return sys.executable, "script.py"


def test_a_command_gets_the_event_its_key_and_the_root(tmp_path):
    words = script(
        tmp_path,
        "json.dump([json.load(sys.stdin), os.environ['MOOT_EFFECT_KEY'], os.environ['MOOT_EFFECT_ATTEMPT'],",
        "           os.getcwd(), sys.argv[1:]], open('got', 'w'))",
    )
    assert run(tmp_path, *words, "$X; rm *", "a b").ok
    assert json.loads((tmp_path / "got").read_text()) == [EVENT, "e-1", "2", str(tmp_path), ["$X; rm *", "a b"]]


def test_a_command_that_does_not_read_is_no_trouble(tmp_path):
    assert run(tmp_path, "true").ok


def test_the_end_of_the_output_is_kept(tmp_path):
    words = script(tmp_path, "print('x' * 1_000_000, flush=True)", "print('the end', file=sys.stderr)")
    result = run(tmp_path, *words)
    assert result.ok
    assert result.detail.endswith("x\nthe end")
    assert len(result.detail) <= 2000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sh", "-c", "echo no; exit 3"), "exit code 3: no"),
        (("sh", "-c", "echo begun; echo 'no such host'; echo; exit 3"), "exit code 3: no such host"),
        (("sh", "-c", "kill -9 $$"), "killed by signal 9"),
        (("./nothing",), "there is no file ./nothing"),
        (("/etc",), "/etc cannot be run: Permission denied"),
    ],
)
def test_a_failure_says_how_it_failed(tmp_path, words, said):
    result = run(tmp_path, *words)
    assert (result.ok, result.detail) == (False, said)


def test_when_the_time_is_over_the_whole_group_is_killed(tmp_path):
    words = script(
        tmp_path,
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "child = subprocess.Popen(['sleep', '600'])",
        "open('pid', 'w').write(str(child.pid))",
        "print('begun', flush=True)",
        "time.sleep(600)",
    )
    result = run(tmp_path, *words, timeout=2.0)
    assert (result.ok, result.detail) == (False, "not done within 2 s: begun")
    until(lambda: not alive(int((tmp_path / "pid").read_text())), "the child of the command is gone")


def test_a_command_whose_child_keeps_the_output_open_is_done_when_it_ends(tmp_path):
    result = run(tmp_path, "sh", "-c", "sleep 600 & echo $! > pid; echo ready", timeout=60.0)
    os.kill(int((tmp_path / "pid").read_text()), 9)
    assert (result.ok, result.detail) == (True, "ready")


def test_a_stopped_runner_stops_its_commands(tmp_path):
    result = run(tmp_path, "sleep", "600", cancel=True)
    assert (result.ok, result.detail) == (False, "its runner was stopped")
