"""A byte of a backup or of the log is another one: it opens or is called damaged, and a good one can be restored.

Every byte of the first page (the header and the schema) and some of the others; `make soak` takes every byte.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from moot import Workspace
from moot.core.errors import MootError
from moot.logs.sqlite import file, restore
from moot.wiring import restoring
from moot.wiring.admin import Admin
from tests.security.lines import workspace

pytestmark = pytest.mark.usefixtures("person")

PAGE = 4096
ELSEWHERE = 300
DAMAGED = ("damaged_log", "foreign_log", "no_log", "log_version", "newer_events", "log_io")
SEED = 20310508


def expect(error: MootError, at: int, *codes: str) -> None:
    assert error.code in codes, (at, error)


class Victim:
    """A workspace with a few events of several kinds, a good backup of it, and a copy of all its files to return to."""

    def __init__(self, place: Path) -> None:
        self.place = workspace(place / "w")
        with Workspace(self.place) as ws:
            ws.join("Ada")
            ws.send("Ada", "A message with some text in it, so that there is something to flip.", key="k")
            ws.task_add("Write it")
            ws.task_add("Test it", needs="task-001")
            ws.task_claim("task-001")
            ws.claim("src/**")
            ws.decide("Use spaces", path="src/**")
            ws.emit("build:finished", data={"n": 1})
            self.head = len(ws.log())
            ws.leave()
            self.head = len(ws.log())
        self.good = place / "good.db"
        with Workspace(self.place) as ws:
            ws.backup(str(self.good), force=True)
        self.state = self.place / ".moot"
        self.bad = place / "bad.db"
        self._aside = place / "aside"
        shutil.copytree(self.state, self._aside)

    def reset(self) -> None:
        shutil.rmtree(self.state)
        shutil.copytree(self._aside, self.state)

    def restore(self, path: Path) -> None:
        Admin(str(self.place), os.environ).restore(str(path), force=True)

    def rebuilt(self, path: Path) -> bool:
        with restore.room(str(self.state)) as room:
            return restoring._Backup(str(path), room, str(self.state), lambda *_: None)._found.events == self.head

    def check_sound(self, head: int | None = None) -> None:
        with Workspace(self.place) as ws:
            assert ws.verify().sound
            assert head is None or len(ws.log()) == head

    def kept(self) -> list[str]:
        return [name for name in os.listdir(self.state) if name.startswith(("log-", "restoring"))]


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOOT_PERSON", "1")
        patch.setenv("USER", "anna")
        patch.delenv("MOOT_AGENT", raising=False)
        yield Victim(tmp_path_factory.mktemp("flips"))


def flipped(content: bytes, at: int) -> bytes:
    bit = 1 << random.Random(SEED + at).randrange(8)
    return content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :]


def positions(size: int, part: int, parts: int) -> list[int]:
    chance = random.Random(SEED)
    chosen = [*range(min(PAGE, size)), *sorted(chance.sample(range(PAGE, size), ELSEWHERE))]
    return chosen[part::parts]


def try_backup(victim: Victim, at: int, *, in_place: bool) -> bool:
    """Whether the flipped backup can be restored; if not, what was there is there still.

    The file is read, checked and folded in any case. To put what came of that in place takes longer, and does not
    depend on the file any more.
    """
    victim.bad.write_bytes(flipped(victim.good.read_bytes(), at))
    try:
        if not in_place:
            return victim.rebuilt(victim.bad)
        victim.restore(victim.bad)
    except MootError as error:
        expect(error, at, *DAMAGED, "no_backup")
        assert not victim.kept()
        return False
    victim.check_sound(victim.head)
    return True


def try_log(victim: Victim, at: int) -> bool:
    """Whether the workspace can be used after the flip; a good backup can be restored in any case."""
    log = victim.state / file.NAME
    log.write_bytes(flipped(log.read_bytes(), at))
    used = True
    for look in ("board", "log", "agents", "verify"):
        try:
            with Workspace(victim.place) as ws:
                getattr(ws, look)()
        except MootError as error:
            expect(error, at, *DAMAGED, "not_sound")
            used = False
    victim.restore(victim.good)
    victim.check_sound(victim.head)
    victim.reset()
    return used


PARTS = 4
OFTEN = 30


@pytest.mark.parametrize("part", range(PARTS))
def test_a_flipped_backup_is_whole_or_refused(victim: Victim, part: int) -> None:
    victim.reset()
    chosen = positions(victim.good.stat().st_size, part, PARTS)
    found = [try_backup(victim, at, in_place=not number % OFTEN) for number, at in enumerate(chosen)]
    assert True in found
    assert False in found
    victim.restore(victim.good)
    victim.check_sound(victim.head)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_log_with_a_flipped_byte_is_usable_or_called_damaged(victim: Victim, part: int) -> None:
    victim.reset()
    size = (victim.state / file.NAME).stat().st_size
    found = [try_log(victim, at) for at in positions(size, part, PARTS)[::OFTEN]]
    assert True in found
    assert False in found


@pytest.mark.soak
def test_every_byte_of_a_backup_may_be_flipped(victim: Victim) -> None:
    victim.reset()
    for at in range(victim.good.stat().st_size):
        try_backup(victim, at, in_place=not at % OFTEN)
    victim.restore(victim.good)
    victim.check_sound(victim.head)


@pytest.mark.soak
def test_many_bytes_of_a_log_may_be_flipped(victim: Victim) -> None:
    """Each takes a restore. In a backup, which is the same file, every byte is flipped."""
    victim.reset()
    size = (victim.state / file.NAME).stat().st_size
    for at in (*range(0, PAGE, 4), *range(PAGE, size, 32)):
        try_log(victim, at)
