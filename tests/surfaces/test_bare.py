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


def test_a_pack_that_one_worktree_turns_on_is_on_in_the_other(bare: Command, tmp_path: Path) -> None:
    assert bare("init", "--pack", "orchestrator", cwd=bare.linked).code == 0
    settings = tmp_path / "bare.git" / "moot.toml"
    assert settings.exists()
    for where in (bare.repo, bare.linked):
        assert packs(bare, where) == ["orchestrator"]
        assert bare("mirror", cwd=where).code == 0
    assert str(settings) in bare("doctor", cwd=bare.repo).out


def test_a_file_that_differs_and_is_not_used_is_warned_about(bare: Command, tmp_path: Path) -> None:
    bare("init", cwd=bare.linked)
    used, mine = tmp_path / "bare.git" / "moot.toml", bare.repo / "moot.toml"
    mine.write_text("tasks.attempts = 6\n")
    for text in ("", "tasks.attempts = 5\n"):
        if text:
            used.write_text(text)
        ran = bare("board", cwd=bare.repo)
        assert "settings_ignored" in ran.err
        assert (str(mine) in ran.err, str(used) in ran.err) == (True, True)
    assert "settings_ignored" not in bare("board", cwd=bare.linked).err
    used.write_text(mine.read_text())
    assert "settings_ignored" not in bare("board", cwd=bare.repo).err, "it says the same"
