"""A command that changes hooks or settings of git while it runs does not go unnoticed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from moot.pipelines import git_care
from moot.place import find
from tests.pipelines.conftest import GOOD


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


OLD = """\
[core]
\tbare = false
[alias]
\tco = checkout
[include]
\tpath = mine
[diff]
\trenames = true
[remote "origin"]
\turl = https://example.com/shop
[submodule "s"]
\turl = ../s.git
[pager]
\tlog = less
"""


def settings(repository: Path, old: str, new: str) -> tuple[str, bool]:
    """What is said of a change of the settings, and whether it fails the stage."""
    config = repository / ".git/config"
    write(config, old)
    before = look(repository)
    assert old != new
    write(config, new)
    ((said, blocks),) = told(repository, before)
    assert said.startswith(".git/config: was changed while the stage ran")
    return said, blocks


@pytest.mark.parametrize(
    ("added", "name"),
    [
        ("[core]\n\thooksPath = hooks\n", "core.hooksPath"),
        ("[core] hooksPath = hooks\n", "core.hooksPath"),
        ("[core]\n\tfsmonitor = ./spy\n", "core.fsmonitor"),
        ("[core]\n\tworktree = /\n", "core.worktree"),
        ("[core]\n\tattributesFile = ../evil\n", "core.attributesFile"),
        ("[alias]\n\tst = !sh\n", "alias.st"),
        ("[include]\n\tpath = ../more\n", "include.path"),
        ('[filter "x"]\n\tclean = ./spy\n', "filter.x.clean"),
        ('[difftool "x"]\n\tcmd = ./spy\n', "difftool.x.cmd"),
        ("[interactive]\n\tdiffFilter = ./spy\n", "interactive.diffFilter"),
        ("[user]\n\tname = Ada \\\n", "user.name"),
        ('[remote "a"]\n\turl = x # \\\n\tuploadpack = ./spy\n', "remote.a.url"),
        ('[remote "a]\n\turl = x\n[remote "b"]\n\tvcs = spy\n', "remote.a.url"),
        ('[branch "a"]\n\tremote = ext::sh -c spy\n', "branch.a.remote"),
        ('[url "ext::sh -c spy"]\n\tinsteadOf = https://example.com\n', "insteadOf"),
    ],
)
def test_a_setting_that_is_not_known_to_be_harmless_fails_the_stage(repository: Path, added: str, name: str) -> None:
    said, blocks = settings(repository, OLD, OLD + added)
    assert blocks
    assert name in said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\tco = checkout\n", "\tco = checkout\n\tst = !sh -c evil\n"),
        ("\tpath = mine\n", "\tpath = /tmp/evil\n"),
        ("\trenames = true\n", "\texternal = /tmp/evil\n"),
        ("https://example.com/shop", "ext::sh -c evil"),
        ("https://example.com/shop\n", "https://example.com/shop\n\tuploadpack = evil\n"),
        ("\turl = ../s.git\n", "\turl = ../s.git\n\tupdate = !evil\n"),
        ("\tlog = less\n", "\tlog = less\n\tdiff = evil\n"),
        ("\tbare = false\n", "\tbare = false\n\thooksPath = evil\n"),
        ("[diff]\n", "[alias]\n"),
    ],
)
def test_a_dangerous_setting_in_a_section_that_was_there_fails_the_stage(repository: Path, old: str, new: str) -> None:
    assert settings(repository, OLD, OLD.replace(old, new))[1]


@pytest.mark.parametrize(
    "added",
    [
        '[branch "a"]\n\tremote = origin\n\tmerge = refs/heads/a\n\trebase = true\n',
        '[remote "a"]\n\turl = ../a.git\n\tfetch = +refs/heads/*:refs/remotes/a/*\n',
        '[remote "a"]\n\turl = git@example.com:ada/shop.git\n\tpushurl = ssh://example.com/shop\n',
        "[user]\n\tname = Ada\n\temail = ada@example.com\n",
        "# a comment \\\n[core]\n\tfilemode = true\n",
    ],
)
def test_a_setting_that_git_writes_itself_is_only_reported(repository: Path, added: str) -> None:
    assert settings(repository, OLD, OLD + added) == (".git/config: was changed while the stage ran", False)
    assert not settings(repository, OLD + added, OLD)[1]


def test_settings_in_another_place_and_attributes_fail_the_stage(repository: Path) -> None:
    before = look(repository)
    write(repository / ".git/info/attributes", "*.rb filter=spy\n")
    (repository / "other").write_text("")
    (repository / ".git/config").unlink()
    (repository / ".git/config").symlink_to("../other")
    assert [blocks for _, blocks in told(repository, before)] == [True, True]


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    return subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def committed(repository: Path) -> Path:
    git(repository, "checkout", "-q", "-b", "feature")
    git(repository, "commit", "-q", "--allow-empty", "-m", "one")
    git(repository, "branch", "main")
    git(repository, "tag", "v1")
    git(repository, "pack-refs", "--all")
    git(repository, "branch", "later")
    return repository


def test_a_commit_fails_the_stage_and_can_be_taken_back(committed: Path) -> None:
    before, first = look(committed), git(committed, "rev-parse", "--short=12", "HEAD")
    git(committed, "commit", "-q", "--allow-empty", "-m", "two")
    second = git(committed, "rev-parse", "--short=12", "HEAD")
    back = f"`git reset --soft {first}` takes the commits back and keeps the files"
    assert told(committed, before) == [
        (f"HEAD: was moved from {first} to {second} while the stage ran, which may not commit; {back}", True)
    ]


def test_the_first_commit_and_another_branch_fail_the_stage(repository: Path) -> None:
    before = look(repository)
    git(repository, "commit", "-q", "--allow-empty", "-m", "one")
    ((said, blocks),) = told(repository, before)
    assert said.startswith("HEAD: was moved from no commit to ")
    assert blocks
    before, name = look(repository), git(repository, "branch", "--show-current")
    git(repository, "checkout", "-q", "-b", "other")
    assert told(repository, before)[0] == (
        f"HEAD: other was checked out while the stage ran, instead of {name}",
        True,
    )


def test_a_deleted_branch_or_tag_fails_the_stage_and_is_named_with_its_commit(committed: Path) -> None:
    before, commit = look(committed), git(committed, "rev-parse", "--short=12", "HEAD")
    git(committed, "branch", "-D", "main", "later")
    git(committed, "tag", "-d", "v1")
    assert told(committed, before) == [
        (f"{name}: was deleted while the stage ran; it was at {commit}", True)
        for name in ("refs/heads/later", "refs/heads/main", "refs/tags/v1")
    ]


def test_branches_that_others_may_move_are_only_reported(committed: Path) -> None:
    before = look(committed)
    git(committed, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(committed, "pack-refs", "--all")
    assert told(committed, before) == []
    other = git(committed, "commit-tree", "-m", "other", "HEAD^{tree}")
    git(committed, "update-ref", "refs/heads/main", other)
    git(committed, "branch", "new")
    found = told(committed, before)
    assert [(said.partition(": ")[0], blocks) for said, blocks in found] == [
        ("refs/heads/main", False),
        ("refs/heads/new", False),
    ]
    assert f"to {other[:12]} while" in found[0][0]


def test_a_branch_in_another_worktree_is_not_the_one_that_is_checked_out_here(committed: Path, tmp_path: Path) -> None:
    git(committed, "worktree", "add", "-q", str(tmp_path / "other"), "main")
    here, there = look(committed), look(tmp_path / "other")
    git(tmp_path / "other", "commit", "-q", "--allow-empty", "-m", "two")
    assert [blocks for _, blocks in told(committed, here)] == [False]
    assert [blocks for _, blocks in told(tmp_path / "other", there)] == [True]


def test_a_command_that_commits_fails_its_stage(notes) -> None:  # type: ignore[no-untyped-def]
    git(notes.root, "add", "a.txt")
    git(notes.root, "commit", "-q", "-m", "one")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    notes.agent(f"{GOOD}\nsubprocess.run(['git', *{who!r}, 'commit', '-qam', 'mine', '--allow-empty'], check=True)\n")
    assert notes.run()[-2:] == ["draft_report failed", "ended"]
    assert "which may not commit" in notes.error.message
