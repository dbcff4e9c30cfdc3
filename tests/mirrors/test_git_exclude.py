"""Files of packs and git: real git leaves them alone, and the user's lines in `info/exclude` stay as they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot.mirrors.git_exclude import BEGIN, END, ExcludeUnusable, block_of, pattern, with_block
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


def test_names_that_moot_uses_for_a_moment_are_ignored_too(command: Command) -> None:
    init(command)
    (command.repo / FOLDER / ".moot.0123.new.1.0.a.-.b").touch()
    assert ".claude-orchestrator" not in git(command.repo, "status", "--short")


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


def test_the_users_lines_have_the_last_word(command: Command) -> None:
    exclude_file(command).write_text(f"!/{TO_DEVELOPER}\n")
    init(command)
    assert f"?? {TO_DEVELOPER}" in git(command.repo, "status", "--short", "-uall")


def test_lines_around_the_block_stay_where_they_are(command: Command) -> None:
    init(command)
    path = exclude_file(command)
    block = path.read_bytes()[: path.read_bytes().index(END) + len(END)]
    path.write_bytes(b"before\r\n" + block.replace(b"\n", b"\r\n") + b"after")
    assert command("deinit", "--yes").code == 0
    assert path.read_bytes() == b"before\r\nafter"


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
    removed = command("deinit", "--yes", "--json").result
    assert (path.read_bytes() if path.is_file() else None) == before
    left = [one["path"] for one in removed["left"]]
    assert (str(path) in left) == (how in ("half a block", "two blocks"))


# --- what is in the block --------------------------------------------------------------------------------------------


def test_a_file_that_git_tracks_is_left_out_and_named(command: Command) -> None:
    path = command.linked / TO_DEVELOPER
    path.parent.mkdir(parents=True)
    path.write_text('{"messages": [], "lastRead": null}')
    git(command.linked, "add", "-A")
    git(command.linked, "commit", "-qm", "with a mailbox")
    answer = init(command)
    assert answer["result"]["tracked"] == [TO_DEVELOPER]
    said = warnings(answer)["mirrors_tracked"]
    assert TO_DEVELOPER in said
    assert "git rm --cached" in said
    assert f"/{TO_DEVELOPER}\n".encode() not in exclude_file(command).read_bytes()
    assert f"/{FOLDER}/to-team-lead.json\n".encode() in exclude_file(command).read_bytes()
    assert command("doctor").code == 0
    assert "git ignores the files that they write, except those that it tracks: " in command("init").out
    git(command.linked, "rm", "-q", "--cached", TO_DEVELOPER)
    answer = init(command)
    assert answer["warnings"] == []
    assert f"/{TO_DEVELOPER}\n".encode() in exclude_file(command).read_bytes()


def test_it_can_be_declined_and_undone(command: Command) -> None:
    before = exclude_file(command).read_bytes()
    assert init(command, "--no-exclude")["result"]["excluded"] == []
    assert exclude_file(command).read_bytes() == before
    assert "?? .claude-orchestrator/" in git(command.repo, "status", "--short")
    init(command)
    assert exclude_file(command).read_bytes() != before
    init(command, "--no-exclude")
    assert exclude_file(command).read_bytes() == before


def test_a_workspace_without_packs_changes_nothing(command: Command) -> None:
    before = exclude_file(command).read_bytes()
    assert command("init").code == 0
    assert exclude_file(command).read_bytes() == before


def test_a_pack_that_is_switched_off_takes_its_lines_with_it(command: Command) -> None:
    before = exclude_file(command).read_bytes()
    init(command)
    (command.repo / "moot.toml").write_text("packs = []\n")
    assert command("init").code == 0
    assert exclude_file(command).read_bytes() == before


def test_doctor_names_what_a_block_lacks_and_init_adds_it(command: Command) -> None:
    """As after `packs` was changed by hand."""
    init(command)
    path = exclude_file(command)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(f"/{TO_DEVELOPER}\n".encode(), b""))
    said = command("--json", "doctor").error
    assert "git exclude" in said["message"]
    assert TO_DEVELOPER in said["message"]
    assert "moot init" in said["remedy"]
    assert command("init").code == 0
    assert path.read_bytes() == whole
    assert command("doctor").code == 0


def test_many_at_once_leave_one_block(command: Command) -> None:
    init(command)
    before = exclude_file(command).read_bytes()
    init(command, "--no-exclude")
    words = [sys.executable, "-m", "moot", "init"]
    running = [
        subprocess.Popen(words, cwd=command.repo, env=command.environment, stdout=subprocess.DEVNULL) for _ in range(6)
    ]
    assert [one.wait(PATIENCE) for one in running] == [0] * 6
    assert exclude_file(command).read_bytes() == before
    assert os.listdir(exclude_file(command).parent) == ["exclude"]


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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("folder", ["", "some/[dir]*/"])
def test_a_pattern_matches_its_path_and_no_other(command: Command, folder: str, name: str) -> None:
    path = f"{folder}{name}"
    exclude_file(command).write_bytes(with_block(b"", [pattern(path)]))
    git(command.repo, "check-ignore", "-q", "--", path)
    for other in (f"{path}x", f"sub/{path}", path.replace("*", "xx").replace("[", "("), path.rstrip(" ") + "."):
        if other != path:
            with pytest.raises(subprocess.CalledProcessError):
                git(command.repo, "check-ignore", "-q", "--", other)


def test_a_placeholder_stands_for_a_name_and_not_for_a_path(command: Command) -> None:
    exclude_file(command).write_bytes(with_block(b"", [pattern(".notes/{name}.json")]))
    git(command.repo, "check-ignore", "-q", ".notes/one.json")
    for other in (".notes/a/one.json", ".notes/one.md", "x/.notes/one.json"):
        with pytest.raises(subprocess.CalledProcessError):
            git(command.repo, "check-ignore", "-q", other)


def test_a_block_is_found_only_whole() -> None:
    assert block_of(b"x\n") == b""
    assert block_of(BEGIN + b"/a\n" + END) == b"/a\n"
    for damaged in (BEGIN, END, END + BEGIN, BEGIN + BEGIN + END, BEGIN + END + END):
        with pytest.raises(ExcludeUnusable):
            block_of(damaged)
