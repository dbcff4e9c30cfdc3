"""`moot search`, as people and programs use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.api.verbs import search as verb

if TYPE_CHECKING:
    from tests.surfaces.command import Command


@pytest.fixture
def said(run: Command) -> Command:
    run("task", "add", "Write the parser", "--body", "A lexer first.")
    run("send", "Bob", "The parser is on main: src/moot/parse.py", agent="Ada")
    return run


def test_hits_are_marked_in_brackets_and_belong_to_something(said: Command) -> None:
    ran = said("search", "parser", "lexer")
    assert ran.out.splitlines()[0].startswith("task-001 open Write the parser (#")
    assert ran.out.splitlines()[1] == "> Write the [parser] A [lexer] first."
    assert "> The [parser] is on main" in said("search", "parser", "--kind", "messages,tasks").out


def test_a_program_gets_the_places_of_the_words(said: Command) -> None:
    found = said("--json", "search", "lexer").result[0]
    (start, end), *_ = found["marks"]
    assert found["excerpt"][start:end] == "lexer"
    assert (found["id"], found["state"], found["kind"]) == ("task-001", "open", "tasks")


def test_a_person_sees_the_words_stand_out(said: Command) -> None:
    assert "\x1b[1;33mlexer\x1b[0m" in said.at_a_terminal("search", "lexer").out


def test_every_term_must_occur_and_the_newest_come_first(said: Command) -> None:
    def ids(*words: str) -> list[str]:
        return [found["id"] for found in said("--json", "search", *words).result]

    said("task", "note", "task-001", "The PARSER is half done.", agent="Ada")
    said("task", "add", "Test the parsers")
    message = said("--json", "search", "main").result[0]["id"]
    assert ids("parser") == ["task-002", "task-001", message]
    assert ids("parser", "half") == ids("parser half") == ["task-001"]
    assert ids("--", "parser -half") == ["task-002", message, "task-001"]
    assert ids("--", '"parser is" -half') == [message]
    assert ids("parser", "--kind", "tasks", "--task", "task-001") == ["task-001"]
    assert ids("parser", "--by", "ada", "--limit", "1") == ["task-001"]
    assert ids("%") == ids("_") == []
    assert (
        said("--json", "search", "half").result[0]["position"] > said("--json", "search", "lexer").result[0]["position"]
    )


def test_a_search_is_bounded_and_says_where_it_stopped(said: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "_LOOKED_AT", 3)
    monkeypatch.setattr(verb, "_PAGE", 2)
    with Workspace(said.repo, person=True) as ws:
        for number in range(4):
            ws.task_add(f"More {number}")
        assert ws.search("lexer") == []
        (stopped,) = [warning.message for warning in ws.warnings if warning.code == "stopped"]
        until = stopped.partition("--until ")[2].strip("`.")
        assert [found.title for found in ws.search("more", limit=9)] == ["More 3", "More 2", "More 1"]
        found = [thing.title for _ in range(3) for thing in ws.search("parser more", until=until)]
        assert found == []
        assert [thing.title for thing in ws.search("more", until=until)] == ["More 0"]


@pytest.mark.parametrize(
    "words", [[], ["--kind", "wishes", "a"], ["a", "--since", "soon"], ["a", "--until", "12"], ["a", "--limit", "-1"]]
)
def test_what_cannot_be_meant_is_said(said: Command, words: list[str]) -> None:
    error = said("--json", "search", *words).error
    assert (error["kind"], bool(error["remedy"])) == ("usage", True)


def test_times_can_be_dates_or_ages(said: Command) -> None:
    for since, found in (("1h", True), ("2001-01-01", True), ("2999-01-01T00:00Z", False)):
        assert bool(said("--json", "search", "lexer", "--since", since).result) is found
        assert bool(said("--json", "search", "lexer", "--until", since).result) is (not found)


# Receipts: what was run, what came of it, and what for


@pytest.fixture
def checked(said: Command) -> Command:
    said("task", "claim", "task-001", agent="Bob")
    noisy = "print('Collected the lexer and 40 sprockets'); raise SystemExit(3)"
    said("check", "--task", "task-001", "--", "python3", "-c", noisy.replace("sprockets", "spro' 'ckets"), agent="Bob")
    said("check", "--", "echo", "quiet", agent="Bob")
    return said


def test_a_receipt_is_found_by_its_command_its_outcome_and_its_task(checked: Command) -> None:
    for words in (["python3"], ["failed"], ["exit", "code", "3"], ["raise", "task-001"]):
        (found,) = checked("search", *words, "--kind", "receipts", "--json").result
        assert (found["kind"], found["state"], found["task"]) == ("receipts", "failed", "task-001")
        assert found["title"].startswith("python3 -c print(")
    (other,) = checked("search", "passed", "--json").result
    assert (other["title"], other["state"], other["task"]) == ("echo quiet", "passed", "task-001")
    assert checked("search", "quiet").out.splitlines()[1] == "> echo [quiet] passed task-001"


def test_what_a_command_printed_is_not_searched(checked: Command) -> None:
    assert "40 sprockets" in checked("log", "--type", "receipt:recorded", "--json").out
    assert checked("search", "sprockets").out == "No matches.\n"
    assert checked("search", "--json", "sha256").result == []


def test_of_an_effect_only_the_reasons_are_searched(said: Command) -> None:
    (said.repo / "moot.toml").write_text(
        '[[handlers]]\nname = "publish"\non = ["build:*"]\nrun = ["sh", "-c", "echo sprockets; exit $1", "sh", "0"]\n'
        '[[handlers]]\nname = "upload"\non = ["build:*"]\nrun = ["sh", "-c", "echo gaskets; exit 1"]\n'
    )
    said("allow", "publish", "upload", "--yes")
    said("emit", "build:finished")
    said("handle", "--drain")
    assert "sprockets" in said("log", "--type", "effect:done", "--json").out
    assert said("search", "sprockets").out == "No matches.\n"
    assert said("search", "publish").out == "No matches.\n"
    assert "[gaskets]" in said("search", "gaskets").out


def test_a_redacted_receipt_is_not_found_by_its_command(checked: Command) -> None:
    (receipt,) = checked("search", "quiet", "--json").result
    assert checked("redact", receipt["id"]).code == 0
    assert checked("search", "quiet").out == "No matches.\n"
    (found,) = checked("search", "passed", "--kind", "receipts", "--json").result
    assert (found["id"], found["title"]) == (receipt["id"], "[redacted]")
