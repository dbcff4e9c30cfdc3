"""What killed processes have left is taken away: by its exact name, once it is old, and nothing else is."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.engine.sweeping import STAMP, sweep, sweep_rooms

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.in_memory

OLD = time() - 2 * 86_400
HEX = "0123456789ab"
DEAD = 999_999_999  # no process is called so

LEFT = [
    f"mirrors/state.json.{HEX}",
    f"cache/settings.json.{HEX}",
    f"cache/pack-orchestrator.json.{HEX}",
    f"device.{HEX}",
    "presence/boot/~0123456789ab",
    f"presence/boot/runner-01234567.{DEAD}",
    "effects/e-1234567",
    f"views-3.db.{HEX}",
]
ALIKE = [
    f"mirrors/state.json.{HEX}0",
    f"mirrors/state.json.{HEX[1:]}",
    "mirrors/state.json.backup",
    f"cache/state.json.{HEX.upper()}",
    f"log.db.{HEX}",
    f".{HEX}",
    HEX,
    f"keep/state.json.{HEX}",
    "presence/boot/ada.1",
    "presence/boot/runner-x.1",
    f"presence/boot/runner-01234567.{os.getpid()}",
]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("MOOT_AGENT", "MOOT_INCARNATION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MOOT_PERSON", "1")
    with Workspace.init(tmp_path) as ws:
        ws.task_add("One")
        yield tmp_path / ".moot"


def plant(state: Path, names: list[str], at: float = OLD) -> list[Path]:
    paths = [state / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path, (at, at))
    return paths


def test_what_was_left_goes_and_what_only_looks_like_it_stays(state: Path) -> None:
    left, alike = plant(state, LEFT), plant(state, ALIKE)
    sweep(str(state))
    assert [path for path in left if path.exists()] == []
    assert [path for path in alike if not path.exists()] == []


def test_what_is_young_stays(state: Path) -> None:
    """Somebody may be about to give it its name."""
    young = plant(state, LEFT, at=time() - 600)
    sweep(str(state))
    assert [path for path in young if not path.exists()] == []


def test_the_lock_of_an_effect_that_somebody_holds_stays(state: Path) -> None:
    held, free = plant(state, ["effects/held", "effects/free"])
    with held.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        sweep(str(state))
        assert held.exists()
        assert not free.exists()


def test_links_are_neither_followed_nor_removed(state: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (precious,) = plant(outside, [f"state.json.{HEX}"])
    for name in ("mirrors", "effects", "presence"):
        folder = state / name
        if folder.is_dir():
            for path in sorted(folder.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            folder.rmdir()
        folder.symlink_to(outside)
    (state / f"letter.{HEX}").symlink_to(precious)
    sweep(str(state))
    assert precious.exists()
    assert (state / f"letter.{HEX}").is_symlink()


def test_one_who_writes_sweeps_about_once_a_day_and_one_who_looks_never(state: Path) -> None:
    stamp = state / STAMP
    (first,) = plant(state, [LEFT[0]])
    with Workspace(state.parent) as ws:
        ws.task_add("Two")
        assert first.exists(), "it was done today"
    os.utime(stamp, (OLD, OLD))
    with Workspace(state.parent) as ws:
        ws.board()
        assert first.exists(), "who looks takes nothing away"
        ws.task_add("Three")
        assert not first.exists()
        assert stamp.stat().st_mtime > OLD


def test_doctor_sweeps(state: Path) -> None:
    (left,) = plant(state, [LEFT[0]])
    Workspace.doctor(state.parent)
    assert not left.exists()


KILLED = """
import os, signal, sys
from moot.place import caches
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
caches.keep(sys.argv[1], {"a": 1})
"""


def test_what_a_killed_process_leaves_is_one_of_those(state: Path) -> None:
    (state / "mirrors").mkdir()
    target = state / "mirrors" / "state.json"
    died = subprocess.run([sys.executable, "-c", KILLED, str(target)], timeout=60, check=False)
    assert died.returncode < 0
    (draft,) = (state / "mirrors").iterdir()
    os.utime(draft, (OLD, OLD))
    sweep(str(state))
    assert list((state / "mirrors").iterdir()) == []


def test_old_folders_of_killed_processes_are_removed_and_nothing_that_only_looks_like_one(tmp_path: Path) -> None:
    kept = {
        "moot-tree-k3y_abc",
        "moot-tree-k3y_abcde",
        "moot-tree-new_abcd",
        "moot-trees-k3y_abcd",
        "moot-run-linked_1",
    }
    for name in {"moot-tree-k3y_abcd", "moot-run-k3y_abcd", *kept} - {"moot-run-linked_1"}:
        (tmp_path / name).mkdir()
        (tmp_path / name / "index").write_text("")
        if "new" not in name:
            os.utime(tmp_path / name, (OLD, OLD))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "moot-run-linked_1").symlink_to(tmp_path / "elsewhere")
    sweep_rooms(str(tmp_path))
    assert set(os.listdir(tmp_path)) == {*kept, "elsewhere"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_folders_of_another_account_stay(tmp_path: Path) -> None:
    theirs = tmp_path / "moot-tree-k3y_abcd"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    os.utime(theirs, (OLD, OLD))
    sweep_rooms(str(tmp_path))
    assert theirs.exists()
