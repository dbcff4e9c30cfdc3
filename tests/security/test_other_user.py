"""Another account on the same machine: its repositories, its planted files, and what it can put in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from moot import place as location
from moot.core.errors import MootError
from moot.place.private_files import check_private
from tests.security.hostile import everything
from tests.surfaces.command import Command, git, new_command

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as a second account")

MALLORY = 12345
SUDOER = 12346
WORDS = [["init"], ["board"], ["join", "Ada"], ["send", "Ada", "secret"], ["doctor"], ["mirror"], ["restore", "x"]]


def give(path: Path, uid: int) -> None:
    for one in [path, *path.rglob("*")]:
        os.chown(one, uid, uid, follow_symlinks=False)


@pytest.fixture
def shared(tmp_path: Path) -> Command:
    """A repository with a log, all of which is Mallory's."""
    command = new_command(tmp_path)
    command("init")
    command("join", "Ada")
    for path in (command.repo, command.linked):
        give(path, MALLORY)
    return command


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_the_workspace_of_another_account_takes_no_messages(shared: Command, words: list[str]) -> None:
    before = everything(shared.repo)
    for start in (shared.repo, shared.linked, shared.repo / ".git"):
        ran = shared(*words, cwd=start)
        assert "unsafe_workspace" in ran.err, ran
        assert f"uid {MALLORY}" in ran.err
        assert "git config --global --add safe.directory" in ran.err
    for named in (["-C", str(shared.repo)], []):
        more = {} if named else {"MOOT_WORKSPACE": str(shared.repo)}
        assert "unsafe_workspace" in shared(*named, *words, cwd=shared.repo.parent, **more).err
    assert everything(shared.repo) == before


