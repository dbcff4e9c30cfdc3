"""`moot deinit` removes moot from a repository, all of it and nothing else, and says what it removes and leaves."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moot import Workspace
from moot.core.errors import MootError
from moot.logs.sqlite import bell
from moot.logs.sqlite.lock import WriterLock
from moot.wiring import removing
from moot.wiring.admin import Admin
from tests.surfaces.command import PATIENCE, Command


@pytest.fixture
def quiet(bare: Command) -> Command:
    """A workspace in which nobody works any more."""
    bare("init")
    bare("join", "Ada")
    bare("leave", "Ada")
    return bare


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def paths(removal: dict, which: str) -> list[str]:
    return [one["path"] for one in removal[which]]


def test_without_a_terminal_or_yes_nothing_is_removed_and_all_is_told(quiet: Command) -> None:
    ran = quiet("deinit", "--json")
    assert ran.error["error"] == "not_confirmed"
    assert str(quiet.repo / ".git" / "moot") in paths(ran.error["details"], "removed")
    assert "moot backup FILE" in ran.error["message"]
    assert "moot deinit --yes" in ran.error["remedy"]
    assert quiet("board").code == 0


def test_everything_that_moot_made_is_gone(bare: Command) -> None:
    before = tree(bare.repo)
    bare("init")
    bare("join", "Ada")
    bare("guard", "install")
    bare("leave", "Ada")
    ran = bare("deinit", "--yes", "--json")
    state = bare.repo / ".git" / "moot"
    hooks = [str(bare.repo / ".git" / "hooks" / name) for name in ("pre-commit", "pre-push")]
    assert paths(ran.result, "removed")[:3] == [*hooks, str(state)]
    assert ran.result["left"] == []
    assert tree(bare.repo) == before
    assert bare("board").code == 7
    assert "Created a workspace" in bare("init").out
    assert bare("doctor").code == 0


def test_it_says_what_it_removed_and_left(quiet: Command) -> None:
    (quiet.repo / "moot.toml").write_text("[tasks]\nttl = 60\n")
    ran = quiet("deinit", "--yes")
    assert f"Removed {quiet.repo}/.git/moot (the log of 2 events, views, blobs)." in ran.out
    assert f"Left in place: {quiet.repo}/moot.toml (settings; they belong to the project)." in ran.out
    assert (quiet.repo / "moot.toml").exists()


def test_it_is_for_people_only(quiet: Command) -> None:
    quiet("join", "Bob")
    assert quiet("deinit", "--yes", "--force", "--json", agent="Bob").error["error"] == "people_only"
    assert quiet("deinit", "--yes", "--force", "--json", CLAUDECODE="1").error["error"] == "people_only"
    assert quiet("deinit", "--yes", "--force", "--json", MOOT_PERSON="").error["error"] == "who_are_you"
    assert quiet("board").code == 0


@pytest.mark.parametrize(("typed", "gone"), [("n\n", False), ("y\n", True)])
def test_a_person_at_a_terminal_is_asked(quiet: Command, typed: str, gone: bool) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "moot", "deinit"],
        cwd=quiet.repo,
        env=quiet.environment,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    process.communicate(timeout=PATIENCE)
    os.close(ours)
    assert process.returncode == (0 if gone else 1)
    assert (quiet.repo / ".git" / "moot").exists() == (not gone)


# In use


def test_it_is_refused_while_agents_work_and_forced_if_wanted(quiet: Command) -> None:
    quiet("join", "Bob")
    ran = quiet("deinit", "--yes", "--json")
    assert (ran.error["error"], ran.code) == ("in_use", 3)
    assert "Bob works here" in ran.error["message"]
    assert quiet("deinit", "--yes", "--force").code == 0


def test_it_is_refused_while_a_process_waits_for_events(quiet: Command) -> None:
    waiting = quiet.popen("log", "--follow")
    try:
        directory = bell.directory_for(str(quiet.repo / ".git" / "moot"))
        waiting.stdout.readline()
        while not bell.listeners(directory):
            assert waiting.poll() is None
        ran = quiet("deinit", "--yes", "--json")
        assert "1 process waits for events" in ran.error["message"]
        assert quiet("deinit", "--yes", "--force").code == 0
        assert "no_log" in waiting.stderr.readline()  # it waits for a new log, and brings nothing back
    finally:
        waiting.kill()
        waiting.communicate()
    assert not (quiet.repo / ".git" / "moot").exists()


def test_it_waits_for_a_process_that_writes_and_then_gives_up(quiet: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removing, "_PATIENCE", 0.01)
    state = str(quiet.repo / ".git" / "moot")
    holder = WriterLock(os.path.join(state, "lock"), 1.0)
    holder.acquire()
    with pytest.raises(MootError) as caught:
        Workspace.deinit(quiet.repo, force=True, person=True)
    assert caught.value.exit_code == 7
    holder.close()
    assert quiet("verify").code == 0


def test_a_program_that_has_it_open_is_told_and_brings_nothing_back(quiet: Command) -> None:
    with Workspace(quiet.repo, person=True) as ws:
        ws.task_add("Write it")
        assert quiet("deinit", "--yes").code == 0
        with pytest.raises(MootError) as caught:
            ws.task_add("Test it")
        assert caught.value.exit_code == 7
    assert not (quiet.repo / ".git" / "moot").exists()


# What belongs to others


def test_files_and_folders_of_packs_stay_and_are_named_once(bare: Command) -> None:
    (bare.repo / ".planning" / "phases").mkdir(parents=True)
    assert bare("init", "--pack", "gsd").code == 0
    left = [line for line in bare("deinit", "--yes").out.splitlines() if line.startswith("Left in place: ")]
    plans = f"Left in place: {bare.repo}/.planning/phases (a folder with files of a pack; agents may still use it)."
    events = f"Left in place: {bare.repo}/.planning/blackboard/events.json (a file of a pack; agents may still use it)."
    assert {plans, events} <= set(left)
    assert len(left) == len(set(left))


def test_settings_as_init_wrote_them_go_and_others_stay(bare: Command) -> None:
    assert bare("init", "--pack", "orchestrator").code == 0
    settings = bare.repo / "moot.toml"
    content = settings.read_bytes()
    ran = bare("deinit", "--yes", "--json")
    assert str(settings) in paths(ran.result, "removed")
    assert not settings.exists()
    mirrors = [path for path in paths(ran.result, "left") if ".claude-orchestrator" in path]
    assert mirrors
    assert all(os.path.exists(path) for path in mirrors)
    settings.write_bytes(content + b"\n# mine\n")
    bare("init")
    assert str(settings) in paths(bare("deinit", "--yes", "--json").result, "left")


def test_an_earlier_hook_is_put_back_and_edited_ones_are_left(quiet: Command) -> None:
    hooks = quiet.repo / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").write_text("#!/bin/sh\n# mine\n")
    (hooks / "pre-commit").chmod(0o755)
    quiet("guard", "install")
    with (hooks / "pre-push").open("a") as file:
        file.write("# mine, too\n")
    ran = quiet("deinit", "--yes", "--json")
    assert ran.code == 0
    assert (hooks / "pre-commit").read_text() == "#!/bin/sh\n# mine\n"
    assert "# mine, too" in (hooks / "pre-push").read_text()
    assert str(hooks / "pre-push") in paths(ran.result, "left")


def test_links_are_removed_and_not_followed(quiet: Command, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    state = quiet.repo / ".git" / "moot"
    (state / "blobs").rmdir() if (state / "blobs").is_dir() else None
    (state / "link").symlink_to(outside)
    (state / "blobs").symlink_to(outside)
    (quiet.repo / "moot.toml").symlink_to(outside / "mine")
    quiet("deinit", "--yes", "--force")
    assert (outside / "mine").read_text() == "mine"
    other = tmp_path / "elsewhere"
    if state.exists():
        shutil.rmtree(state)
    (quiet.repo / "moot.toml").unlink()
    other.mkdir()
    state.symlink_to(other)
    assert quiet("deinit", "--yes", "--json").error["error"] == "unsafe_workspace"
    assert other.exists()


# Repeating


@pytest.mark.parametrize("step", ["_unlink", "_remove_tree", "clear"])
def test_interrupted_anywhere_it_can_be_repeated(quiet: Command, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet("guard", "install")

    class Interrupted(BaseException):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupted

    where = {"clear": bell}.get(step, removing)
    with monkeypatch.context() as patch:
        patch.setattr(where, step, interrupt)
        with pytest.raises(Interrupted):
            Workspace.deinit(quiet.repo, person=True)
    assert quiet("deinit", "--yes").code == 0
    assert not (quiet.repo / ".git" / "moot").exists()
    assert not (quiet.repo / ".git" / "hooks" / "pre-commit").exists()


def test_a_damaged_log_can_be_removed_and_a_second_time_there_is_nothing(quiet: Command) -> None:
    (quiet.repo / ".git" / "moot" / "log.db").write_bytes(b"torn")
    assert "the log, views, blobs" in quiet("deinit", "--yes").out
    assert quiet("deinit", "--yes").out == "There is nothing of moot here to remove.\n"


def test_a_plain_folder_and_any_worktree(quiet: Command, tmp_path: Path) -> None:
    assert quiet("deinit", "--yes", cwd=quiet.linked).code == 0
    assert not (quiet.repo / ".git" / "moot").exists()
    folder = tmp_path / "plain"
    folder.mkdir()
    quiet("init", cwd=folder)
    assert quiet("deinit", "--yes", cwd=folder).code == 0
    assert not os.listdir(folder)
    assert quiet("deinit", "--yes", "--json", cwd=folder).error["error"] == "no_workspace"


def test_what_was_allowed_here_is_forgotten(quiet: Command) -> None:
    (quiet.repo / "moot.toml").write_text('[[handlers]]\nname = "deploy"\non = ["build:*"]\nrun = ["true"]\n')
    assert quiet("allow", "deploy", "--yes").code == 0
    home = Path(quiet.environment["HOME"])
    (allowed,) = home.rglob("allowed/*")
    assert str(allowed) in paths(quiet("deinit", "--yes", "--json").result, "removed")
    assert not allowed.exists()


def test_a_kill_at_any_moment_leaves_what_can_be_repeated(quiet: Command) -> None:
    process = quiet.popen("deinit", "--yes")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    assert quiet("deinit", "--yes").code == 0
    assert not (quiet.repo / ".git" / "moot").exists()


def test_the_plan_changes_nothing(quiet: Command) -> None:
    before = tree(quiet.repo)
    admin = Admin(str(quiet.repo), quiet.environment)
    assert admin.plan_removal(force=False).removed
    assert tree(quiet.repo) == before
