"""`sudo moot` in a user's own workspace: what root makes there stays the user's, and what does not is told."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.command import Command, git, new_command

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as a second account")

USER = 12346


def give(path: Path, uid: int) -> None:
    for one in [path, *path.rglob("*")]:
        os.chown(one, uid, uid, follow_symlinks=False)


def of_root(*folders: Path) -> list[str]:
    return [str(one) for folder in folders for one in [folder, *folder.rglob("*")] if one.lstat().st_uid != USER]


@pytest.fixture
def users(tmp_path: Path) -> Command:
    """A user's repository, in which they call `sudo moot`."""
    command = new_command(tmp_path)
    for path in (command.repo, command.linked, Path(command.environment["HOME"])):
        give(path, USER)
    command.environment["SUDO_UID"] = str(USER)
    return command


def test_all_that_root_makes_is_the_users(users: Command, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    for words, agent in (
        (["init", "--pack", "orchestrator"], None),
        (["join", "Rooty"], None),
        (["claim", "f.py"], "Rooty"),
        (["send", "Rooty", "hello there"], "Rooty"),
        (["inbox"], "Rooty"),
        (["search", "hello"], None),
        (["board"], None),
        (["board", "--at", "2"], None),
        (["mirror"], None),
        (["handle", "--drain"], None),
        (["verify"], None),
        (["doctor"], None),
        (["backup", str(backup)], None),
        (["restore", str(backup)], None),
        (["restore", str(backup), "--force"], None),
        (["send", "Rooty", "once more"], "Rooty"),
    ):
        ran = users(*words, agent=agent)
        assert "internal_error" not in ran.err, (words, ran)
    assert (users.repo / ".git" / "moot" / "presence").is_dir()
    assert (users.repo / ".claude-orchestrator").is_dir()
    folders = (users.repo, users.linked, Path(users.environment["HOME"]))
    assert not of_root(*folders)


def test_files_that_sqlite_makes_while_root_works_are_the_users(users: Command) -> None:
    """Nobody has the log open afterwards, so they are looked at while one does."""
    users("init")
    script = (
        "import os, sys, moot\n"
        "with moot.Workspace(person=True) as here:\n"
        "    here.join('Ada')\n"
        "    names = os.listdir('.git/moot')\n"
        "    print(*(name for name in names if os.lstat(f'.git/moot/{name}').st_uid == 0))\n"
        "    print(*names)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=users.repo,
        env=users.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    of_root, names = done.stdout.split("\n")[:2]
    assert "log.db-wal" in names
    assert of_root == ""


def test_a_plain_folder_too(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    plain = tmp_path / "plain"
    plain.mkdir()
    os.chown(plain, USER, USER)
    assert command("init", cwd=plain, SUDO_UID=str(USER)).code == 0
    assert command("join", "Ada", cwd=plain, SUDO_UID=str(USER)).code == 0
    assert not of_root(plain)


def test_without_sudo_root_gives_nothing_away(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    command("init", SUDO_UID=str(USER))
    assert (command.repo / ".git" / "moot").stat().st_uid == 0, "the repository is root's, whoever called sudo"


@pytest.fixture
def reachable() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # to which others have a way, unlike pytest's
        os.chmod(folder, 0o755)
        git(Path(folder), "init", "-q")
        yield Path(folder)


def said_to_the_user(folder: Path, act: str) -> str:
    """Our Python, which the other account may not start, becomes that account."""
    script = (
        "import os, shlex, moot.location.user_state, moot.location as place, moot.wiring.left_behind as left_behind\n"
        "from moot.private_files import forbidden, check_folders\n"
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


@pytest.mark.parametrize("name", ["lock", "sweep", "runners", "effects.lock", "presence"])
def test_files_of_root_that_the_user_linked_into_the_state_directory_stay_roots(
    users: Command, tmp_path: Path, name: str
) -> None:
    users("init")
    secret = tmp_path / "secret"
    secret.write_text("root's")
    target = users.repo / ".git" / "moot" / name
    target.unlink(missing_ok=True)
    os.link(secret, target)
    for words in (["join", "Ada"], ["board"], ["handle", "--drain"], ["doctor"]):
        users(*words)
    assert (secret.stat().st_uid, secret.read_text()) == (0, "root's")
