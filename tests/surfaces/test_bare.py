"""A bare repository with worktrees: one workspace, with one set of settings for all who call from wherever."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.command import Command, git, new_command


@pytest.fixture
def bare(tmp_path: Path) -> Command:
    command = new_command(tmp_path)
    git(command.repo, "clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    for name in ("one", "two"):
        git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / name))
    command.repo = tmp_path / "one"
    command.linked = tmp_path / "two"
    return command


def packs(command: Command, where: Path) -> list[str]:
    found: list[str] = command("--json", "init", cwd=where).result["packs"]
    return found


def test_a_pack_that_one_worktree_turns_on_is_on_in_the_other(bare: Command) -> None:
    assert bare("init", "--pack", "orchestrator", cwd=bare.linked).code == 0
    assert (bare.linked / "moot.toml").exists()
    for where in (bare.repo, bare.linked):
        assert packs(bare, where) == ["orchestrator"]
        assert bare("mirror", cwd=where).code == 0
    assert not (bare.repo / "moot.toml").exists()
    assert "moot.toml" in bare("doctor", cwd=bare.repo).out


def test_a_pack_is_turned_on_where_it_takes_effect(bare: Command) -> None:
    """Whoever made the workspace decides where its settings are; another worktree's file would do nothing."""
    bare("init", cwd=bare.linked)
    assert bare("init", "--pack", "orchestrator", cwd=bare.repo).code == 0
    assert packs(bare, bare.repo) == packs(bare, bare.linked) == ["orchestrator"]
    assert (bare.linked / "moot.toml").exists()


def test_a_file_that_differs_and_is_not_used_is_warned_about(bare: Command) -> None:
    bare("init", cwd=bare.linked)
    (bare.linked / "moot.toml").write_text("tasks.attempts = 5\n")
    assert "settings_ignored" not in bare("board", cwd=bare.repo).err
    (bare.repo / "moot.toml").write_text("tasks.attempts = 5\n")
    assert "settings_ignored" not in bare("board", cwd=bare.repo).err, "it says the same"
    (bare.repo / "moot.toml").write_text("tasks.attempts = 6\n")
    ran = bare("board", cwd=bare.repo)
    assert "settings_ignored" in ran.err
    assert str(bare.repo / "moot.toml") in ran.err
    assert str(bare.linked / "moot.toml") in ran.err
    assert "settings_ignored" not in bare("board", cwd=bare.linked).err


def test_the_noted_worktree_may_move_and_may_go(bare: Command, tmp_path: Path) -> None:
    bare("init", "--pack", "orchestrator", cwd=bare.linked)
    git(tmp_path / "bare.git", "worktree", "move", str(bare.linked), str(tmp_path / "moved"))
    assert packs(bare, bare.repo) == ["orchestrator"]
    (bare.repo / "moot.toml").write_text('packs = ["orchestrator"]\ntasks.attempts = 7\n')
    git(tmp_path / "bare.git", "worktree", "remove", "--force", str(tmp_path / "moved"))
    assert packs(bare, bare.repo) == ["orchestrator"], "then there is only this one"
