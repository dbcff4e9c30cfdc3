"""A log that comes in from elsewhere robs nobody: those who work in it count as seen, and the dead stay dead."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from moot.engine.clock import Clock
from moot.engine.presence import Presence
from tests.surfaces.command import Command, new_command


@pytest.fixture
def run(tmp_path: Path) -> Command:
    made = new_command(tmp_path)
    made.environment["MOOT_PERSON"] = "1"
    return made


def busy(run: Command, where: Path) -> None:
    """Ada holds a file and a task; Bob was here, and has left."""
    where.mkdir(exist_ok=True)
    assert run("init", cwd=where).code == 0
    for name in ("Ada", "Bob"):
        assert run("join", name, cwd=where).code == 0
    assert run("task", "add", "Write it", cwd=where).code == 0
    assert run("claim", "f.py", agent="Ada", cwd=where).code == 0
    assert run("task", "claim", "task-001", agent="Ada", cwd=where).code == 0
    assert run("leave", agent="Bob", cwd=where).code == 0


def check_that_nothing_is_lost(run: Command, where: Path) -> None:
    assert run("join", "Eve", cwd=where).code == 0
    taken = run("claim", "f.py", "--json", agent="Eve", cwd=where)
    assert taken.error["error"] == "file_held", "Ada is alive, whatever the uptime of the machine"
    assert "Ada" in run("board", cwd=where).out
    assert run("task", "claim", "task-001", agent="Eve", cwd=where).code != 0


def stamps(state: Path) -> list[str]:
    return sorted(path.name for path in state.glob("presence/*/*"))


@pytest.mark.parametrize("made", [True, False])
def test_restoring_into_a_fresh_place_robs_nobody(run: Command, tmp_path: Path, *, made: bool) -> None:
    busy(run, tmp_path / "plain")
    assert run("backup", str(tmp_path / "b.db"), cwd=tmp_path / "plain").code == 0
    if made:
        assert run("init").code == 0
    assert run("restore", str(tmp_path / "b.db")).code == 0
    assert stamps(run.repo / ".git" / "moot") == ["ada.1"]
    check_that_nothing_is_lost(run, run.repo)


def test_a_restore_brings_no_dead_agent_back_to_life(run: Command) -> None:
    """Silence that was measured here goes on: the stamp of before the restore is the stamp of after it."""
    busy(run, run.repo)
    assert run("backup", "b.db").code == 0
    (stamp,) = (run.repo / ".git" / "moot").glob("presence/*/ada.1")
    before = stamp.read_bytes()
    for _ in range(2):
        assert run("restore", "b.db", "--force").code == 0
        assert stamp.read_bytes() == before


def test_a_refused_restore_stamps_nobody(run: Command) -> None:
    busy(run, run.repo)
    assert run("backup", "b.db").code == 0
    assert run("restore", "b.db", "--json").error["error"] == "agents_here"
    state = run.repo / ".git" / "moot"
    shutil.rmtree(state / "presence")
    run("join", "Carl")
    assert run("restore", "b.db", "--json").error["error"] == "agents_here"
    assert stamps(state) == ["carl.1"]


def test_a_state_directory_that_is_gone_is_made_anew_by_a_restore(run: Command, tmp_path: Path) -> None:
    busy(run, run.repo)
    assert run("backup", str(tmp_path / "b.db")).code == 0
    events = run("export", "-").out
    state = run.repo / ".git" / "moot"
    shutil.rmtree(state)
    assert run("restore", str(tmp_path / "none.db")).code != 0
    assert not state.exists(), "nothing is made for a file that is none"
    assert run("restore", str(tmp_path / "b.db")).code == 0
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert run("export", "-").out == events
    assert run("verify").code == 0


def test_who_is_welcomed_was_seen_now_unless_it_was_seen_before(tmp_path: Path) -> None:
    presence = Presence(str(tmp_path), Clock())
    presence.welcome("Ada", 1)
    (stamp,) = tmp_path.glob("presence/*/ada.1")
    before = stamp.read_bytes()
    Presence(str(tmp_path), Clock()).welcome("Ada", 1)
    assert stamp.read_bytes() == before
