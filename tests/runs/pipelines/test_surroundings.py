"""What a command must leave alone: every file that git does not ignore, and git itself. By content, never by time."""

from __future__ import annotations

import subprocess

import pytest

from tests.runs.pipelines.conftest import GOOD, PATIENCE

WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
HELPERS = f"""
def write(path, text="x", mode="a"):
    path = os.path.expanduser(path)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, mode) as file:
        file.write(text)

def git(*words):
    subprocess.run(["git", *{WHO!r}, *words], check=True, capture_output=True)
"""
IGNORED = "RAN\nFAULT\nnotes/\n*.log\n!made.log\nkeep/\n"


def git(root, *words):
    subprocess.run(["git", *WHO, *words], cwd=root, check=True, timeout=PATIENCE, capture_output=True)


@pytest.fixture
def watched(notes, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    notes.source(".gitignore", IGNORED)
    for path in ("other.txt", "reports/other.md", "keep/old"):
        notes.source(path, "old")
    git(notes.root, "checkout", "-q", "-b", "mine")
    git(notes.root, "add", ".gitignore", "other.txt")
    git(notes.root, "commit", "-q", "-m", "one")
    return notes


def problems(notes, body):
    """The paths that a command is blamed for, which also does its work; and those that it is only warned of."""
    notes.agent(f"{HELPERS}{GOOD}\n{body}")
    notes.run(again=True)
    steps = [step for step in notes.steps if step.stage == "draft_report"]
    return tuple(
        {one.partition(": ")[0] for step in steps for one in said(step)}
        for said in (lambda step: step.problems, lambda step: step.warnings)
    )


def test_files_that_are_not_of_the_stage_are_compared_by_content_and_nothing_is_put_back(watched):
    body = "write('other.txt'); write('a.txt'); write('reports/deep/made'); write('x.log'); write('made.log')\n"
    assert problems(watched, f"{body}write('keep/made'); os.utime('reports/other.md')")[0] == {
        "a.txt", "made.log", "other.txt", "reports/deep/made"
    }  # fmt: skip
    assert (watched.root / "other.txt").read_text() == "oldx"
    harmless = "write('.cache/.gitignore', '*'); write('.cache/made'); os.utime('other.txt'); write('y.log')"
    assert problems(watched, harmless) == (set(), set())


def test_a_command_cannot_hide_a_file_by_a_rule_of_its_own(watched):
    hiding = {
        "write('.gitignore', 'made\\n')": ".gitignore",
        "write('reports/.gitignore', 'made')": "reports/.gitignore",
        "write('.git/info/exclude', 'made')": ".git/info/exclude",
        "write('~/.config/git/ignore', 'made')": "~/.config/git/ignore",
        "write('~/x', 'made'); write('~/.gitconfig', '[core]\\nexcludesFile = ~/x')": "~/.gitconfig",
        "write('~/x', 'made'); write('.git/config', '[core]\\nexcludesFile = ~/x')": ".git/config",
        "git('rm', '-q', '--cached', 'other.txt'); write('.gitignore', '*'); write('other.txt')": ".gitignore",
    }
    found = {body: problems(watched, f"{body}\nwrite('reports/made')")[0] for body in hiding}
    assert [body for body, rule in hiding.items() if rule not in found[body]] == []


def test_a_change_of_git_itself_fails_the_stage(watched, tmp_path):
    hooks = watched.root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-push").symlink_to(tmp_path / "shared")
    (tmp_path / "shared").write_text("#!/bin/sh\n")
    for words in (("branch", "main"), ("tag", "v1"), ("pack-refs", "--all")):
        git(watched.root, *words)
    changes = {
        "write('.git/hooks/pre-commit')": ".git/hooks/pre-commit",
        "os.chmod('.git/hooks/pre-commit', 0o755)": ".git/hooks/pre-commit",
        "os.unlink('.git/hooks/pre-commit')": ".git/hooks/pre-commit",
        f"write({str(tmp_path / 'shared')!r})": ".git/hooks/pre-push",
        "git('config', 'alias.st', '!sh')": ".git/config",
        "write('.git/info/attributes', '*.md filter=spy')": ".git/info/attributes",
        "git('commit', '-q', '--allow-empty', '-m', 'two')": "HEAD",
        "git('checkout', '-q', '-b', 'other')": "HEAD",
        "git('branch', '-D', 'main')": "refs/heads/main",
        "git('tag', '-d', 'v1')": "refs/tags/v1",
    }
    found = {body: problems(watched, body)[0] for body in changes}
    assert {body: names for body, names in found.items() if changes[body] not in names} == {}
    assert watched.note()["done"]["draft"] is False


def test_another_branch_that_moves_or_appears_is_only_a_warning(watched, tmp_path):
    git(watched.root, "worktree", "add", "-q", "-b", "theirs", str(tmp_path / "theirs"))
    moves = (
        f"git('-C', {str(tmp_path / 'theirs')!r}, 'commit', '-q', '--allow-empty', '-m', 'two'); git('branch', 'new')"
    )
    assert problems(watched, f"{moves}; git('pack-refs', '--all')") == (set(), {"refs/heads/new", "refs/heads/theirs"})
