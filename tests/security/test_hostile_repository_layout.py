"""A stranger's repository is cloned, and somebody calls moot in it: planted folders, links, FIFOs and endless files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moot import place as location
from moot.core.errors import MootError
from moot.place import gitdir
from tests.security.hostile import Victim, commit, everything, look_alike, stranger
from tests.surfaces.command import Command, git, new_command

LOOKS = [["who-holds"], ["watch", "--once"], ["board"], ["ready"], ["agents"], ["log"], ["inbox"], ["doctor"]]
WRITES = [["join", "Ada"], ["claim", "a.py"], ["check", "--", "true"], ["mirror"], ["verify"]]


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    return Victim(tmp_path)


def unsafe(call: object, *arguments: object) -> MootError:
    with pytest.raises(MootError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value


@pytest.mark.parametrize("words", [*LOOKS, *WRITES], ids=" ".join)
def test_a_committed_look_alike_with_a_planted_link_overwrites_nothing(
    victim: Victim, tmp_path: Path, words: list[str]
) -> None:
    evil = stranger(tmp_path)
    folder = look_alike(evil / "vendor" / "lib")
    for name in ("device", "lock", "log.db", "log.db-wal", "views", "runners"):
        (folder / "moot" / name).symlink_to(victim.bashrc)
    for name in ("presence", "cache", "effects", "mirrors"):
        (folder / "moot" / name).symlink_to(victim.home)
    commit(evil)
    clone = victim.clone(evil)
    before = everything(clone)
    for start in (clone / "vendor" / "lib", clone / "vendor" / "lib" / "refs", clone):
        ran = victim(*words, cwd=start)
        assert ran.code != 0
        assert "no_log" in ran.err + ran.out, "the clone itself is the repository, and it has no log"
    assert everything(clone) == before
    victim.check()


def test_a_look_alike_outside_of_any_repository_is_not_used_and_the_refusal_says_how_it_could(victim: Victim) -> None:
    """As in an unpacked archive."""
    folder = look_alike(victim.directory / "unpacked")
    (folder / "moot" / "device").symlink_to(victim.bashrc)
    before = everything(folder)
    ran = victim("who-holds", cwd=folder)
    assert "no_workspace" in ran.err
    assert f"moot -C {folder}" in ran.err
    assert everything(folder) == before
    victim.check()


@pytest.mark.parametrize("words", [["who-holds"], ["board"], ["join", "Ada"]], ids=" ".join)
def test_even_a_look_alike_that_is_named_gets_nothing_written_through_its_links(
    victim: Victim, words: list[str]
) -> None:
    folder = look_alike(victim.directory / "x.git")
    (folder / "moot" / "device").symlink_to(victim.bashrc)
    before = everything(folder)
    for named in (["-C", str(folder)], []):
        more = {} if named else {"MOOT_WORKSPACE": str(folder)}
        ran = victim(*named, *words, **more)
        assert "no_log" in ran.err
    assert everything(folder) == before
    ran = victim("-C", str(folder), "init")
    assert "unsafe_file" in ran.err
    victim.check()


@pytest.mark.parametrize("kind", ["link", "link to a log", "fifo", "folder", "world-writable"])
@pytest.mark.parametrize("name", ["log.db", "log.db-wal", "log.db-shm", "device", "lock"])
def test_no_planted_file_of_a_state_directory_is_used(tmp_path: Path, name: str, kind: str) -> None:
    """The command ends at once, with a clear word; what a link leads to stays as it is."""
    command = new_command(tmp_path)
    command("init")
    state = command.repo / ".git" / "moot"
    target = tmp_path / "target"
    target.write_bytes((state / name).read_bytes() if kind == "link to a log" and (state / name).exists() else b"mine")
    (state / name).unlink(missing_ok=True)
    match kind:
        case "fifo":
            os.mkfifo(state / name)
        case "folder":
            (state / name).mkdir()
        case "world-writable":
            (state / name).write_bytes(target.read_bytes())
            (state / name).chmod(0o666)
        case _:
            (state / name).symlink_to(target)
    before = target.read_bytes()
    ran = command("join", "Ada")
    assert ran.code != 0
    assert "unsafe_file" in ran.err, ran
    assert name in ran.err
    assert target.read_bytes() == before


@pytest.mark.parametrize("name", ["presence", "presence/boot", "cache", "mirrors", "mirrors/keep", "quarantine"])
def test_no_folder_of_a_state_directory_leads_elsewhere(tmp_path: Path, name: str) -> None:
    command = new_command(tmp_path)
    command("init", "--pack", "orchestrator")
    command("join", "Ada")
    state, away = command.repo / ".git" / "moot", tmp_path / "away"
    away.mkdir()
    path = next((state / "presence").iterdir()) if name == "presence/boot" else state / name
    if path.exists():
        path.rename(tmp_path / "moved")
    path.symlink_to(away)
    os.utime(command.repo / "moot.toml", (1, 1))  # long ago, so that it could be cached
    command("send", "Ada", "hi", agent="Ada")
    command("join", "Bob")
    (command.repo / ".claude").mkdir(exist_ok=True)
    assert list(away.iterdir()) == []


def test_a_state_directory_that_is_a_link_or_open_to_all_is_refused(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    command("init")
    state = command.repo / ".git" / "moot"
    state.chmod(0o777)
    before = everything(state)
    ran = command("board")
    assert "unsafe_workspace" in ran.err
    assert f"chmod o-w {state}" in ran.err
    assert everything(state) == before
    state.chmod(0o770)
    assert command("board").code == 0, "a group may be trusted: umask 002 is common"
    state.rename(tmp_path / "elsewhere")
    state.symlink_to(tmp_path / "elsewhere")
    for words in (["board"], ["init"], ["join", "Ada"], ["doctor"]):
        assert "unsafe_workspace" in command(*words).err


def test_a_new_state_directory_is_for_its_owner_alone(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    command("init", before=lambda: os.umask(0))
    state = command.repo / ".git" / "moot"
    assert state.stat().st_mode & 0o777 == 0o700
    assert command("join", "Ada", before=lambda: os.umask(0)).code == 0
    assert command("send", "Ada", "hi", agent="Ada", before=lambda: os.umask(0)).code == 0, "nothing is open to all"


def test_a_stamp_of_presence_follows_no_link(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    command("init")
    command("join", "Ada")
    target = tmp_path / "target"
    target.write_text("mine")
    (stamp,) = (path for path in (command.repo / ".git" / "moot" / "presence").rglob("ada.1"))
    stamp.unlink()
    stamp.symlink_to(target)
    ran = command("inbox", agent="Ada")
    assert "unsafe_file" in ran.err
    assert target.read_text() == "mine"


def test_turning_a_pack_on_writes_through_no_planted_link(victim: Victim, tmp_path: Path) -> None:
    evil = stranger(tmp_path)
    for number in range(1, 500):  # the name of a draft was made from the number of the process
        (evil / f".moot.toml.{number}").symlink_to(victim.bashrc)
    commit(evil)
    clone = victim.clone(evil)
    for number in range(500, 70_000, 1):
        os.symlink(victim.bashrc, clone / f".moot.toml.{number}")
    assert victim("init", "--pack", "orchestrator").code == 0
    assert not (clone / "moot.toml").is_symlink()
    victim.check()


@pytest.mark.parametrize("target", ["home", "git", "hooks"])
def test_a_protocols_file_is_not_written_through_a_committed_link(victim: Victim, tmp_path: Path, target: str) -> None:
    from moot.wiring.packs import pack

    evil = stranger(tmp_path)
    paths = [spec.path for spec in pack("orchestrator", str(tmp_path), keep=False).mirrors]
    leads = {"home": str(victim.home), "git": ".git", "hooks": ".git/hooks"}[target]
    for first in {path.split("/")[0] for path in paths}:
        (evil / first).symlink_to(leads)
    (evil / "moot.toml").write_text('packs = ["orchestrator"]\n[tasks]\nlifecycle = "orchestrator"\n')
    commit(evil)
    clone = victim.clone(evil)
    victim("init")
    hooks = sorted(os.listdir(clone / ".git" / "hooks"))
    names = sorted(os.listdir(clone / ".git"))
    for words in (["join", "Ada", "--role", "developer"], ["mirror"], ["send", "@all", "hi"]):
        victim(*words)
    assert sorted(os.listdir(clone / ".git" / "hooks")) == hooks
    assert sorted(os.listdir(clone / ".git")) == names
    victim.check()


# Files that never end, or never begin


@pytest.mark.parametrize("name", ["config", "HEAD", "commondir", "config.worktree"])
def test_a_fifo_in_a_git_directory_is_answered_at_once(tmp_path: Path, name: str) -> None:
    command = new_command(tmp_path)
    command("init")
    path = command.repo / ".git" / name
    if name == "config.worktree":
        git(command.repo, "config", "extensions.worktreeConfig", "true")
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    for words in (["board"], ["check", "--", "true"], ["init"]):
        ran = command(*words)
        assert "git_broken" in ran.err
        assert f"{path} does not lead to a repository: it is not a regular file" in ran.err


@pytest.mark.parametrize("name", ["gitdir", "commondir", "HEAD"])
def test_a_fifo_in_the_git_directory_of_a_worktree_is_answered_at_once(tmp_path: Path, name: str) -> None:
    command = new_command(tmp_path)
    command("init")
    path = command.repo / ".git" / "worktrees" / "linked" / name
    path.unlink()
    os.mkfifo(path)
    assert command("board").code == 0, "the other worktree is only left out"
    if name != "gitdir":
        assert "git_broken" in command("board", cwd=command.linked).err


@pytest.mark.parametrize("name", [".git", ".git/config", ".git/commondir"])
def test_a_nul_byte_in_what_git_says_is_refused_in_words(tmp_path: Path, name: str) -> None:
    command = new_command(tmp_path)
    command("init")
    path = (command.linked if name == ".git" else command.repo) / name
    before = path.read_bytes() if path.exists() else b""
    path.write_bytes(b"gitdir: \0" + before[8:] if name == ".git" else before + b"[core]\n\tworktree = ..\0\n")
    for words in (["board"], ["check", "--", "true"], ["init"]):
        ran = command(*words, cwd=path.parent if name == ".git" else command.repo)
        assert "git_broken" in ran.err
        assert f"{path} does not lead to a repository: it contains a NUL byte" in ran.err


@pytest.mark.parametrize("kind", ["fifo", "device", "folder"])
def test_settings_that_are_no_file_are_answered_at_once(tmp_path: Path, kind: str) -> None:
    command = new_command(tmp_path)
    command("init")
    path = command.repo / "moot.toml"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    assert "settings_unreadable" in command("board").err


def test_megabytes_of_backslashes_are_refused_after_a_bounded_number_of_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = new_command(tmp_path)
    config = command.repo / ".git" / "config"
    sound = config.read_text()
    taken: list[int] = []
    take = gitdir._Work.take

    def counted(self: gitdir._Work, characters: int) -> None:
        taken.append(characters)
        take(self, characters)

    monkeypatch.setattr(gitdir._Work, "take", counted)
    bombs = ["x = " + "\\" * 3_000_000, "x = a\\\n" + "\\\n" * 1_500_000, 'x = "' + "\\n" * 1_000_000]
    for bomb in bombs:
        config.write_text(f"{sound}[core]\n{bomb}\n")
        taken.clear()
        assert unsafe(location.find, str(command.repo), {}).code == "git_broken"
        assert len(taken) <= gitdir._MOST_WORK + 1
    config.write_text(sound + "#" * (5 << 20))
    assert "larger than" in unsafe(location.find, str(command.repo), {}).message
    lines = "".join(f'[branch "b{n}"]\n\tremote = origin\n\tmerge = refs/heads/b{n}\n' for n in range(20_000))
    config.write_text(sound + lines)
    assert location.find(str(command.repo), {}).root == str(command.repo), "a large config that is sound is read"


# Where there is no log


@pytest.mark.parametrize("state", [False, True], ids=["no state directory", "an empty one"])
@pytest.mark.parametrize(
    "settings", ["", 'packs = ["orchestrator"]\ntasks.attempts = 4\n'], ids=["plain", "with settings"]
)
def test_without_a_log_nothing_is_made_however_a_session_is_opened(tmp_path: Path, state: bool, settings: str) -> None:
    from moot.wiring.admin import Admin
    from tests.calls import open_call

    repo = new_command(tmp_path).repo
    if settings:
        (repo / "moot.toml").write_text(settings)
        os.utime(repo / "moot.toml", (1, 1))  # long ago, so that it could be cached
    if state:
        (repo / ".git" / "moot").mkdir(mode=0o700)
    before = everything(repo)
    for reading in (True, False):
        for at in (None, 1):
            opening = lambda: open_call(str(repo), {}, agent="Ada", reading=reading, at=at)  # noqa: B023, E731
            assert unsafe(opening).code == "no_log"
    assert "no_log" in {finding.check for finding in Admin(str(repo), {}).diagnose()}
    assert everything(repo) == before


# Reading only


def test_a_quiet_look_changes_nothing_at_all_not_even_a_time(tmp_path: Path) -> None:
    from moot.api import catalogue

    command = new_command(tmp_path)
    command("init")
    command("join", "Ada")
    command("task", "add", "One")
    command("send", "Ada", "hi", agent="Ada")
    (command.repo / ".git" / "moot" / "device").unlink()  # as after a copy to another disk
    quiet = [name for name in catalogue.names() if catalogue.find(name).quiet]
    assert quiet, "there are such verbs"
    before = everything(command.repo / ".git" / "moot")
    for words in (["board"], ["watch", "--once"], ["log"], ["agents"], ["search", "hi"]):
        if " ".join(words[:1]) in quiet:
            assert command(*words).code == 0
    after = everything(command.repo / ".git" / "moot")
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert {name for name in changed if not name.endswith("-shm")} == set(), "but for memory that readers share"


def bare_workspace(command: Command, tmp_path: Path) -> Path:
    bare = tmp_path / "bare.git"
    git(command.repo, "clone", "-q", "--bare", ".", str(bare))
    git(bare, "worktree", "add", "-q", str(tmp_path / "tree"), "main")
    return bare


def test_a_real_bare_repository_still_works_where_it_is_named(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    bare = bare_workspace(command, tmp_path)
    assert command("init", cwd=tmp_path / "tree").code == 0
    assert "no_workspace" in command("board", cwd=bare).err
    assert command("-C", ".", "board", cwd=bare).code == 0
    assert command("board", cwd=bare, GIT_DIR=".").code == 0, "as git's hooks are called"
    assert command("board", MOOT_WORKSPACE=str(bare)).code == 0
