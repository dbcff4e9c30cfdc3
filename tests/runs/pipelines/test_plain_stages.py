"""Stages without a document, one right after the other: the end of one and the start of the next are one commit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moot import Workspace
from moot.core.errors import AwaitedFailed
from moot.place import caches
from moot.runs.record import RunRecord
from tests.runs.pipelines.conftest import PATIENCE

PACK = """
name = "checks"
title = "Checks"
version = "1.0"

[[stage]]
name = "lint"
agent = "required"
answer = "exit"
reads = ["source"]

[[stage]]
name = "review"
agent = "required"
answer = "exit"
reads = ["source"]
"""
SCRIPT = "import os, signal, sys\nwith open('RAN', 'a') as file:\n    file.write(sys.argv[1] + '\\n')\n"


class Checks:
    """A repository with two commands. `does` says what one of them does besides noting that it ran."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "protocols/checks").mkdir(parents=True)
        (root / "protocols/checks/pack.toml").write_text(PACK)
        (root / "a.txt").write_text("a\n")
        (root / ".gitignore").write_text("RAN\n")
        self.does("lint", "")
        self.does("review", "")
        words = {name: [sys.executable, str(self._script(name)), name] for name in ("lint", "review")}
        commands = "".join(f"{name} = {json.dumps(word)}\n" for name, word in words.items())
        (root / "moot.toml").write_text(
            f'packs = ["checks"]\n[pack.checks]\npath = "protocols/checks"\n[run.checks]\n{commands}'
        )
        Workspace.init(root).close()
        self.person = Workspace(root, person=True)
        self.person.allow(["checks.lint", "checks.review"], yes=True)

    def _script(self, name: str) -> Path:
        return self.root.parent / f"{name}.py"

    def does(self, name: str, body: str) -> None:
        self._script(name).write_text(f"{SCRIPT}{body}\n")

    def run(self, *paths: str, resume: bool = False) -> list[str]:
        steps = self.person.run("checks", list(paths) or ["a.txt"], resume=resume)
        return [f"{one.stage} {one.what}" for one in steps if one.what in ("passed", "reused", "failed")]

    def ran(self) -> list[str]:
        path = self.root / "RAN"
        return path.read_text().splitlines() if path.exists() else []

    def commits(self) -> list[list[str]]:
        """What happened to runs, commit by commit."""
        found: dict[str, list[str]] = {}
        for event in self.person.log(limit=500):
            if event.stream.startswith("run/"):
                found.setdefault(event.commit, []).append(event.type.removeprefix("run:"))
        return list(found.values())


@pytest.fixture
def checks(tmp_path: Path):
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=PATIENCE)
    made = Checks(root)
    yield made
    made.person.verify()
    made.person.close()


def test_the_end_of_a_stage_and_the_start_of_the_next_are_one_commit(checks):
    assert checks.run() == ["lint passed", "review passed"]
    assert checks.commits() == [["opened"], ["started"], ["passed", "started"], ["passed", "ended"]]
    assert checks.ran() == ["lint", "review"]


