"""An agent that forgot to say who it is acts as a person: in an agent's shell it is told so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.surfaces.command import Command

CODE = "acted_as_person"


def codes(run: Command, *words: str, **environment: str) -> list[str]:
    ran = run(*words, "--json", **environment)
    assert ran.code == 0, ran
    return [warning["code"] for warning in json.loads(ran.out)["warnings"]]


@pytest.mark.parametrize(
    "variable",
    ["CLAUDECODE", "CODEX_THREAD_ID", "CODEX_SANDBOX", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE", "QWEN_CODE"],
)
def test_what_changes_something_in_an_agents_shell_is_done_with_a_warning(run: Command, variable: str) -> None:
    ran = run("task", "add", "One", **{variable: "1"})
    assert (ran.code, ran.out) == (0, "task-001 added: One\n")
    assert f"{variable} says that this is a coding agent's shell" in ran.err
    assert "`--agent NAME`" in ran.err
    assert "export MOOT_AGENT=NAME" in ran.err
    assert ran.err.endswith(f"[{CODE}]\n")


def test_whoever_says_who_acts_is_not_warned(run: Command) -> None:
    assert codes(run, "task", "add", "One") == []
    assert codes(run, "task", "add", "Two", CLAUDECODE="") == []
    assert codes(run, "task", "add", "Three", CLAUDECODE="1", MOOT_AGENT="Ada") == []
    assert codes(run, "--agent", "Ada", "task", "add", "Four", CLAUDECODE="1") == []
    assert codes(run, "task", "add", "Five", CLAUDECODE="1", MOOT_AGENT="") == []


@pytest.mark.parametrize(
    "words", [("board",), ("log",), ("inbox",), ("needs-me",), ("join", "Dora"), ("init",), ("doctor",)], ids=" ".join
)
def test_looking_and_joining_are_for_anybody(run: Command, words: tuple[str, ...]) -> None:
    assert codes(run, *words, CLAUDECODE="1") == []


def test_a_command_that_is_run_as_an_agent_is_not_warned(run: Command) -> None:
    ran = run("as", "Dora", "--", "true", CLAUDECODE="1")
    assert (ran.code, ran.err) == (0, "")


def test_an_agent_that_answers_for_a_person_is_warned(run: Command) -> None:
    asked = run("checkpoint", "reach", "May I?", "--kind", "verify", "--json", agent="Ada").result
    assert codes(run, "needs-me", "--answer", asked["id"], "yes", CLAUDECODE="1") == [CODE]


def test_a_refusal_stays_a_refusal(run: Command) -> None:
    ran = run("task", "submit", "task-009", "--json", CLAUDECODE="1")
    assert (ran.code, ran.error["error"]) == (4, "unknown_task")


def test_what_goes_on_without_end_as_json_is_warned_beside_it(run: Command) -> None:
    (run.repo / "moot.toml").write_text(
        '[[handlers]]\nname = "h"\non = ["a:b"]\nmessage = { to = "Bob", text = "b" }\n'
    )
    run.environment["CLAUDECODE"] = "1"
    with run.popen("handle", "--json") as runner:
        assert runner.stderr is not None
        assert f"[{CODE}]" in runner.stderr.readline()
        runner.terminate()
