"""Files of packs and git: real git leaves them alone, and the user's lines in `info/exclude` stay as they are."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot.mirrors.git_exclude import BEGIN, END, pattern
from tests.surfaces.command import PATIENCE, git, new_command

if TYPE_CHECKING:
    from tests.surfaces.command import Command

FOLDER = ".claude-orchestrator/tasks/messages"
TO_DEVELOPER = f"{FOLDER}/to-developer.json"
ASSIGNMENT = {
    "platform": "web",
    "title": "Login",
    "instructions": "Build it.",
    "filesToCreate": [],
    "architecture": "MVC",
}


@pytest.fixture
def command(tmp_path: Path) -> Command:
    made = new_command(tmp_path)
    git(made.repo, "commit", "-q", "--allow-empty", "-m", "begin")
    return made


def exclude_file(command: Command) -> Path:
    return command.repo / ".git" / "info" / "exclude"


def init(command: Command, *words: str, cwd: Path | None = None) -> dict:
    ran = command("--json", "init", "--pack", "orchestrator", *words, cwd=cwd)
    assert ran.code == 0, ran
    return json.loads(ran.out)


def warnings(answer: dict) -> dict[str, str]:
    return {warning["code"]: warning["message"] for warning in answer["warnings"]}


def send(command: Command, task: str) -> None:
    ran = command("send", "--type", "task_assignment", "--data", json.dumps({"taskId": task, **ASSIGNMENT}))
    assert ran.code == 0, ran


def shown(root: Path) -> list[str]:
    return [entry["taskId"] for entry in json.loads((root / TO_DEVELOPER).read_text())["messages"]]


# --- what git does ---------------------------------------------------------------------------------------------------


def test_a_stash_with_untracked_files_leaves_the_mailboxes_and_pops(command: Command) -> None:
    init(command)
    git(command.repo, "add", "moot.toml")
    git(command.repo, "commit", "-qm", "settings")
    send(command, "task-1")
    (command.repo / "mine.txt").write_text("mine")
    git(command.repo, "stash", "-u")
    assert shown(command.repo) == ["task-1"]
    send(command, "task-2")
    git(command.repo, "stash", "pop")
    assert (command.repo / "mine.txt").read_text() == "mine"
    assert shown(command.repo) == ["task-1", "task-2"]


def test_a_worktree_can_be_removed_and_stays_so(command: Command) -> None:
    init(command)
    send(command, "task-1")
    assert shown(command.linked) == ["task-1"]
    git(command.repo, "worktree", "remove", str(command.linked))
    send(command, "task-2")
    assert not command.linked.exists()
    assert shown(command.repo) == ["task-1", "task-2"]


def test_nothing_of_moot_is_added_committed_or_cleaned(command: Command) -> None:
    init(command)
    send(command, "task-1")
    (command.repo / ".claude-orchestrator" / "notes.md").write_text("the user's own")
    (command.repo / FOLDER / ".moot.0123.new.1.0.a.-.b").touch()
    git(command.repo, "add", "-A")
    assert git(command.repo, "diff", "--cached", "--name-only").split() == [
        ".claude-orchestrator/notes.md",
        "moot.toml",
    ]
    git(command.repo, "commit", "-qm", "all of it")
    assert git(command.repo, "status", "--short") == ""
    (command.repo / "dirt").touch()
    git(command.repo, "clean", "-fdq")
    assert not (command.repo / "dirt").exists()
    assert shown(command.repo) == ["task-1"]


def test_a_bare_repository_with_worktrees_has_one_block_for_all(tmp_path: Path, command: Command) -> None:
    bare, trees = tmp_path / "bare.git", [tmp_path / "one", tmp_path / "two"]
    git(tmp_path, "clone", "-q", "--bare", str(command.repo), str(bare))
    for tree in trees:
        git(bare, "worktree", "add", "-q", "--detach", str(tree))
    answer = init(command, cwd=trees[0])
    assert answer["result"]["exclude_file"] == str(bare / "info" / "exclude")
    for tree in trees:
        assert (tree / TO_DEVELOPER).exists()
        assert ".claude-orchestrator" not in git(tree, "status", "--short")
    git(bare, "worktree", "remove", str(trees[1]))
    assert command("deinit", "--yes", cwd=trees[0]).code == 0
    assert b"moot" not in (bare / "info" / "exclude").read_bytes()


def test_a_submodule_has_its_own_block(tmp_path: Path, command: Command) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(command.repo), str(other))
    git(command.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "part")
    init(command, cwd=command.repo / "part")
    assert BEGIN in (command.repo / ".git" / "modules" / "part" / "info" / "exclude").read_bytes()
    assert BEGIN not in exclude_file(command).read_bytes()
    assert git(command.repo / "part", "status", "--short") == "?? moot.toml\n"


# --- the user's own lines --------------------------------------------------------------------------------------------

OWN = {
    "no file": None,
    "git's own": b"# git ls-files --others --exclude-from=.git/info/exclude\n# *~\n",
    "patterns": b"*.log\n/build/\n",
    "no newline at the end": b"*.log\n/build/",
    "Windows line endings": b"*.log\r\n/build/\r\n",
    "a byte order mark": b"\xef\xbb\xbf*.log\n/build/\n",
    "not UTF-8": b"*.log\n/build/\n/\xe4\xf6\xfc\n",
    "blank lines and blanks": b"\n\n*.log\n/build/\n\n  \n",
}


@pytest.mark.parametrize("own", OWN)
def test_the_users_lines_stay_byte_for_byte_and_deinit_removes_only_the_block(command: Command, own: str) -> None:
    path = exclude_file(command)
    path.unlink()
    if OWN[own] is None:
        path.parent.rmdir()
    else:
        path.write_bytes(OWN[own])
        path.chmod(0o640)
    init(command)
    once = path.read_bytes()
    assert once.count(BEGIN) == once.count(END) == 1
    assert once.replace(once[once.index(BEGIN) : once.index(END) + len(END)], b"") == (OWN[own] or b"")
    init(command)
    assert path.read_bytes() == once
    if b"*.log" in once:
        assert path.stat().st_mode & 0o777 == 0o640
        for name in ("x.log", "build/y", TO_DEVELOPER):
            git(command.repo, "check-ignore", "-q", name)
    assert command("deinit", "--yes").code == 0
    assert (path.read_bytes() if path.exists() else None) == OWN[own]
    assert [one.name for one in path.parent.iterdir()] == (["exclude"] if OWN[own] is not None else [])


def untouchable(command: Command, how: str) -> Path:
    """A file that must not be changed; what must stay the same is in what comes back."""
    path = exclude_file(command)
    path.write_bytes(b"mine\n")
    elsewhere = command.repo.parent / "elsewhere"
    if how == "read-only":
        path.chmod(0o444)
    elif how == "a link":
        path.rename(elsewhere)
        path.symlink_to(elsewhere)
    elif how == "its directory is a link":
        path.parent.rename(elsewhere)
        path.parent.symlink_to(elsewhere)
    elif how == "a directory":
        path.unlink()
        path.mkdir()
    elif how == "half a block":
        path.write_bytes(b"mine\n" + BEGIN)
    elif how == "two blocks":
        path.write_bytes(2 * (BEGIN + b"/x\n" + END))
    elif how == "huge":
        path.write_bytes(b"x" * ((1 << 20) + 1))
    return path


@pytest.mark.parametrize(
    "how", ["read-only", "a link", "its directory is a link", "a directory", "half a block", "two blocks", "huge"]
)
def test_a_file_that_must_not_be_changed_is_left_alone_and_the_lines_are_named(command: Command, how: str) -> None:
    path = untouchable(command, how)
    before = path.read_bytes() if path.is_file() else None
    answer = init(command)
    said = warnings(answer)["not_excluded"]
    assert str(path) in said
    assert f"/{TO_DEVELOPER}" in said
    assert (path.read_bytes() if path.is_file() else None) == before
    assert path.is_symlink() == (how == "a link")
    assert (command.repo / TO_DEVELOPER).exists()
    assert [one for one in os.listdir(path.parent) if one != "exclude"] == []
    assert command("deinit", "--yes").code == 0
    assert (path.read_bytes() if path.is_file() else None) == before


# --- what is in the block --------------------------------------------------------------------------------------------


def test_it_can_be_declined_and_undone(command: Command) -> None:
    before = exclude_file(command).read_bytes()
    assert init(command, "--no-exclude")["result"]["excluded"] == []
    assert exclude_file(command).read_bytes() == before
    assert "?? .claude-orchestrator/" in git(command.repo, "status", "--short")
    init(command)
    assert exclude_file(command).read_bytes() != before
    init(command, "--no-exclude")
    assert exclude_file(command).read_bytes() == before


@pytest.mark.parametrize("exclude", [True, False])
def test_receipts_leave_the_files_out_either_way(command: Command, exclude: bool) -> None:
    init(command, *([] if exclude else ["--no-exclude"]))
    for agent in ("Ada", "Bob"):
        command("join", agent)
    task = command("--json", "task", "add", "It", "--lifecycle", "core").result["id"]
    command("task", "claim", task, agent="Ada")
    command("check", "--task", task, "--", "true", agent="Ada")
    send(command, "task-1")
    assert command("task", "submit", task, "--receipt", "last", agent="Ada").code == 0


NAMES = [
    "plain.json",
    "a*b?.json",
    "[x].json",
    "back\\slash",
    "#hash",
    "!bang",
    "blank at end ",
    "two  ",
    "tab\tin",
    "ü.json",
]


def test_a_pattern_matches_its_path_and_no_other(command: Command) -> None:
    wrong = []
    for path in (f"{folder}{name}" for folder in ("", "some/[dir]*/") for name in NAMES):
        exclude_file(command).write_bytes(os.fsencode(pattern(path)) + b"\n")
        others = [f"{path}x", f"sub/{path}", path.replace("*", "xx").replace("[", "("), path.rstrip(" ") + "."]
        wrong += [path] if not ignored(command, path) else []
        wrong += [(path, other) for other in others if other != path and ignored(command, other)]
    assert wrong == []
    exclude_file(command).write_text(pattern(".notes/{name}.json") + "\n")
    names = (".notes/one.json", ".notes/a/one.json", ".notes/one.md", "x/.notes/one.json")
    assert [name for name in names if ignored(command, name)] == [".notes/one.json"]


def ignored(command: Command, path: str) -> bool:
    words = ["git", "check-ignore", "-q", "--", path]
    return subprocess.run(words, cwd=command.repo, check=False, timeout=PATIENCE).returncode == 0