@pytest.mark.promise(13)
def test_a_kill_right_after_such_a_commit_runs_nothing_again_that_passed(checks):
    checks.does("review", "os.kill(os.getppid(), signal.SIGKILL)")
    command = [sys.executable, "-m", "moot", "--person", "run", "checks", "a.txt"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    killed = subprocess.run(command, cwd=checks.root, env=env, capture_output=True, timeout=PATIENCE, check=False)
    assert killed.returncode == -signal.SIGKILL
    checks.does("review", "")
    assert checks.run(resume=True) == ["lint reused", "review passed"]
    assert checks.ran().count("lint") == 1


@pytest.mark.promise(13)
def test_a_file_that_changes_before_the_commit_is_checked_again_before_the_next_stage_starts(checks, monkeypatch):
    prepare = RunRecord._start_of
    edits = iter(["", "edited\n"])  # before the first stage, before the second

    def edited(record, prepared, *rest):
        start = prepare(record, prepared, *rest)
        if text := next(edits, ""):
            (checks.root / "a.txt").write_text(text)
        return start

    monkeypatch.setattr(RunRecord, "_start_of", edited)
    assert checks.run() == ["lint passed", "review passed"]
    assert checks.commits() == [["opened"], ["started"], ["passed"], ["started"], ["passed", "ended"]]
    lint, review = checks.person.runs()[0].tries
    assert lint.inputs["file:a.txt"] != review.inputs["file:a.txt"]
    assert checks.run() == ["lint passed", "review reused"]


@pytest.mark.parametrize("young", [-1.0, 3600.0], ids=["read again when it changed", "read again each time"])
def test_consent_that_is_taken_back_while_a_stage_runs_counts_for_the_next(checks, monkeypatch, young):
    monkeypatch.setattr(caches, "YOUNG", young)
    found = []

    def go():
        for step in checks.person.run("checks", ["a.txt"]):
            found.append(f"{step.stage} {step.what}")
            if found[-1] == "lint started":
                checks.person.allow(["checks.review"], revoke=True)

    with pytest.raises(AwaitedFailed, match=r"review failed: .*checks\.review"):
        go()
    assert "lint passed" in found
    assert checks.ran() == ["lint"]
    checks.person.allow(["checks.review"], yes=True)
    assert checks.run(resume=True) == ["lint reused", "review passed"]


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "other.txt"])
def test_what_changes_between_two_stages_does_not_go_unnoticed(checks, path):
    def go():
        for step in checks.person.run("checks", ["a.txt"]):
            if (step.stage, step.what) == ("lint", "passed"):
                (checks.root / path).parent.mkdir(exist_ok=True)
                (checks.root / path).write_text("#!/bin/sh\n")

    with pytest.raises(AwaitedFailed) as caught:
        go()
    assert [one.partition(": ")[0] for one in caught.value.details["problems"]] == [path]
    assert checks.run(resume=True) == ["lint reused", "review passed"], "it was there before"


@pytest.mark.promise(13)
def test_a_run_that_reuses_everything_is_one_commit(checks):
    checks.run()
    before = len(checks.commits())
    assert checks.run() == ["lint reused", "review reused"]
    assert checks.commits()[before:] == [["opened", "reused", "reused", "ended"]]
    assert checks.ran() == ["lint", "review"]
    assert checks.person.runs()[0].ending == "finished"


@pytest.mark.promise(13)
def test_files_whose_results_are_all_reused_share_one_commit(checks):
    names = [f"{number}.txt" for number in range(20)]
    for name in names:
        (checks.root / name).write_text(name)
    checks.run(*names)
    before = len(checks.commits())
    assert set(checks.run(*names)) == {"lint reused", "review reused"}
    assert checks.commits()[before:] == [["opened"], ["opened", "reused", "reused", "ended"] * 20, ["ended"]]


@pytest.mark.promise(13)
def test_an_edit_at_the_moment_of_that_commit_is_noticed(checks, monkeypatch):
    checks.run()
    asks, edits = RunRecord.asks, iter(["edited\n"])

    def edited(record):
        if text := next(edits, ""):
            (checks.root / "a.txt").write_text(text)
        return asks(record)

    monkeypatch.setattr(RunRecord, "asks", edited)
    assert checks.run() == ["lint passed", "review passed"]


def test_while_another_run_has_a_seat_even_a_repeated_one_waits_in_order(checks):
    (checks.root / "b.txt").write_text("b\n")
    checks.run()
    steps = checks.person.run("checks", ["b.txt"])
    next(one for one in steps if one.what == "started")
    command = [sys.executable, "-m", "moot", "--person", "run", "checks", "a.txt"]
    with subprocess.Popen(command, cwd=checks.root, text=True, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        seen = other.stdout.readline() + other.stdout.readline()
        assert "waits for" in seen
        assert [one.what for one in steps][-1] == "ended"
        assert "finished" in other.communicate(timeout=PATIENCE)[0]
