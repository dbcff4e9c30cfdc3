"""A file that cannot be used for a while, and comes back as it was: what was stored meanwhile appears in it.

Whatever blocks it, and whoever looks first: any command, `mirror`, `doctor`, or the watcher.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from moot.api.verbs.workspace import doctor
from moot.core.errors import Refused
from moot.mirrors.state_cache import MirrorMemory
from moot.wiring.admin import Admin
from tests import unprivileged
from tests.calls import open_call
from tests.mirrors.place import FOLDER, Place, assignment
from tests.person import AS_A_PERSON
from tests.surfaces.command import PATIENCE, SOURCES, git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Way = Callable[[Path], contextlib.AbstractContextManager[None]]

STRANGER = 12345
ROOT = os.geteuid() == 0


@contextlib.contextmanager
def closed(path: Path) -> Iterator[None]:
    """Nobody may read it."""
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        yield
    finally:
        path.chmod(mode)


@contextlib.contextmanager
def closed_folder(path: Path) -> Iterator[None]:
    with closed(path.parent):
        yield


@contextlib.contextmanager
def replaced(path: Path, make: Callable[[Path, Path], object]) -> Iterator[None]:
    """Something else is in its place."""
    aside = path.parents[4] / f"{path.parents[3].name}-aside-{path.name}"
    path.rename(aside)
    make(path, aside)
    yield
    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    aside.rename(path)


def linked(path: Path) -> contextlib.AbstractContextManager[None]:
    return replaced(path, lambda there, aside: there.symlink_to(aside))


def folder_linked(path: Path) -> contextlib.AbstractContextManager[None]:
    return replaced(path.parent, lambda there, aside: there.symlink_to(aside))


def a_folder(path: Path) -> contextlib.AbstractContextManager[None]:
    return replaced(path, lambda there, _aside: there.mkdir())


def a_pipe(path: Path) -> contextlib.AbstractContextManager[None]:
    return replaced(path, lambda there, _aside: os.mkfifo(there))


@contextlib.contextmanager
def too_large(path: Path) -> Iterator[None]:
    size = path.stat().st_size
    os.truncate(path, 300 << 20)  # a hole: it takes no room
    yield
    os.truncate(path, size)


@contextlib.contextmanager
def torn(path: Path) -> Iterator[None]:
    """Somebody takes long to write it, and then writes what was there."""
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    yield
    path.write_bytes(whole)


@contextlib.contextmanager
def of_a_stranger(path: Path) -> Iterator[None]:
    os.chown(path, STRANGER, STRANGER)
    yield
    os.chown(path, 0, 0)


@contextlib.contextmanager
def read_only_folder(path: Path) -> Iterator[None]:
    """It can be read, but nothing can be put in its place."""
    path.parent.chmod(0o555)
    try:
        yield
    finally:
        path.parent.chmod(0o755)


WAYS: dict[str, Way] = {
    "mode 000": closed,
    "its directory has mode 000": closed_folder,
    "its directory is read-only": read_only_folder,
    "a symbolic link": linked,
    "its directory is a symbolic link out of the worktree": folder_linked,
    "a directory": a_folder,
    "a pipe": a_pipe,
    "too large": too_large,
    "torn": torn,
    "of another account": of_a_stranger,
}
HOWS = ("any command", "mirror", "doctor", "watcher")


@contextlib.contextmanager
def watched(place: Place, how: str) -> Iterator[None]:
    """A watcher, a real process that may pass no permission, if `how` is to watch."""
    if how != "watcher":
        yield
        return
    env = {**os.environ, **AS_A_PERSON, "PYTHONPATH": os.pathsep.join((str(SOURCES), str(SOURCES.parent)))}
    words = [sys.executable, "-m", "tests.unprivileged", sys.executable, "-m", "moot", "mirror", "--watch"]
    watcher = subprocess.Popen(words, cwd=place.root, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert watcher.stdout is not None
        assert b"in sync" in watcher.stdout.readline()
        yield
    finally:
        watcher.kill()
        watcher.communicate()


def brought_back(place: Place, how: str, shows: Callable[[], bool]) -> None:
    """Let somebody look at the files. A watcher does so by itself."""
    if how == "any command":
        place.call.run("board", {})
    elif how == "mirror":
        answer = place.call.run("mirror", {})
        assert answer.result["pending"] == []
        assert answer.warnings == ()
    elif how == "doctor":
        findings = Admin(str(place.root), AS_A_PERSON).diagnose()
        assert [finding for finding in findings if finding.check == "mirrors" and not finding.good] == []
    else:
        end = time.monotonic() + PATIENCE
        while not shows():
            assert time.monotonic() < end, "the watcher did not bring it up to date"
            time.sleep(0.02)


@pytest.mark.promise(14)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("way", WAYS)
def test_what_was_stored_while_a_file_was_blocked_appears_once_it_is_usable_again(tmp_path, way, how):
    if way == "of another account" and not ROOT:
        pytest.skip("needs root, to act as a second account")
    root = tmp_path / "repo"
    with Place(root) as place, watched(place, how), unprivileged.unprivileged():
        place.send(1)
        with WAYS[way](place.to_developer):
            warnings = place.send(2)
            assert any("mirror_pending" in one and str(place.to_developer.parent) in one for one in warnings), warnings
            answer = place.call.run("mirror", {})
            assert f"{FOLDER}/to-developer.json" in answer.result["pending"]
            if way not in ("torn", "its directory is read-only"):
                assert_that_doctor_names(place)
        brought_back(place, how, lambda: place.shown() == ["task-1", "task-2"])
        assert place.shown() == ["task-1", "task-2"]
        assert place.call.run("mirror", {}).warnings == ()
        assert len(place.types("message:sent")) == 2
        assert place.types("file:quarantined") == []


def assert_that_doctor_names(place: Place) -> None:
    (mirrors,) = (one for one in Admin(str(place.root), AS_A_PERSON).diagnose() if one.check == "mirrors")
    assert not mirrors.good
    assert str(place.to_developer.parent) in mirrors.message


@pytest.mark.parametrize("how", HOWS)
def test_a_worktree_that_was_away_shows_what_was_stored_meanwhile(tmp_path, how):
    root, linked_tree, away = tmp_path / "repo", tmp_path / "linked", tmp_path / "away"
    with Place(root) as place, watched(place, how):
        git(root, "commit", "-q", "--allow-empty", "-m", "begin")
        git(root, "worktree", "add", "-q", str(linked_tree))
        place.send(1)
        assert place.shown(linked_tree) == ["task-1"]
        linked_tree.rename(away)
        assert not any("mirror_pending" in warning for warning in place.send(2))
        assert not linked_tree.exists()
        away.rename(linked_tree)
        brought_back(place, how, lambda: place.shown(linked_tree) == ["task-1", "task-2"])
        assert place.shown(linked_tree) == ["task-1", "task-2"]
        assert place.call.run("mirror", {}).warnings == ()


def test_a_file_that_was_blocked_and_then_changed_is_absorbed_and_rendered(tmp_path):
    with Place(tmp_path) as place, unprivileged.unprivileged():
        place.send(1)
        with closed(place.to_developer):
            place.send(2)
        place.write()  # its writer saw task-1 alone
        assert place.sync() == []
        assert place.shown() == ["task-2"]


def test_the_files_of_worktrees_that_are_gone_are_not_remembered_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("moot.mirrors.sync._AWAY", 3)
    with Place(tmp_path / "repo") as place:
        git(place.root, "commit", "-q", "--allow-empty", "-m", "begin")
        for number in range(4):
            tree = tmp_path / f"tree-{number}"
            git(place.root, "worktree", "add", "-q", "--detach", str(tree))
            place.send(number)
            git(place.root, "worktree", "remove", "--force", str(tree))
        place.send(9)
        memory = MirrorMemory(os.path.join(place.call.place.state, "mirrors")).read()
        assert len([path for path in memory.files if not path.startswith(f"{place.root}/")]) == 3


def test_doctor_refuses_while_a_file_is_blocked(tmp_path):
    with Place(tmp_path) as place, unprivileged.unprivileged(), closed(place.to_developer):
        place.send(1)
        with pytest.raises(Refused, match="to-developer"):
            doctor(Admin(str(place.root), AS_A_PERSON))


STORIES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "orchestrator": [
        ("send", {"type": "task_assignment", "data": {k: v for k, v in assignment(1).items() if k != "type"}}),
        ("task note", {"task": "task-1", "text": "On its way."}),
    ],
    "gsd": [
        ("gsd emit", {"event": "task:started", "fields": ["plan=01-01", "task:=1", "agent=a", "taskName=It"]}),
        ("gsd emit", {"event": "file:claimed", "fields": ["path=src/a.ts", "agent=a", "plan=01-01"]}),
        ("gsd emit", {"event": "artifact:created", "fields": ["path=src/a.ts", "plan=01-01", "exports=a"]}),
    ],
}


@pytest.mark.parametrize("way", ["mode 000", "a symbolic link", "its directory is read-only", "torn"])
@pytest.mark.parametrize("pack", STORIES)
def test_every_file_of_a_pack_shows_in_the_end_what_it_shows_elsewhere(tmp_path, pack, way):
    """All files of one worktree are blocked, those of another are not."""
    root, other = tmp_path / "repo", tmp_path / "other"
    git(tmp_path, "init", "-q", str(root))
    git(root, "commit", "-q", "--allow-empty", "-m", "begin")
    git(root, "worktree", "add", "-q", str(other))
    Admin(str(root), AS_A_PERSON).create((pack,))
    with open_call(str(root), AS_A_PERSON) as call:
        files = call.run("mirror", {}).result["files"]
        written = [path for path in files if (root / path).is_file()]
        assert len(written) >= 4
        with unprivileged.unprivileged(), contextlib.ExitStack() as blocked:
            for path in written:
                if way != "its directory is read-only" or (root / path).parent.stat().st_mode & 0o200:
                    blocked.enter_context(WAYS[way](root / path))
            for verb, arguments in STORIES[pack]:
                call.run(verb, arguments)
        call.run("mirror", {})
        changed = 0
        for path in written:
            assert (root / path).read_bytes() == (other / path).read_bytes(), path
            changed += b"task" in (root / path).read_bytes()
        assert changed
        assert call.run("mirror", {}).warnings == ()
        call.workspace.close()
