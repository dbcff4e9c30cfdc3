"""Attacks on consent through the words of a command: bytes that nobody allowed, behind options, worktrees and `#!`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moot.core.handler import Handler
from moot.runs import commands
from moot.runs.commands import CommandInput
from moot.runs.consent import pin
from tests.surfaces.command import Command, git, new_command

EVIL = "touch stolen\n"


@pytest.fixture
def run(tmp_path: Path) -> Command:
    made = new_command(tmp_path)
    made.environment |= {"MOOT_PERSON": "1", "PYTHONSAFEPATH": "1"}
    assert made("init").code == 0
    return made


def handler(run: Command, does: str, *, allow: bool = True) -> None:
    (run.repo / "moot.toml").write_text(f'[[handlers]]\nname = "hook"\non = ["build:*"]\nattempts = 1\nrun = {does}\n')
    if allow:
        assert run("allow", "hook", "--yes").code == 0


def caused(run: Command) -> str:
    assert run("emit", "build:finished").code == 0
    return run("handle", "--drain").out.splitlines()[-1]


def stolen(run: Command) -> bool:
    return (run.repo / "stolen").exists()


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "does",
    [
        '["bash", "--norc", "deploy.sh"]',
        '["bash", "--rcfile", "-c", "deploy.sh"]',
        '["sh", "-ec", "./deploy.sh"]',
        '["sh", "-c", "./deploy.sh"]',
        '["env", "sh", "-e", "deploy.sh"]',
        '["env", "BASH_ENV=deploy.sh", "bash", "-c", "true"]',
        '["awk", "-fdeploy.sh"]',
        '["cat", "--data=@deploy.sh"]',
        '["cat", "@deploy.sh"]',
        '["cat", "--set=a=deploy.sh"]',
    ],
)
def test_a_file_is_part_of_what_is_allowed_wherever_its_word_stands(run: Command, does: str) -> None:
    script(run.repo / "deploy.sh", "echo good\n")
    handler(run, does)
    assert "file deploy.sh, " in run("allow").out
    script(run.repo / "deploy.sh", EVIL)
    assert caused(run) == "Nothing was due."
    assert not stolen(run)


@pytest.mark.parametrize("words", [("bash", "--norc", "hook.sh"), ("bash", "--rcfile", "-c", "hook.sh")])
def test_a_script_behind_options_is_run_as_it_was_allowed(tmp_path: Path, words: tuple[str, ...]) -> None:
    script(tmp_path / "hook.sh", "echo good > got\n")
    env = {"PATH": os.environ["PATH"]}
    hook = Handler(name="hook", on=("a:b",), run=words)
    looked = pin(hook, str(tmp_path), env)
    script(tmp_path / "hook.sh", EVIL)
    given = CommandInput(brief="{}", env=env, own={}, leave=True)
    assert commands.run(looked, given).code == 0
    assert ((tmp_path / "got").exists(), (tmp_path / "stolen").exists()) == (True, False)


def test_the_text_of_a_shell_that_is_called_like_a_file_stays_the_text(run: Command) -> None:
    script(run.repo / "true", EVIL)
    handler(run, '["sh", "-c", "true"]')
    assert caused(run) == "1 done."
    assert not stolen(run)


def test_a_word_that_could_mean_two_files_is_refused(run: Command) -> None:
    script(run.repo / "--init-file=deploy.sh", "echo good\n")
    script(run.repo / "deploy.sh", "echo good\n")
    handler(run, '["bash", "--init-file=deploy.sh"]', allow=False)
    refused = run("allow", "hook", "--yes", "--json").error
    assert refused["error"] == "cannot_be_allowed"
    assert "two files" in refused["message"]


@pytest.mark.parametrize("words", ['["../other/bin/x.sh"]', '["sh", "../other/bin/x.sh"]', '["sh", "{absolute}"]'])
def test_a_script_of_another_worktree_is_part_of_what_is_allowed(run: Command, words: str) -> None:
    linked = run.repo.parent / "other"
    git(run.repo, "commit", "-q", "--allow-empty", "-m", "one")
    git(run.repo, "worktree", "add", "-q", "-b", "side", str(linked))
    hook = script(linked / "bin" / "x.sh", "#!/bin/sh\necho good > got\n")
    handler(run, words.format(absolute=hook))
    assert "x.sh, run as a private copy" in run("allow").out
    assert caused(run) == "1 done."
    assert (run.repo / "got").exists()
    script(hook, f"#!/bin/sh\n{EVIL}")
    assert caused(run) == "Nothing was due."
    assert not stolen(run)


def test_a_program_of_another_worktree_is_not_found_by_its_bare_name(run: Command) -> None:
    linked = run.repo.parent / "other"
    git(run.repo, "commit", "-q", "--allow-empty", "-m", "one")
    git(run.repo, "worktree", "add", "-q", "-b", "side", str(linked))
    script(linked / "bin" / "true", f"#!/bin/sh\n{EVIL}")
    run.environment["PATH"] = f"{linked}/bin:{run.environment['PATH']}"
    handler(run, '["true"]')
    assert caused(run) == "1 done."
    assert not stolen(run)


@pytest.mark.parametrize(
    "line",
    [
        "#!./bin/interp",
        "#!bin/interp",
        "#! \t./bin/interp",
        "#!{repo}/bin/interp",
        "#!/usr/bin/env ./bin/interp",
        "#!/usr/bin/env -S ./bin/interp -e",
        "#!/usr/bin/env -S A=b {repo}/bin/interp",
        "#!/usr/bin/env -S sh 'bin'/interp",
        "#!/usr/bin/env -S sh ${{PWD}}/bin/interp",
        "#!/bin/sh bin/interp",
        "#!/bin/sh lib.sh",
        "#!/usr/bin/awk -flib.sh",
        "#!{linked}/interp",
        "#!\v/bin/sh",
        "#!/bin/sh -" + "e" * 300,
        "#!",
    ],
)
@pytest.mark.parametrize("words", ['["./bin/sb"]', '["env", "./bin/sb"]'])
def test_a_script_that_runs_through_a_program_of_the_workspace_is_refused(
    run: Command, tmp_path: Path, line: str, words: str
) -> None:
    script(run.repo / "bin" / "interp", "#!/bin/sh\necho good\n")
    script(run.repo / "lib.sh", "echo good\n")
    (tmp_path / "linked-in").symlink_to(run.repo / "bin")
    script(run.repo / "bin" / "sb", line.format(repo=run.repo, linked=tmp_path / "linked-in") + "\necho\n")
    handler(run, words, allow=False)
    assert run("allow", "hook", "--yes", "--json").error["error"] == "cannot_be_allowed"
    assert caused(run) == "Nothing was due."


@pytest.mark.parametrize("line", ["#!/bin/sh", "#! /bin/sh -e", "#!/usr/bin/env sh", "#!/usr/bin/env -S sh -e"])
def test_a_script_with_an_installed_interpreter_is_run(run: Command, line: str) -> None:
    script(run.repo / "bin" / "sb", f"{line}\necho good > got\n")
    handler(run, '["./bin/sb"]')
    assert caused(run) == "1 done."
    assert (run.repo / "got").read_text() == "good\n"


def test_the_prompt_says_which_files_are_covered(run: Command) -> None:
    handler(run, '["true"]', allow=False)
    assert "Covered: no file." in run("allow").out
    script(run.repo / "hook.sh", "#!/bin/sh\ntrue\n")
    handler(run, '["./hook.sh"]', allow=False)
    assert "which the command names (also after `=`, `@` or an option letter)" in run("allow").out


def test_copies_that_killed_runners_left_are_removed_and_nothing_else_is(run: Command, tmp_path: Path) -> None:
    """A directory for temporary files that others may write to is not used; the user's own one is, and kept clean."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    room = Path(run.environment["HOME"]) / ".local" / "state" / "moot" / "run"
    for name in ("moot-run-abcd_123", "moot-run-young123", "moot-run-not-ours", "mine"):
        script(room / name / "0" / "hook.sh", "true\n")
    (room / "moot-run-linked_1").symlink_to(room / "mine")
    for folder in (room.parent, room):
        folder.chmod(0o700)
    for name in ("moot-run-abcd_123", "moot-run-not-ours", "mine"):
        os.utime(room / name, (0, 0))
    script(run.repo / "hook.sh", '#!/bin/sh\necho "$0" > got\n')
    handler(run, '["./hook.sh"]')
    run("emit", "build:finished")
    assert run("handle", "--drain", TMPDIR=str(tmp_path / "open")).out == "1 done.\n"
    assert Path((run.repo / "got").read_text().strip()).is_relative_to(room)
    assert sorted(os.listdir(room)) == ["mine", "moot-run-linked_1", "moot-run-not-ours", "moot-run-young123"]
    assert (room / "mine" / "0" / "hook.sh").exists()
