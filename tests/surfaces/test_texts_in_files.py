"""Texts on the command line: @FILE is the text of a file, @@ begins a text with @, - is standard input."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from moot.api import catalogue

if TYPE_CHECKING:
    from tests.surfaces.command import Command


def sent(run: Command, *words: str, **given: Any) -> str:
    name = run("--json", "send", "Bob", *words, agent="Ada", **given).result["id"]
    (letter,) = run("--json", "thread", name, "--only").result
    return str(letter["text"])


def test_a_text_comes_from_a_file_relative_to_the_current_directory(run: Command) -> None:
    (run.repo / "docs").mkdir()
    (run.repo / "docs" / "note.md").write_text("\ufeffLine 1\n@Line 2 é\n", encoding="utf-8")
    assert sent(run, "@note.md", cwd=run.repo / "docs") == "Line 1\n@Line 2 é\n"
    assert sent(run, f"@{run.repo}/docs/note.md") == "Line 1\n@Line 2 é\n"


def test_two_signs_begin_a_text_with_one(run: Command) -> None:
    assert sent(run, "@@Ada said so.") == "@Ada said so."
    assert sent(run, "@@@x") == "@@x"
    assert sent(run, "me@example.org") == "me@example.org"
    assert sent(run, "-", input="@not a file") == "@not a file"


def test_a_text_that_names_no_file_is_refused_and_says_how_to_write_it(run: Command) -> None:
    said = run("--json", "send", "Bob", "@Ada said so.", agent="Ada").error
    assert said["error"] == "unreadable_file"
    assert said["message"] == "Ada said so. cannot be read: No such file or directory."
    assert "write @@" in said["remedy"]


@pytest.mark.parametrize("name", ["binary", "folder", "pipe", "nul", "", "-"])
def test_what_is_no_text_file_is_refused(run: Command, name: str) -> None:
    (run.repo / "binary").write_bytes(b"\xff\xfe")
    (run.repo / "nul").write_bytes(b"a\0b")
    (run.repo / "folder").mkdir()
    os.mkfifo(run.repo / "pipe")
    said = run("--json", "send", "Bob", f"@{name}", agent="Ada", input="from standard input").error
    assert (said["error"], "@@" in said["remedy"]) == ("unreadable_file", True)


def test_a_file_over_the_limit_of_its_argument_is_refused(run: Command) -> None:
    run("task", "add", "Write it", agent="Ada")
    (run.repo / "large").write_text("x" * 65_537)
    said = run("--json", "task", "note", "task-001", "@large", agent="Ada").error
    assert (said["error"], said["details"]["limit"]) == ("file_too_large", 65_536)
    (run.repo / "large").write_text("x" * 65_536)
    assert run("--json", "task", "note", "task-001", "@large", agent="Ada").result["notes"] == 1


def test_titles_and_bodies_come_from_files(run: Command) -> None:
    (run.repo / "title").write_text("Write it\n")
    (run.repo / "body.md").write_text("Details.\n")
    added = run("--json", "task", "add", "@title", "--body", "@body.md", agent="Ada").result
    assert (added["title"], added["body"]) == ("Write it", "Details.\n")
    edited = run("--json", "task", "edit", "task-001", "--title", "-", agent="Ada", input="Write more\n").result
    assert edited["title"] == "Write more"
    assert run("--json", "task", "edit", "task-001", "--title", "@@Ada", agent="Ada").result["title"] == "@Ada"


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_reason_comes_from_a_file_without_the_end_of_its_line(run: Command, end: str) -> None:
    run("task", "add", "Write it", agent="Ada")
    (run.repo / "why.txt").write_bytes(f"Not needed: é.{end}".encode())
    assert run("--json", "task", "cancel", "task-001", "--reason=@why.txt", agent="Ada").code == 0
    (event,) = run("--json", "log", "--type", "task:cancelled").result
    assert event["data"]["reason"] == "Not needed: é."


def test_repeated_texts_come_from_files_one_by_one(run: Command) -> None:
    (run.repo / "first").write_text("Yes, all of it\n")
    words = ["checkpoint", "reach", "Delete it?", "--option", "@first", "--option", "@@first", "--option", "no"]
    assert run("--json", *words, agent="Ada").result["options"] == ["Yes, all of it", "@first", "no"]


def test_a_limit_in_characters_holds_for_a_file(run: Command) -> None:
    (run.repo / "title").write_text("é" * 500 + "\n", encoding="utf-8")
    assert len(run("--json", "task", "add", "@title", agent="Ada").result["title"]) == 500
    for size, error in ((501, "too_long"), (5000, "file_too_large")):
        (run.repo / "title").write_text("é" * size, encoding="utf-8")
        assert run("--json", "task", "add", "@title", agent="Ada").error["error"] == error


# Every other text argument, and why it is taken as it is written.
NO_PROSE = {
    "names and ids": {
        *("affects", "agent", "affecting", "answer", "by", "client", "doing", "field", "handler", "holder"),
        *("id", "ids", "key", "lifecycle", "name", "names", "needs", "owner", "pack", "provides", "receipt"),
        *("replaces", "report", "role", "task", "thing", "thread", "to", "what"),
    },
    "types, kinds, states and other closed choices": {
        *("fail_on", "hook", "kind", "priority", "stage", "state", "stream", "type"),
    },
    "paths and addresses": {"file", "from_", "path", "paths", "remote", "uri"},
    "times": {"since", "until"},
    "a query, which quotes what it searches for": {"words"},
    "a command for the machine": {"command"},
}


def test_every_text_of_people_can_be_a_file_and_nothing_else_can() -> None:
    params = [param for name in catalogue.names() for param in catalogue.find(name).params]
    taken = {param.name for param in params if param.type in ("text", "words") and not catalogue.is_prose(param)}
    assert taken == {name for names in NO_PROSE.values() for name in names}
    prose = {param.name for param in params if catalogue.is_prose(param)}
    assert prose == {
        *("answer", "awaiting", "body", "change", "option", "question", "rationale", "reason", "refs", "summary"),
        *("text", "title"),
    }


@pytest.mark.parametrize("name", ["task reject", "claim", "artifact add", "decide", "held drop"])
def test_the_help_of_a_verb_with_a_text_says_how_to_name_a_file(run: Command, name: str) -> None:
    assert "A text can also be @FILE, or - for standard input." in " ".join(run("help", *name.split()).out.split())


def test_python_takes_every_text_as_it_is(run: Command) -> None:
    with Workspace(run.repo, agent="Ada") as ada:
        name = ada.send("Bob", "@Ada said so.").id
        assert ada.thread(name)[0].text == "@Ada said so."
