"""Processes that leave the process group of a command: they end with it, and no other process does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from moot import processes
from moot.processes import escaped
from tests.pipelines.conftest import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the processes of others")
SLEEP = "import time; time.sleep(600)"
STARTS = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {SLEEP!r}], start_new_session=True, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
with open(sys.argv[1], "w") as file:
    file.write(str(child.pid))
"""
ORPHANED = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STARTS!r}, sys.argv[1]])\n"


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def is_running(process: int) -> bool:
    """Whether it runs. A zombie does not: whoever has adopted it may never look."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def run(body, path, **more):
    given = {"cwd": str(path.parent), "env": dict(os.environ), "keep": 1000, "leave": False, **more}
    return processes.run([sys.executable, "-c", body, str(path)], **given)


@pytest.mark.parametrize("body", [STARTS, ORPHANED], ids=["child", "orphan"])
def test_at_the_time_limit_also_those_end_that_left_the_group(tmp_path, body):
    path = tmp_path / "pid"
    ran = run(f"{body}\nimport time\ntime.sleep(600)", path, timeout=3.0)
    assert ran.timed_out
    until(lambda: not is_running(int(path.read_text())))


def test_they_end_when_the_program_leaves_others_behind(tmp_path):
    path = tmp_path / "pid"
    ran = run(f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {SLEEP!r}])\n{STARTS}", path)
    assert (ran.code, ran.left) == (0, True)
    until(lambda: not is_running(int(path.read_text())))


def test_no_other_process_is_ended(tmp_path):
    own = subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True)
    other = {**os.environ, escaped.MARK: "0123456789abcdef"}
    marked = subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True, env=other)
    try:
        path = tmp_path / "pid"
        younger = "subprocess.Popen([sys.executable, '-c', 'pass'])"
        assert run(f"{STARTS}\n{younger}\ntime.sleep(600)", path, timeout=3.0).timed_out
        until(lambda: not is_running(int(path.read_text())))
        assert is_running(own.pid)
        assert is_running(marked.pid)
    finally:
        for process in (own, marked):
            process.kill()
            process.wait(PATIENCE)


def test_a_program_whose_number_was_given_away_has_no_family():
    child = subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True)
    try:
        since = escaped.start_of(os.getpid())
        assert since is not None
        assert escaped.signal_escaped(signal.SIGCONT, os.getppid(), since, "") is False
        assert escaped.signal_escaped(signal.SIGCONT, 0, since, "no such mark") is False
    finally:
        child.kill()
        child.wait(PATIENCE)


def test_marks_of_programs_around_stay(monkeypatch):
    monkeypatch.setenv(escaped.MARK, "outer")
    assert escaped.marked({"A": "1"}, "inner") == {"A": "1", escaped.MARK: "outer inner"}


def test_what_outlived_a_killed_driver_and_left_the_group_is_ended_before_the_next_attempt(notes):
    notes.source(".gitignore", "RAN\nFAULT\nPID\nnotes/\n")
    notes.agent(
        f"child = subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True)\n"
        "open('PID', 'w').write(str(child.pid))\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(600)"
    )
    assert notes.elsewhere().returncode == -signal.SIGKILL
    process = int((notes.root / "PID").read_text())
    assert is_running(process)
    notes.agent("print('status: error')\nprint('error: enough')")
    notes.run(resume=True)
    until(lambda: not is_running(process))
