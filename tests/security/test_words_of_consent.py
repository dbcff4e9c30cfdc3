"""What a person is told on the way to a yes: words with two meanings, missing files, jobs without a terminal."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from tests.surfaces.command import Command, new_command

if TYPE_CHECKING:
    from pathlib import Path

AS_NOBODY = {"MOOT_PERSON": ""}


@pytest.fixture
def run(tmp_path: Path) -> Command:
    command = new_command(tmp_path)
    assert command("init").code == 0
    return command


def write(run: Command, name: str, action: str) -> None:
    (run.repo / "moot.toml").write_text(f'[[handlers]]\nname = "{name}"\non = ["build:*"]\n{action}\n')


def test_a_command_that_is_not_there_yet_cannot_be_allowed(run: Command) -> None:
    write(run, "later", 'run = ["./z.sh"]')
    refused = run("allow", "later", "--yes", "--json").error
    assert refused["error"] == "cannot_be_allowed"
    assert "there is no file ./z.sh" in refused["message"]


def test_what_a_person_without_a_terminal_is_told_to_run_works(run: Command) -> None:
    write(run, "deploy", 'run = ["true"]')
    nobody = run("allow", "deploy", "--yes", "--json", **AS_NOBODY).error
    assert nobody["error"] == "who_are_you"
    assert "`moot … --person`" in nobody["remedy"]
    refused = run("--person", "allow", "deploy", "--json", **AS_NOBODY).error
    assert refused["error"] == "not_confirmed"
    told = refused["remedy"].split("`")[1]
    assert told == "moot allow deploy --person --yes"
    assert run(*shlex.split(told)[1:], **AS_NOBODY).code == 0


def test_in_an_agents_shell_no_remedy_names_the_way_of_a_person(run: Command) -> None:
    write(run, "deploy", 'run = ["true"]')
    for words in (["allow", "deploy", "--yes"], ["send", "Bob", "Hello"]):
        for said in ([], ["--person"]):
            refused = run(*said, *words, CLAUDECODE="1", **AS_NOBODY)
            if refused.code:
                assert "--person" not in refused.err


def test_a_role_that_cannot_be_one_is_called_a_role(run: Command) -> None:
    refused = run("join", "Mallory", "--role", "$(touch PWN)", "--json").error
    assert "is not a valid name for a role" in refused["message"]
