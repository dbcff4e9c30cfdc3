"""A command that changes hooks or settings of git while it runs does not go unnoticed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from moot.location import find
from moot.pipelines import git_care


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def write(path: Path, text: str, *, run: bool = False) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755 if run else 0o644)


def told(root: Path, before: dict[str, bytes]) -> list[tuple[str, bool]]:
    return [(one.said, one.blocks) for one in git_care.problems(before, look(root))]


def look(root: Path) -> dict[str, bytes]:
    return git_care.look(find(str(root), {}), str(root))


def test_a_hook_fails_the_stage_when_it_is_made_changed_or_removed(repository: Path) -> None:
    hook = repository / ".git/hooks/pre-commit"
    before = look(repository)
    assert told(repository, before) == []
    write(hook, "#!/bin/sh\n")
    assert told(repository, before) == [
        (".git/hooks/pre-commit: was made while the stage ran; git runs what it says", True)
    ]
    before = look(repository)
    write(hook, "#!/bin/sh\n", run=True)
    assert [blocks for _, blocks in told(repository, before)] == [True]
    before = look(repository)
    hook.unlink()
    assert told(repository, before) == [(".git/hooks/pre-commit: was removed while the stage ran", True)]


@pytest.mark.parametrize(
    ("added", "fails"),
    [
        ("[core]\n\thooksPath = hooks\n", True),
        ("[core]\n\tfsmonitor = ./spy\n", True),
        ("[alias]\n\tst = !sh\n", True),
        ("[include]\n\tpath = ../more\n", True),
        ('[filter "x"]\n\tclean = ./spy\n', True),
        ('[branch "a"]\n\tremote = origin\n\tmerge = refs/heads/a\n', False),
        ('[remote "a"]\n\turl = ../a.git\n', False),
    ],
)
def test_a_setting_fails_the_stage_if_git_runs_programs_for_it_and_is_reported_otherwise(
    repository: Path, added: str, fails: bool
) -> None:
    before = look(repository)
    with (repository / ".git/config").open("a") as file:
        file.write(added)
    ((said, blocks),) = told(repository, before)
    assert said.startswith(".git/config: was changed while the stage ran")
    assert blocks is fails
