"""Interrupted at any step, a process that goes on can go on, and keeps nobody else waiting."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from moot import engine
from moot.core.errors import MootError
from moot.logs.sqlite.lock import WriterLock
from tests.engine.harness import Command, Machine, add, join, leave

if TYPE_CHECKING:
    from types import FrameType

HERE = os.path.dirname(os.path.dirname(engine.__file__))
STRIDE = 3  # every third step


class Struck:
    """A connection on which one is interrupted just when a statement was done."""

    def __init__(self, real: Any, statement: str) -> None:
        self._real = real
        self._statement: str | None = statement

    def execute(self, sql: str, *bindings: Any) -> Any:
        result = self._real.execute(sql, *bindings)
        if sql == self._statement:
            self._statement = None
            raise KeyboardInterrupt
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "COMMIT"])
def test_an_interrupt_in_the_views_leaves_no_transaction_open(machine: Machine, opened, statement):
    machine.store._db = Struck(machine.store.db, statement)
    with pytest.raises(KeyboardInterrupt):
        machine.run(join("Blake"))
    other = opened(machine)
    other.store.db.set_busy_timeout(0)
    other.does(leave("Keats"))
    assert machine.store.cursor() == machine.log.head()  # asked for, not remembered
    machine.does(leave("Yeats"))
    assert machine.verify().sound


def test_an_interrupt_while_the_turn_is_given_back_leaves_it_free(machine: Machine, opened, monkeypatch):
    real = WriterLock.release
    calls: list[int] = []

    def release(lock: WriterLock) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        real(lock)

    monkeypatch.setattr(WriterLock, "release", release)
    with pytest.raises(KeyboardInterrupt):
        machine.run(join("Blake"))
    other = opened(machine)
    other.log.handle.patience = 0.0
    with other.log.exclusive():
        assert other.log.head() >= 3
    machine.does(leave("Yeats"))


def interrupted(work: Callable[[], object], step: int) -> bool:
    """Do it, and interrupt it at this step: a line, or the entry of a function. False if there are fewer."""
    steps = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Callable[..., Any] | None:
        nonlocal steps
        if not frame.f_code.co_filename.startswith(HERE):
            return None
        if event in ("call", "line"):
            steps += 1
            if steps == step:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return steps >= step


@pytest.mark.promise(3)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # from `__del__`, after an interrupt
@pytest.mark.parametrize("refused", [False, True], ids=["stored", "refused"])
def test_an_interrupt_at_any_step_of_a_commit_keeps_nobody_from_writing(refused: bool) -> None:
    """Whatever the interrupted one had open is closed: another one writes at once, and it goes on itself."""
    room = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=room) as place:
        machine = Machine(place, place)
        machine.does(join("Yeats"), join("Keats"))
        other = machine.again()
        other.store.db.set_busy_timeout(0)
        other.log.handle.patience = 0.5
        machine.log.handle.patience = 0.5
        step, going = 0, True
        while going:
            step += STRIDE
            command = join("Keats") if refused else add(f"t-{step}")
            going = interrupted(partial(_tried, machine, command), step)
            other.does(add(f"other-{step}"))
            machine.does(add(f"after-{step}"))
            assert other.engine.read().cursor() == other.log.head(), step
        assert step > 100
        assert {event.data["title"] for event in other.events("task:added")} >= {
            f"after-{n}" for n in range(STRIDE, step, STRIDE)
        }
        assert other.verify().sound
        machine.close()
        other.close()


def _tried(machine: Machine, command: Command) -> None:
    try:
        machine.run(command)
    except MootError:
        pass
