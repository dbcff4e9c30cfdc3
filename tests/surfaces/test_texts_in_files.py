"""Texts on the command line: @FILE is the text of a file, @@ begins a text with @, - is standard input."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace

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


def test_every_text_argument_takes_a_file_and_a_title_does_not(run: Command) -> None:
    (run.repo / "body.md").write_text("Details.")
    added = run("--json", "task", "add", "@body.md", "--body", "@body.md", agent="Ada").result
    assert (added["title"], added["body"]) == ("@body.md", "Details.")


def test_python_takes_every_text_as_it_is(run: Command) -> None:
    with Workspace(run.repo, agent="Ada") as ada:
        name = ada.send("Bob", "@Ada said so.").id
        assert ada.thread(name)[0].text == "@Ada said so."