def test_a_part_of_a_workspace_that_is_anothers_is_enough(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    command("init")
    for part in (command.repo, command.repo / ".git", command.repo / ".git" / "moot"):
        os.chown(part, MALLORY, MALLORY)
        assert "unsafe_workspace" in command("board").err
        os.chown(part, 0, 0)
    assert command("board").code == 0
    os.chown(command.linked / ".git", MALLORY, MALLORY)
    assert "unsafe_workspace" in command("board", cwd=command.linked).err


@pytest.mark.parametrize("planted", ["repository", "pointer", "settings", "settings and state", "state"])
def test_nothing_that_is_planted_above_is_used(tmp_path: Path, planted: str) -> None:
    """As in /tmp: everybody may put files there, and somebody works below."""
    open_to_all = tmp_path / "tmp"
    work = open_to_all / "work"
    work.mkdir(parents=True)
    open_to_all.chmod(0o1777)
    command = new_command(tmp_path)
    mine = command.repo / ".git"
    match planted:
        case "repository":
            git(open_to_all, "init", "-q")
            give(open_to_all / ".git", MALLORY)
        case "pointer":
            (open_to_all / ".git").write_text(f"gitdir: {mine}\n")
            os.chown(open_to_all / ".git", MALLORY, MALLORY)
        case _:
            if "settings" in planted:
                (open_to_all / "moot.toml").write_text("")
                os.chown(open_to_all / "moot.toml", MALLORY, MALLORY)
            if "state" in planted:
                (open_to_all / ".moot").mkdir()
                give(open_to_all / ".moot", MALLORY)
    before = everything(tmp_path / "tmp"), everything(mine)
    for words in (["init"], ["join", "Ada"], ["board"]):
        ran = command(*words, cwd=work)
        assert "unsafe_workspace" in ran.err, ran
    assert (everything(tmp_path / "tmp"), everything(mine)) == before


def test_settings_that_another_put_into_an_open_worktree_are_refused(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    command("init")
    command.repo.chmod(0o1777)
    (command.repo / "moot.toml").write_text("tasks.attempts = 1")
    assert command("board").code == 0
    os.chown(command.repo / "moot.toml", MALLORY, MALLORY)
    assert "unsafe_workspace" in command("board").err


CONFIGS = (
    ("[safe]\n\tdirectory = {repo}\n", True),
    ("[safe]\n\tdirectory = *\n", True),
    ("[safe]\n\tdirectory = {above}/*\n", True),
    ('[Safe]\n\tDirectory = "{repo}/"\n', True),
    ("[safe]\n\tdirectory = {above}\n", False),
    ("[safe]\n\tdirectory = {repo}x\n", False),
    ("[safe]\n\tdirectory = {repo}\n\tdirectory =\n", False),
    ("[safe]\n\tdirectory =\n\tdirectory = {repo}\n", True),
    ("[unsafe]\n\tdirectory = *\n", False),
    ('[safe "sub"]\n\tdirectory = *\n', False),
    ("# [safe]\n# directory = *\n", False),
)


def test_what_git_trusts_is_trusted(shared: Command, tmp_path: Path) -> None:
    file = tmp_path / "config"
    env = {**shared.environment, "GIT_CONFIG_GLOBAL": str(file)}
    wrong = []
    for config, trusted in CONFIGS:
        file.write_text(config.format(repo=shared.repo, above=shared.repo.parent))
        ours = is_found(shared, env) is trusted
        newer_git = "{above}/*" in config or '/"' in config
        told = subprocess.run(["git", "status"], cwd=shared.repo, env=env, capture_output=True, check=False, timeout=60)
        if not ours or (not newer_git and (told.returncode == 0) is not trusted):
            wrong.append(config)
    assert wrong == []


def test_git_configs_are_read_where_git_reads_them(shared: Command, tmp_path: Path) -> None:
    home, listed = Path(shared.environment["HOME"]), f"[safe]\n\tdirectory = {shared.repo}\n"
    without = {name: value for name, value in shared.environment.items() if not name.startswith("GIT_CONFIG_")}
    places: list[tuple[Path, str, dict[str, str]]] = [
        (home / ".gitconfig", listed, {}),
        (home / ".gitconfig", f"[include]\n\tpath = {tmp_path / 'more'}\n", {}),
        (tmp_path / "xdg" / "git" / "config", listed, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}),
        (tmp_path / "system", listed, {"GIT_CONFIG_SYSTEM": str(tmp_path / "system")}),
    ]
    (tmp_path / "more").write_text(listed)
    for file, text, env in places:
        assert not is_found(shared, {**without, **env}), file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        assert is_found(shared, {**without, **env}), file
        file.unlink()


def is_found(shared: Command, env: dict[str, str]) -> bool:
    try:
        location.find(str(shared.repo), env)
    except MootError:
        return False
    return True


def test_the_repositorys_own_config_trusts_nothing(shared: Command) -> None:
    with (shared.repo / ".git" / "config").open("a") as file:
        file.write("[safe]\n\tdirectory = *\n")
    assert "unsafe_workspace" in shared("board").err
    more = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    assert "unsafe_workspace" in shared("board", **more).err


def test_the_remedy_works(shared: Command, tmp_path: Path) -> None:
    ran = shared("--json", "board", GIT_CONFIG_GLOBAL=str(tmp_path / "global"))
    command = ran.error["remedy"].partition("`")[2].partition("`")[0]
    env = {**shared.environment, "GIT_CONFIG_GLOBAL": str(tmp_path / "global")}
    subprocess.run(["sh", "-c", command], env=env, check=True, timeout=60)
    assert shared("board", GIT_CONFIG_GLOBAL=str(tmp_path / "global")).code == 0
    sent = shared("send", "Ada", "hi", agent="Ada", GIT_CONFIG_GLOBAL=str(tmp_path / "global"))
    assert sent.code == 0, "what was accepted was accepted with its owner"


def test_a_folder_without_git_is_trusted_by_the_same_list(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    plain = tmp_path / "a plain folder"
    plain.mkdir()
    command("init", cwd=plain)
    give(plain, MALLORY)
    env = {"GIT_CONFIG_GLOBAL": str(tmp_path / "global")}
    remedy = command("--json", "board", cwd=plain, **env).error["remedy"].partition("`")[2].partition("`")[0]
    subprocess.run(["sh", "-c", remedy], env={**command.environment, **env}, check=True, timeout=60)
    assert command("board", cwd=plain, **env).code == 0


def test_sudo_uid_means_nothing_to_one_who_is_not_root() -> None:
    with tempfile.TemporaryDirectory() as folder:  # to which others have a way, unlike pytest's
        os.chmod(folder, 0o755)
        command = new_command(Path(folder))
        command("init")
        for more in ({}, {"SUDO_UID": "0"}):
            assert found_by(SUDOER, command, **more) == "unsafe_workspace"
        give(command.repo, SUDOER)
        assert found_by(SUDOER, command) == str(command.repo)


def found_by(uid: int, command: Command, **more: str) -> str:
    """The workspace that another account finds, or the refusal. It may not start our Python, so ours becomes it."""
    script = (
        "import os, shlex, moot.place.user_state, moot.place as place\n"
        f"os.setgroups([]); os.setgid({uid}); os.setuid({uid})\n"
        "try: print(place.find('.', os.environ).root)\n"
        "except place.MootError as error: print(error.code)\n"
    )
    env = {**command.environment, **more}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=command.repo,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


def test_a_file_of_another_account_in_a_state_directory_is_refused(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    command("init")
    command("join", "Ada")
    state = command.repo / ".git" / "moot"
    for name in ("log.db", "log.db-wal", "lock", "device"):
        before = (state / name).stat()
        os.chown(state / name, MALLORY, MALLORY)
        ran = command("send", "Ada", "hi", agent="Ada")
        assert "unsafe_file" in ran.err, (name, ran)
        os.chown(state / name, before.st_uid, before.st_gid)
    assert command("send", "Ada", "hi", agent="Ada").code == 0


def test_what_root_left_in_a_state_directory_stays_usable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.touch()
    monkeypatch.setattr(os, "geteuid", lambda: SUDOER)
    assert check_private(str(path))


def test_a_worktree_that_another_account_put_in_the_place_of_a_deleted_one_is_not_ours(tmp_path: Path) -> None:
    """Files of protocols are written into every worktree."""
    command = new_command(tmp_path)
    pointer = (command.linked / ".git").read_text()
    assert len(location.worktrees(location.find(str(command.repo), {}))) == 2
    (command.linked / ".git").unlink()
    command.linked.rmdir()
    command.linked.mkdir()
    (command.linked / ".git").write_text(pointer)
    give(command.linked, MALLORY)
    assert [tree.root for tree in location.worktrees(location.find(str(command.repo), {}))] == [str(command.repo)]
