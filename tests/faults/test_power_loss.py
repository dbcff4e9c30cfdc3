"""The power fails at any single operation of the disk.

What was not flushed is lost, or kept in part, in any order, torn within a page. What was acknowledged is there.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import apsw
import pytest

from moot.logs.sqlite import file
from tests.faults import disk, health, scripts

SEED = 20
STEPS = {"start": 3, "rebuild": 3}  # the longest: every third moment. `make soak` takes all of them


@contextmanager
def recording(folder: str) -> Iterator[disk.Tape]:
    """Everything that SQLite does to files in this folder."""
    tape = disk.Tape(folder)
    vfs = disk.Disk(tape)
    real = {name: vars(file)[name] for name in ("flush", "sync")}
    vars(file).update(flush=vfs.flush, sync=lambda _: tape.keep_names())
    apsw.connection_hooks.append(scripts.checkpoint_often)
    try:
        yield tape
    finally:
        apsw.connection_hooks.remove(scripts.checkpoint_often)
        vars(file).update(real)
        vfs.eject()


def taped(place: str, script: str) -> disk.Tape:
    """A script, from beginning to end."""
    root = os.path.join(place, "before")
    scripts.prepare(root, script)
    os.makedirs(scripts.state(root), exist_ok=True)
    with recording(scripts.state(root)) as tape:
        scripts.SCRIPTS[script](root, tape.said.append)
        tape.mark()
    assert len(tape.moments) > 20
    assert tape.said
    return tape


def faults(tape: disk.Tape, place: str, script: str, seed: int | None, step: int = 1) -> Iterator[str]:
    """What is wrong after the power failed, for each moment at which it may. Without a seed nothing is lost."""
    root = os.path.join(place, "after")
    for moment in tape.moments[::step]:
        os.mkdir(root)
        chance = None if seed is None else random.Random(f"{seed} {moment.number}")
        tape.restore(moment, scripts.state(root), chance)
        fault = health.wrong(root, script, tape.said[: moment.said])
        shutil.rmtree(root)
        if fault:
            yield f"{script}, {seed=}, moment {moment.number}: {fault}"


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("script", scripts.SCRIPTS)
def test_a_power_failure_at_any_operation_takes_nothing_that_was_acknowledged(place, script):
    tape = taped(place, script)
    assert list(faults(tape, place, script, None, step=8)) == []
    assert list(faults(tape, place, script, SEED, STEPS.get(script, 1))) == []


@pytest.mark.soak
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("script", scripts.SCRIPTS)
def test_no_order_in_which_a_disk_writes_takes_what_was_acknowledged(place, script):
    tape = taped(place, script)
    for _ in range(20):
        assert list(faults(tape, place, script, random.SystemRandom().randrange(10**9))) == []


@pytest.mark.promise(1)
def test_a_flush_that_is_left_out_is_noticed_here(place, monkeypatch):
    """The tests above would see it if an answer came before its flush."""
    monkeypatch.setattr(disk.Disk, "flush", lambda _self, _file: None)
    tape = taped(place, "work")
    assert any("acknowledged and lost" in fault for fault in faults(tape, place, "work", SEED))
