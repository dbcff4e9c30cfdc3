"""A check that writes a file of its own, such as the data of a coverage run or the output of a build."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.surfaces.command import new_command

if TYPE_CHECKING:
    from pathlib import Path

COVERED = ("check", "--task", "task-001", "--", "sh", "-c", "date +%s%N > .coverage; echo x > build.log")


def test_a_check_that_writes_a_file_names_it_and_is_valid_once_git_ignores_it(tmp_path: Path) -> None:
    moot = new_command(tmp_path)
    for words in (("init",), ("join", "Ada"), ("task", "add", "Measure it"), ("task", "add", "Skip it")):
        assert moot(*words).code == 0
    assert moot("task", "claim", "task-001", agent="Ada").code == 0
    (moot.repo / "code.py").write_text("x = 1\n")

    first = moot(*COVERED, agent="Ada")
    assert first.code == 0
    assert ".coverage, build.log" in first.out + first.err
    assert ".gitignore" in first.err
    (warning,) = json.loads(moot(*COVERED[:1], "--json", *COVERED[1:], agent="Ada").out)["warnings"]
    assert (warning["code"], "build.log" in warning["message"]) == ("check_wrote", False)  # that was there already

    refused = moot("task", "submit", "task-001", "--receipt", "last", "--json", agent="Ada").error
    assert (refused["error"], refused["details"]["changed"]) == ("receipt_stale", [".coverage"])
    assert ".coverage" in refused["message"]
    assert ".gitignore" in refused["remedy"]
    assert ".coverage" in moot("receipt", "show", "last", agent="Ada").out

    (moot.repo / ".gitignore").write_text(".coverage\nbuild.log\n")
    assert moot(*COVERED, "--json", agent="Ada").code == 0
    again = moot(*COVERED, agent="Ada")
    assert (again.code, again.err) == (0, "")
    assert moot("task", "submit", "task-001", "--receipt", "last", agent="Ada").code == 0

    assert moot("task", "claim", "task-002", agent="Ada").code == 0
    assert moot("task", "submit", "task-002", agent="Ada").code == 0  # without a receipt


def test_a_check_that_formats_the_code_is_valid_when_it_is_run_again(tmp_path: Path) -> None:
    moot = new_command(tmp_path)
    for words in (("init",), ("join", "Ada"), ("task", "add", "Format it")):
        assert moot(*words).code == 0
    assert moot("task", "claim", "task-001", agent="Ada").code == 0
    (moot.repo / "code.py").write_text("x=1\n")
    formats = ("check", "--task", "task-001", "--", "sh", "-c", "echo 'x = 1' > code.py")
    first = moot(*formats, agent="Ada")
    assert "code.py" in first.err
    assert "again" in first.err
    assert moot(*formats, agent="Ada").err == ""
    assert moot("task", "submit", "task-001", "--receipt", "last", agent="Ada").code == 0
