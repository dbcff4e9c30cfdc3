"""Processes that leave the process group of a command: they end with it, and no other process does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from moot.place import escaped, locks, processes
from tests.runs.pipelines.conftest import PATIENCE, is_running, until

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


def test_a_command_cannot_have_another_process_ended_by_writing_into_what_it_inherits(notes):
    other = subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True)
    try:
        notes.source(".gitignore", "RAN\nFAULT\nFOUND\nnotes/\n")
        claim = f"{other.pid} {escaped.start_of(other.pid)} {'0' * 16}".ljust(64)
        notes.agent(
            "found = []\n"
            "for one in os.listdir('/proc/self/fd'):\n"
            "    path = os.path.realpath(f'/proc/self/fd/{one}')\n"
            "    if '/drivers/' in path:\n"
            "        found.append(path.rpartition('.')[2])\n"
            f"        os.pwrite(os.open(f'/proc/self/fd/{{one}}', os.O_WRONLY), {claim.encode()!r}, 0)\n"
            "open('FOUND', 'w').write(' '.join(found))\n"
            "os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(600)"
        )
        assert notes.elsewhere().returncode == -signal.SIGKILL
        assert (notes.root / "FOUND").read_text() == "agent", "it inherits the lock, and nothing else"
        notes.agent("print('status: error')\nprint('error: enough')")
        notes.run(resume=True)
        assert is_running(other.pid)
        assert not list((notes.root / ".git/moot/drivers").iterdir()), "nothing is left behind"
    finally:
        other.kill()
        other.wait(PATIENCE)


def test_a_group_whose_first_process_has_ended_is_not_signalled_by_its_number(tmp_path):
    """The number may belong to another group by then."""
    starts = f"import subprocess, sys\nprint(subprocess.Popen([sys.executable, '-c', {SLEEP!r}]).pid)"
    leader = subprocess.Popen([sys.executable, "-c", starts], start_new_session=True, stdout=subprocess.PIPE)
    assert leader.stdout is not None
    member = int(leader.stdout.readline())
    leader.stdout.close()
    leader.wait(PATIENCE)
    try:
        (tmp_path / "drivers").mkdir()
        lock = locks.CommandLock(str(tmp_path), "p-0.run-1")
        lock.started(leader.pid, escaped.start_of(member))
        assert locks.bury(str(tmp_path), "p-0", "p-0.run-1") is False
        assert is_running(member)
    finally:
        os.kill(member, signal.SIGKILL)
        lock.ended()
