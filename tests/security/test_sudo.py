"""`sudo moot` in a user's own workspace is refused; files of root that stand there are named with the remedy."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.command import git, new_command

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as a second account")

USER = 12346


def give(path: Path, uid: int) -> None:
    for one in [path, *path.rglob("*")]:
        os.chown(one, uid, uid, follow_symlinks=False)


def test_under_sudo_a_users_workspace_is_refused_and_the_remedy_leaves_sudo_out(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    command("init")
    for path in (command.repo, command.linked):
        give(path, USER)
    refused = command("--json", "board", SUDO_UID=str(USER)).error
    assert (refused["error"], refused["remedy"]) == ("unsafe_workspace", "Run it without sudo.")


@pytest.fixture
def reachable() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # to which others have a way, unlike pytest's
        os.chmod(folder, 0o755)
        git(Path(folder), "init", "-q")
        yield Path(folder)


def said_to_the_user(folder: Path, act: str) -> str:
    """Our Python, which the other account may not start, becomes that account."""
    script = (
        "import os, shlex, moot.place.user_state, moot.place as place, moot.wiring.left_behind as left_behind\n"
        "from moot.place.private_files import forbidden, check_folders\n"
        f"os.setgroups([]); os.setgid({USER}); os.setuid({USER})\n"
        f"try: error = {act}\n"
        "except PermissionError as problem: error = forbidden(problem)\n"
        "except place.MootError as problem: error = problem\n"
        "print(error.code, error.message, error.remedy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, stdout=subprocess.PIPE, text=True, timeout=60, check=True
    )
    return done.stdout


def test_what_root_made_before_is_told_with_the_way_to_take_it_back(reachable: Path) -> None:
    state = reachable / ".git" / "moot"
    (state / "presence" / "boot").mkdir(parents=True)
    give(reachable, USER)
    for path, act in (
        (state / "presence", f"check_folders({str(state)!r}, 'presence', 'boot')"),
        (state, "place.find('.', os.environ)"),
    ):
        os.chown(path, 0, 0)
        path.chmod(0o700)
        said = said_to_the_user(reachable, act)
        assert f"sudo chown -R {USER} {path}" in said
        assert said.startswith("unsafe_")


def test_a_state_directory_that_cannot_be_read_is_not_said_to_be_no_workspace(reachable: Path) -> None:
    state = reachable / ".git" / "moot"
    state.mkdir()
    give(reachable, USER)
    state.chmod(0)
    said = said_to_the_user(reachable, "left_behind.no_log(place.find('.', os.environ), '.')")
    assert said.startswith("unsafe_file")
    assert "There is no workspace" not in said
    assert "chmod -R u+rwX" in said
