"""Interrupted at any step, a process that goes on can go on, and keeps nobody else waiting."""

from __future__ import annotations

from typing import Any

import pytest

from moot.logs.sqlite.lock import WriterLock
from tests.engine.harness import Machine, join, leave


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
