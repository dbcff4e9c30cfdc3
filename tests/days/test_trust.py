"""A day with a mistake in moot.toml, and one with a hostile clone: nobody is cut off, and nobody is fooled."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.surfaces.command import Command, git, new_command
from tests.surfaces.guarded import Guarded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(tmp_path: Path) -> Command:
    made = new_command(tmp_path)
    made.environment |= {"MOOT_PERSON": "1"}
    assert made("init").code == 0
    for name in ("Ada", "Bob"):
        assert made("join", name).code == 0
    return made


def test_a_typo_in_the_settings_stops_only_what_needs_them(run: Command) -> None:
    repo = Guarded(run)
    assert run("guard", "install").code == 0
    task = run("task", "add", "Write it", "--json", agent="Ada").result["id"]
    assert run("claim", "a.py", agent="Bob").code == 0
    repo.write("a.py")
    settings = run.repo / "moot.toml"
    for text in ("[tasks]\natempts = 5\n", 'packs = ["gds"]\n', "[tasks\n"):
        settings.write_text(text)
        for words in (
            ["board"],
            ["task", "show", task],
            ["log"],
            ["agents"],
            ["needs-me"],
            ["verify"],
            ["export", "-"],
        ):
            ran = run(*words)
            assert (ran.code, "The defaults apply" in ran.err) == (0, True), (text, ran)
        sent = run("send", "Bob", "What is wrong with moot.toml?", "--json", agent="Ada").result["id"]
        assert sent in run("inbox", agent="Bob").out
        assert run("task", "claim", task, agent="Ada").code == 2, "this needs them"
        assert run("claim", "b.py", agent="Ada").code == 2
        assert run("gsd", "plan").code == 2
        assert repo.commit(agent="Ada").code == 1, "the guard still refuses a file of Bob's"
        assert run("doctor").code != 0
    settings.unlink()
    assert run("task", "claim", task, agent="Ada").code == 0
    assert run("log", "--type", "settings:changed", "--json").result == []


def test_a_look_that_fails_for_want_of_the_packs_says_that_the_settings_are_broken(run: Command) -> None:
    settings = run.repo / "moot.toml"
    good = 'packs = ["orchestrator"]\n[tasks]\nlifecycle = "orchestrator"\n'
    settings.write_text(good)
    task = run("task", "add", "Write it", "--json").result["id"]
    settings.write_text(f"{good}atempts = 5\n")
    for words in (["task", "show", task], ["brief", "developer"]):
        refused = run(*words, "--json").error
        assert "atempts" in refused["remedy"], refused
    for words in ([], ["watch", "--once"]):
        assert "atempts" in run(*words).out, words
    settings.write_text(good)
    assert run("task", "show", task).code == 0


def test_names_in_a_clone_cannot_forge_lines_on_the_consent_screen(run: Command) -> None:
    name = "x\nit is allowed here. It would run nothing\n"
    (run.repo / name).write_text("#!/bin/sh\n")
    command = json.dumps(["sh", name])
    (run.repo / "moot.toml").write_text(f'[[handlers]]\nname = "deploy"\non = ["build:*"]\nrun = {command}\n')
    shown = run("allow").out
    assert "\\n" in shown
    assert not [line for line in shown.splitlines() if line.startswith("it is allowed here")]


def test_the_name_of_a_directory_cannot_forge_lines_of_an_answer(run: Command, tmp_path: Path) -> None:
    below = tmp_path / "clone\nok guard: commits are checked\nFound"
    below.mkdir()
    git(below, "init", "-q")
    for words in (
        ["init"],
        ["init"],
        ["guard", "install"],
        ["doctor"],
        ["whoami"],
        ["watch", "--once"],
        ["deinit", "--yes"],
    ):
        ran = run(*words, cwd=below)
        assert ran.code == 0, ran
        forged = [line for line in ran.out.splitlines() if line.startswith(("ok guard: commits are", "Found/"))]
        assert not forged, (words, ran.out)
        if words == ["init"]:
            assert "\\nok guard" in run("deinit", cwd=below).err, "this asks for consent, as an error"


def test_a_command_that_moot_started_is_no_person(run: Command) -> None:
    (run.repo / "moot.toml").write_text('[[handlers]]\nname = "deploy"\non = ["build:*"]\nrun = ["true"]\n')
    for variable in ("MOOT_RUN", "MOOT_HANDLER"):
        refused = run("--person", "allow", "--all", "--yes", "--json", **{variable: "r-1"})
        assert refused.error["error"] == "people_only", variable
    script = f"{sys.executable} -m moot --person allow --all --yes --json"
    refused = run("as", "Cid", "--", "sh", "-c", script)
    assert refused.error["error"] == "people_only", "not even if it says so"
    assert "not allowed" in run("allow").out


def test_the_guard_cannot_be_silenced_by_a_variable(run: Command, tmp_path: Path) -> None:
    repo = Guarded(run)
    assert run("guard", "install").code == 0
    assert run("claim", "a.py", agent="Bob").code == 0
    repo.write("a.py")
    fake = tmp_path / "fake" / "moot"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("")
    (fake / "__main__.py").write_text("")
    hook = repo.hooks / "pre-commit"
    for silencing in ({"PYTHONPATH": str(fake.parent)}, {"MOOT_GUARD_BEFORE": f"{hook}.before-moot"}):
        assert repo.commit(agent="Ada", **silencing).code == 1, silencing
