"""What hides a workspace, or makes a second one beside it, without a word."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.surfaces.command import git, new_command

MALLORY = 12345


@pytest.mark.parametrize("below", ["", "refs"])
def test_init_in_a_git_directory_that_was_not_named_makes_nothing(tmp_path: Path, below: str) -> None:
    command = new_command(tmp_path)
    bare = tmp_path / "y.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    before = sorted(bare.rglob("*"))
    ran = command("init", cwd=bare / below)
    assert "no_workspace" in ran.err
    assert f"moot -C {bare}" in ran.err
    assert sorted(bare.rglob("*")) == before
    assert command("-C", ".", "init", cwd=bare).code == 0
    assert (bare / "moot" / "log.db").is_file()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as a second account")
def test_a_repository_that_another_account_put_above_does_not_block_a_workspace(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    shared, mine = tmp_path / "shared", tmp_path / "shared" / "mine"
    (mine / "below").mkdir(parents=True)
    shared.chmod(0o1777)
    assert command("init", cwd=mine).code == 0
    git(shared, "init", "-q")
    for one in [shared / ".git", *(shared / ".git").rglob("*")]:
        os.chown(one, MALLORY, MALLORY)
    assert command("join", "Ada", cwd=mine / "below").code == 0
    assert command("claim", str(mine / "f.py"), agent="Ada", cwd=mine).code == 0
    assert command("board", cwd=tmp_path, MOOT_WORKSPACE=str(mine)).code == 0
    assert not (shared / ".git" / "moot").exists()
    os.chown(mine / ".moot", MALLORY, MALLORY)
    assert "unsafe_workspace" in command("board", cwd=mine).err, "one that is theirs as well is refused"


def test_git_init_above_a_plain_workspace_is_noticed(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    above, plain = tmp_path / "above", tmp_path / "above" / "plain"
    (plain / "below").mkdir(parents=True)
    command("init", cwd=plain)
    command("join", "Ada", cwd=plain)
    command("send", "Ada", "remember me", agent="Ada", cwd=plain)
    subprocess.run(["git", "init", "-q"], cwd=above, check=True, timeout=60)
    for start in (plain, plain / "below"):
        ran = command("--json", "inbox", agent="Ada", cwd=start)
        assert ran.error["error"] == "no_log"
        assert str(plain / ".moot" / "log.db") in ran.error["message"]
        assert "mv " in ran.error["remedy"]
        assert str(above) in ran.error["remedy"]
    refused = command("--json", "init", cwd=plain).error
    assert refused["error"] == "log_left_behind"
    subprocess.run(["sh", "-c", refused["remedy"].split("`")[1]], check=True, timeout=60)
    assert "remember me" in command("inbox", agent="Ada", cwd=plain).out
