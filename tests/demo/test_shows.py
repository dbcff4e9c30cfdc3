"""Every show of the demo keeps its promises, and leaves nothing behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo.test_demo import DEMO, environment, in_order

pytestmark = pytest.mark.timeout(240)


def played(folder: Path, name: str) -> list[str]:
    """All that a show says."""
    command = [sys.executable, str(DEMO), "--show", name, "--speed", "8"]
    done = subprocess.run(
        command, env=environment(folder), capture_output=True, text=True, encoding="utf-8", timeout=220, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert list(folder.iterdir()) == []
    assert not [line for line in done.stdout.splitlines() if line.startswith("NOT ")]
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_a_shell_lead_and_a_developer_that_know_only_files_finish_a_rejected_task(tmp_path: Path) -> None:
    in_order(
        played(tmp_path, "orchestrator"),
        "team-lead writes an assignment for farewell into a file",
        "developer has read its file",
        "developer writes a report on farewell into a file",
        "team-lead rejects farewell: Add a test.",
        "team-lead writes an assignment for farewell into a file",
        "team-lead approves farewell",
        "team-lead approves greeting",
        "team-lead approves count",
        "ok   every message and every verdict came through a file",
    )


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_executors_that_know_only_the_event_file_finish_two_waves(tmp_path: Path) -> None:
    said = [line.partition(" s  ")[2] or line for line in played(tmp_path, "gsd")]
    text = "\n".join(said)
    for step in (
        "dependency:satisfied  01-03: src/models/user.ts (from moot)",
        "task:failed           01-02 task 1: The link check failed (from a file)",
        "checkpoint:resolved   01-03 task 1 (from moot)",
        "Phase 01: 4 of 4 tasks completed; 3 of 3 plans done",
        "ok   every event has its number, in every worktree",
    ):
        assert step in text, text


def test_a_lead_without_a_model_takes_three_issues_through_two_waves(tmp_path: Path) -> None:
    said = played(tmp_path, "specflow")
    in_order(
        said,
        "Yeats → all: TOUCHING_FILE src/lib/routes.py",
        "Swift is in line for src/lib/routes.py",
        "Swift holds src/lib/routes.py",
        "Keane → Finn McCool: REGRESSION_RESULTS PASS",
        "wave-1 is complete",
        "Hamilton → Yeats: MIGRATION_ASSIGNED 3 migrations/3_wishes.sql",
        "wave-2 is complete",
        "ok   the tests of one issue failed once, and its agent was told which",
    )


@pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
@pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
def test_two_agents_cover_a_ruby_branch_in_two_waves_and_rspec_is_green(tmp_path: Path) -> None:
    text = "\n".join(played(tmp_path, "rspec"))
    for step in (
        "$ moot rspec cover --branch --yes",
        "  app/services/restocking.rb → spec/services/restocking_spec.rb: tests passed",
        "10 examples, 0 failures",
        "ok   RSpec is green, and nothing is pending",
    ):
        assert step in text, text


def test_a_show_says_what_to_install(tmp_path: Path) -> None:
    git = tmp_path / "git"
    git.symlink_to(shutil.which("git") or "")
    command = [sys.executable, str(DEMO), "--show", "rspec"]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "This show needs ruby and rspec. On Debian: apt install ruby ruby-rspec" in done.stderr


def test_an_unknown_show_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    command = [sys.executable, str(DEMO), "--show", "nothing"]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "orchestrator" in done.stderr
