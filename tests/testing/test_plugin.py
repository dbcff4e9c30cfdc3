"""The pytest plugin, as a project that uses moot has it: its own pytest run, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest


class Ran(NamedTuple):
    passed: int
    failed: int
    errors: int
    said: str


@pytest.fixture
def project(tmp_path: Path):
    def run(code: str, *words: str, **environment: str) -> Ran:
        (tmp_path / "test_it.py").write_text(code, encoding="utf-8")
        env = {key: value for key, value in os.environ.items() if not key.startswith(("MOOT_", "PYTEST_"))}
        quiet = ("-q", "-W", "error", "--strict-markers", "-p", "no:cacheprovider")
        apart = f"--basetemp={tmp_path / 'inner'}"  # otherwise it also removes the folders of earlier runs
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *quiet, apart, *words],
            cwd=tmp_path,
            env={**env, **environment},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        said = done.stdout + done.stderr
        counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", said.splitlines()[-1])}
        return Ran(counts.get("passed", 0), counts.get("failed", 0), counts.get("error", 0), said)

    return run


def test_a_run_that_does_not_ask_for_it_loads_nothing_of_moot(project) -> None:
    code = """
import json, sys
def test_one():
    print("LOADED" + json.dumps([n for n in sys.modules if n == "moot" or n.startswith("moot.") or n == "apsw"]))
"""
    ran = project(code, "-s")
    assert ran.passed == 1
    (loaded,) = re.findall(r"LOADED(\[.*?\])", ran.said)
    assert sorted(json.loads(loaded)) == ["moot", "moot.testing"]


def test_moot_itself_does_not_need_pytest() -> None:
    script = "import sys; import moot; from moot import Workspace; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"


def test_agents_meet_in_a_workspace_that_belongs_to_the_test(project, tmp_path: Path) -> None:
    code = """
import os
def test_two(moot_workspace):
    assert not any(name.startswith("MOOT_") for name in os.environ)
    def ask(ws):
        return ws.send("Blake", "Ready?", type="request", key="k").id
    def answer(ws):
        ws.wait(mail=True, timeout=20)
        letter = ws.inbox().new[0]
        ws.reply(letter.id, "Ready.")
        return letter.text
    ready = moot_workspace.open()
    ready.join("Blake"); ready.leave(); ready.close()
    yeats = moot_workspace.agent("Yeats", ask)
    blake = moot_workspace.agent("Blake", [answer, "inbox"], role=["developer", "reviewer"])
    moot_workspace.until(lambda ws: len(ws.log(type="message:sent")) == 2)
    moot_workspace.join()
    assert yeats.result().startswith("m-")
    assert "no new" in blake.result().lower() or blake.result()
    assert [m.here for m in moot_workspace.person.agents(all=True)] == [False, False]
    assert os.path.isdir(os.path.join(moot_workspace.path, ".git", "moot"))

def test_another_is_empty(moot_workspace):
    assert moot_workspace.person.log() == []
"""
    ran = project(
        code, MOOT_AGENT="Somebody", MOOT_INCARNATION="7", GIT_DIR=str(tmp_path / "elsewhere"), CLAUDECODE="1"
    )
    assert (ran.passed, ran.failed, ran.errors) == (2, 0, 0), ran.said


FAILURES = """
import pytest, apsw, glob, os, threading

def wrong(ws):
    ws.send("Nobody", "hello")

def test_asked_for(moot_workspace):
    moot_workspace.agent("Yeats", wrong).result()

def test_waited_for(moot_workspace):
    moot_workspace.agent("Yeats", wrong)
    moot_workspace.until(lambda ws: False)

def test_never_asked_for(moot_workspace):
    moot_workspace.agent("Yeats", wrong)

def test_two_of_them(moot_workspace):
    moot_workspace.agent("Yeats", wrong)
    moot_workspace.agent("Blake", lambda ws: 1 / 0)

def test_a_command(moot_workspace):
    moot_workspace.agent("Yeats", ["task claim task-009"])

def test_a_name_that_is_taken(moot_workspace):
    moot_workspace.person.agents()
    go = threading.Event()
    moot_workspace.agent("Yeats", lambda ws: go.wait(20))
    moot_workspace.until(lambda ws: ws.agents())
    try:
        moot_workspace.agent("Yeats", wrong).result()
    finally:
        go.set()

@pytest.mark.moot(patience=0.2)
def test_in_vain(moot_workspace):
    moot_workspace.person.task_add("One")
    moot_workspace.until(lambda ws: ws.board().counts.get("done"))

@pytest.mark.moot(patience=0.2)
def test_without_end(moot_workspace):
    moot_workspace.agent("Yeats", lambda ws: ws.wait(mail=True, timeout=60))

def test_a_view_that_is_not_what_the_log_says(moot_workspace):
    moot_workspace.person.task_add("One")
    (path,) = glob.glob(os.path.join(moot_workspace.path, ".git/moot/views-*.db"))
    db = apsw.Connection(path)
    db.execute("DELETE FROM task")
    db.close()

def test_a_wrong_marker(moot_workspace):
    pass
test_a_wrong_marker = pytest.mark.moot(packs="nothing")(test_a_wrong_marker)
"""


@pytest.mark.parametrize(
    ("name", "where", "said"),
    [
        ("asked_for", "failed", "There is no agent"),
        ("waited_for", "failed", "There is no agent"),
        ("never_asked_for", "error", "There is no agent"),
        ("two_of_them", "error", "ZeroDivisionError"),
        ("a_command", "error", "`moot task claim task-009` ended with 4: "),
        ("a_name_that_is_taken", "failed", "Yeats"),
        ("in_vain", "failed", "The condition did not become true. The last events: 1 task:added task/task-001"),
        ("without_end", "error", "Yeats is still running."),
        ("a_view_that_is_not_what_the_log_says", "error", "1 problem: "),
        ("a_wrong_marker", "error", "nothing"),
    ],
)
def test_what_goes_wrong_is_the_tests_failure(project, name: str, where: str, said: str) -> None:
    ran = project(FAILURES, f"test_it.py::test_{name}")
    assert said in ran.said
    assert (ran.failed, ran.errors) == ((1, 0) if where == "failed" else (0, 1)), ran.said


def test_without_git_it_is_a_plain_directory(project) -> None:
    code = """
import os, pytest
@pytest.mark.moot(git=False)
def test_plain(moot_workspace):
    moot_workspace.agent("Yeats", "send Yeats 'To myself.'").result()
    assert os.listdir(moot_workspace.path) == [".moot"]
"""
    ran = project(code)
    assert ran.passed == 1, ran.said
