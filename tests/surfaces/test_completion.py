"""Completion, tried in the real bash."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from moot.api import catalogue
from moot.surfaces.cli import pack_verbs, reference
from moot.surfaces.cli.parse import ALIASES
from tests.surfaces.command import PATIENCE, Command, new_command
from tests.surfaces.worlds import enliven

ASK = """
source <(moot completion bash)
for line in "$@"; do
  COMP_LINE=$line COMP_POINT=${#line}
  _moot
  printf '%s\\t%s\\n' "$line" "${COMPREPLY[*]}"
done
"""
FIRSTS = {
    *(name.partition(" ")[0] for name in (*catalogue.names(), *pack_verbs.all_names())),
    *("as", "help", "completion"),
    *ALIASES,
}
OFFERED = {
    "moot ": FIRSTS,
    "moot ta": {"task"},
    "moot task ": {name.partition(" ")[2] for name in catalogue.names() if name.startswith("task ")},
    "moot --json -C . held s": {"show"},
    "moot nonsense ": set(),
    "moot task add --pri": {"--priority"},
    "moot task add --priority ": {"critical", "high", "medium", "low"},
    "moot task add x --no-review --prio": {"--priority"},
    "moot send ": {"Ada", "Bob", "@all"},
    "moot send A": {"Ada"},
    "moot send @": {"all"},  # what follows the last character that parts words
    "moot --agent B": {"Bob"},
    "moot --at ": set(),
    "moot send Bob hi --task task-00": {f"task-00{n}" for n in (6, 4, 3, 2, 1)},
    "moot task claim task-001": {"task-001"},
    "moot task link task-001 --needs task-003": {"task-003"},
    "moot completion ": {"bash"},
    "moot ask x --task task-003": {"task-003"},
    "moot help bo": {"board"},
    "moot as A": {"Ada"},
    "moot init --pack gs": {"gsd"},
    "moot task add x --id ": set(),
    "moot -C /nowhere task claim ": set(),
}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Command:
    command = new_command(tmp_path_factory.mktemp("town"))
    enliven(command)
    tools = command.repo.parent / "bin"
    tools.mkdir()
    (tools / "moot").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m moot "$@"\n')
    (tools / "moot").chmod(0o755)
    command.environment["PATH"] = f"{tools}:{command.environment['PATH']}"
    return command


def offered(town: Command, *lines: str) -> dict[str, set[str]]:
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "ask", *lines],
        cwd=town.repo,
        env=town.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stderr == ""
    found = (line.partition("\t") for line in done.stdout.splitlines())
    return {line: set(words.split()) for line, _, words in found}


def test_bash_completes_verbs_options_choices_and_names(town: Command) -> None:
    assert offered(town, *OFFERED) == OFFERED


def test_bash_completes_the_mail_of_the_caller(town: Command) -> None:
    line = "moot --agent Bob reply m-"
    (request,) = offered(town, line)[line]
    assert town("thread", request).code == 0


def test_a_person_who_wants_to_complete_a_task_is_shown_how(run: Command) -> None:
    for words in (("task-001",), ("7",), ()):
        ran = run("complete", *words, "--json", agent="Ada")
        assert (ran.code, ran.error["error"]) == (2, "unknown_verb")
        assert "`moot task complete " in ran.error["remedy"]


def test_another_shell_is_refused(bare: Command) -> None:
    assert [bare("completion", *words).code for words in ((), ("tcsh",), ("bash", "zsh"))] == [2, 2, 2]


def test_every_variable_that_the_program_reads_is_in_the_reference() -> None:
    source = Path(catalogue.__file__).parents[1]
    text = "".join(path.read_text(encoding="utf-8") for path in source.rglob("*.py"))
    known = " ".join(name for name, _ in reference.ENVIRONMENT)
    assert set(re.findall(r"\bMOOT_[A-Z]+\b", text)) <= set(re.split(r"[ ,]+", known))
