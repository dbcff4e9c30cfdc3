"""A command cannot hide what it did from the engine by what git ignores."""

from __future__ import annotations

import subprocess

import pytest

from tests.pipelines.conftest import GOOD

WRITE = """
def write(path, text="x", mode="w"):
    path = os.path.expanduser(path)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, mode) as file:
        file.write(text)
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path / "home"


def problems(notes, body):
    """The paths that a command is blamed for, which also does its work."""
    notes.agent(WRITE + body + "\n" + GOOD)
    notes.run()
    said = [one for step in notes.steps if step.what == "failed" for one in step.problems]
    return [one.partition(": ")[0] for one in said if ": changed while the stage ran, which" in one]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("write('.git/info/exclude', 'made'); write('made')", [".git/info/exclude", "made"]),
        ("write('.gitignore', 'made', 'a'); write('made')", [".gitignore", "RAN", "made"]),
        ("write('reports/.gitignore', '*'); write('reports/made')", ["reports/.gitignore", "reports/made"]),
        ("write('~/.config/git/ignore', 'made'); write('made')", ["made"]),
        ("write('~/x', 'made'); write('~/.gitconfig', '[core]\\nexcludesFile = ~/x'); write('made')", ["made"]),
        ("write('~/x', 'made'); write('.git/config', '[core]\\nexcludesFile = ~/x', 'a'); write('made')", ["made"]),
        ("write('.options-local')", [".options-local"]),
        ("write('reports/deep/made.py')", ["reports/deep/made.py"]),
        ("write('.bundle/config')", [".bundle/config"]),
        ("write('~/.options')", ["~/.options"]),
    ],
)
@pytest.mark.usefixtures("home")
def test_what_a_command_hides_is_found(notes, body, found):
    notes.source("reports/other.md", "old")
    notes.source(".gitignore", "RAN\nFAULT\nnotes/\n.options-local\n*.py\n")
    assert problems(notes, body) == found


@pytest.mark.parametrize(
    "body",
    [
        "write('.cache/.gitignore', '*'); write('.cache/deep/made')",
        "write('x.log')",
        "write('.bundle/made')",
        "write('made.py')",
        "write('~/.config/git/ignore', 'made')",
        "write('keep/.gitignore', '*')",
    ],
)
@pytest.mark.usefixtures("home")
def test_what_tools_leave_is_no_problem(notes, body):
    notes.source(".gitignore", "RAN\nFAULT\nnotes/\n*.log\n*.py\nkeep/\n")
    notes.source("keep/old", "x")
    assert problems(notes, body) == []


def test_a_rule_that_takes_a_file_back_from_another_one_is_followed(notes):
    notes.source(".gitignore", "RAN\nFAULT\nnotes/\n*.log\n!made.log\n")
    assert problems(notes, "write('made.log'); write('other.log')") == ["made.log"]


def test_a_tracked_file_that_is_taken_out_of_the_index_is_found(notes):
    for words in (("add", ".gitignore"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")):
        subprocess.run(["git", *words], cwd=notes.root, check=True, timeout=30)
    body = "subprocess.run(['git', 'rm', '-q', '--cached', '.gitignore']); write('.gitignore', '*'); write('made')"
    assert problems(notes, body) == [".gitignore", "RAN", "made"]
