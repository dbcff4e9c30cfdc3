"""No room at any single write. It is said, nothing acknowledged is lost, and work goes on when there is room again."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from moot.core.errors import MootError
from moot.wiring.admin import Admin
from tests.faults import health, scripts
from tests.faults.crew import PATIENCE, ROOT, SOURCES
from tests.faults.full import FullDisk
from tests.faults.worker import ENV

STEP = 13  # every so many writes; `make soak` takes all of them
SAID = {"disk_full"}
SAID_OF_A_NEW_FILE = {"views_unusable", "log_io"}  # SQLite tries to read it then, and only knows that it is not there
DAYS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "work": [
        ("send", {"to": ["Bob"], "text": "A letter."}),
        ("task add", {"title": "A task"}),
        ("task claim", {"task": "task-001"}),
        ("claim", {"paths": ["src/**"]}),
        ("send", {"to": ["Bob"], "text": "x" * 30_000}),
        ("inbox", {}),
        ("release", {"all": True}),
    ],
    "start": [
        ("init", {}),
        ("join", {"name": "Ada"}),
        ("send", {"to": ["Ada"], "text": "x" * 5000}),
    ],
    "rebuild": [("verify", {"rebuild": True}), ("board", {})],
    "backup": [("backup", {"file": "copy.db", "force": True}), ("board", {})],
}


def spend(root: str, day: str, said: list[Any]) -> list[tuple[int, str]]:
    """Each command by itself: how those ended that failed."""
    ends = []
    for verb, arguments in DAYS[day]:
        try:
            if verb == "init":
                Admin(root, ENV).create(())
                continue
            with scripts.session(root, "Ada" if day not in ("start", "backup") else None) as here:
                scripts.does(here, said.append, verb, **arguments)
        except MootError as error:
            ends.append((error.exit_code, error.code))
            if day == "start":
                break  # the rest needs what was not made
    return ends


def leftovers(root: str) -> list[str]:
    """What a command that failed should have taken away again."""
    return [name for name in os.listdir(scripts.state(root)) if name.startswith("log.db.") or ".db." in name]


def at_each_write(place: str, day: str, step: int, **how: Any) -> None:
    before, root = os.path.join(place, "before"), os.path.join(place, "now")
    scripts.prepare(before, day)
    shutil.copytree(before, root)
    with FullDisk() as disk:
        assert spend(root, day, []) == []
    assert disk.count > 40
    for number in range(1 + step // 2, disk.count + 1, step):
        shutil.rmtree(root)
        shutil.copytree(before, root)
        said: list[Any] = []
        with FullDisk(number, **how) as full:
            ends = spend(root, day, said)
        where = f"write {number} of {disk.count}: {ends}"
        assert {code for code, _ in ends} <= {7}, where
        allowed = SAID | (SAID_OF_A_NEW_FILE if "open" in full.failed else set())
        assert {code for _, code in ends} <= allowed, where
        assert len(ends) <= 1 or not how["once"], where
        assert leftovers(root) == [], where
        assert health.wrong(root, day, said) is None, where


@pytest.mark.promise(1)
@pytest.mark.promise(15)
@pytest.mark.parametrize("once", [True, False], ids=["for one write", "for good"])
@pytest.mark.parametrize("day", DAYS)
def test_no_room_for_a_write_is_said_and_takes_nothing_that_was_acknowledged(place, day, once):
    at_each_write(place, day, STEP, once=once)


@pytest.mark.soak
@pytest.mark.promise(1)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("once", [True, False], ids=["for one write", "for good"])
@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EDQUOT], ids=["full", "over quota"])
@pytest.mark.parametrize("day", DAYS)
def test_no_room_at_any_write_is_said_and_takes_nothing_that_was_acknowledged(place, day, once, reason):
    at_each_write(place, day, 1, once=once, reason=reason)


SAID_BY_THE_COMMAND = {*SAID, "presence_unwritable", "settings_unwritable", "state_unwritable", "views_unusable"}
WARNED_OF = {
    "disk_full",
    "entry_held",
    "mirror_pending",
    "presence_unwritable",
    "views_behind",
}
OWN_MOUNTS = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]


def on_a_small_disk(place: str, day: str, last: int, step: int) -> None:
    """See `small_disk.py`: a real file system, and the real command."""
    disk = os.path.join(place, "disk")
    os.mkdir(disk)
    if shutil.which("unshare") is None or subprocess.run([*OWN_MOUNTS, "true"], check=False).returncode:
        pytest.skip("nobody may mount anything here")
    paths = os.pathsep.join([str(SOURCES), str(ROOT)])
    module = ["-m", "tests.faults.small_disk", day, disk, os.path.join(place, "before"), "0", str(last), str(step)]
    done = subprocess.run(
        [*OWN_MOUNTS, sys.executable, *module],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        timeout=12 * PATIENCE,
        check=True,
    )
    rounds = json.loads(done.stdout)
    for found in rounds:
        for said in found["full"]:
            assert said["code"] in (0, 7), (found["pages"], said)
            assert said["error"] in {None, *SAID_BY_THE_COMMAND}, (found["pages"], said)
            assert WARNED_OF.issuperset(said["warnings"]), (found["pages"], said)
            assert not said["err"], (found["pages"], said)
        assert [said for said in found["after"] if said["code"]] == [], found["pages"]
        assert found["after"][-1]["events"] >= max(said["position"] for said in found["full"])
        assert found["left"] == [], found["pages"]
    assert any(said["code"] for found in rounds for said in found["full"]), "there was always room"
    assert not any(said["code"] for said in rounds[-1]["full"][:-1]), "there was never enough room"


@pytest.mark.promise(1)
@pytest.mark.promise(14)
@pytest.mark.parametrize(("day", "last", "step"), [("work", 150, 10), ("start", 80, 6), ("torn", 12, 2)])
def test_a_small_disk_refuses_in_words_and_what_was_acknowledged_stays(place, day, last, step):
    on_a_small_disk(place, day, last, step)


@pytest.mark.soak
@pytest.mark.promise(1)
@pytest.mark.promise(14)
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("day", "last"), [("work", 160), ("start", 90), ("torn", 20)])
def test_a_disk_of_any_small_size_refuses_in_words_and_what_was_acknowledged_stays(place, day, last):
    on_a_small_disk(place, day, last, 1)
