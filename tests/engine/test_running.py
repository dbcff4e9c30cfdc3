"""A runner whose log is replaced by a backup while it works: it goes on with what there is."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from moot.core.deciders.effect import RequestEffect
from moot.core.handler import Handler
from moot.effects.pinned import PinnedHandler, pin
from moot.effects.runner import Runner, RunnerSetup
from moot.engine.presence import Presence
from moot.logs.sqlite.archive import restore
from moot.views.store import Store
from tests.engine.harness import ANNA, Command, Machine, add, together

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from moot.effects.attempts import Attempt

RUN = Handler(name="h", on=("task:added",), run=("true",))
MESSAGE = Handler(name="h", on=("task:added",), message={"to": "Yeats", "text": "hello"})


class Ready:
    """One handler, allowed."""

    def __init__(self, handler: Handler) -> None:
        self.ready = [handler]

    def granted(self, handler: Handler) -> PinnedHandler:
        return pin(handler, os.sep, os.environ)

    def refresh(self) -> Iterator[Any]:
        return iter(())


def request(name: str) -> Command:
    wanted = RequestEffect(handler="h", n=0, on="task:added", stream="task/task-001")
    return Command(f"request {name}", ANNA, lambda work: work.do("effect", name, wanted))


def runner(machine: Machine, handler: Handler) -> Runner:
    setup: Any = RunnerSetup(
        state=machine.views, env=dict(os.environ), by=lambda _: ANNA, handlers=Ready(handler),
        deliver=lambda *_: None, shown=lambda _, event: event.full(), alive=lambda: None,
    )  # fmt: skip
    return Runner(machine.engine, Presence(machine.views, machine.engine.clock), setup)


def put_back(machine: Machine, backup: Path) -> None:
    Store(machine.views).renew(alone=True).close()
    restore.replace(machine.directory, apsw.Connection(str(backup)), lambda *_: None)


@pytest.fixture
def backups(tmp_path: Path) -> dict[str, Path]:
    """Logs without the effect: one that ends before its event, one that goes on beyond it."""
    made = {}
    for name, tasks in (("shorter", 1), ("longer", 9)):
        other = Machine(tmp_path / name, tmp_path / name)
        other.does(*(add(f"other-{n}") for n in range(tasks)))
        made[name] = tmp_path / f"{name}.db"
        other.log.archive.backup(str(made[name]), lambda *_: None)
        other.close()
    return made


@pytest.mark.parametrize("handler", [RUN, MESSAGE], ids=["run", "message"])
@pytest.mark.parametrize("backup", ["shorter", "longer"])
def test_an_effect_that_a_restore_took_away_before_it_was_taken_is_left(
    machine: Machine, backups: dict[str, Path], handler: Handler, backup: str
) -> None:
    machine.does(together(add("task-001"), request("e-1")))
    one = runner(machine, handler)
    found = one._due_effects.found

    def restored(wanted: Handler, room: int) -> list[Attempt]:
        attempts = found(wanted, room)
        if attempts:
            put_back(machine, backups[backup])
        return attempts

    one._due_effects.found = restored  # type: ignore[method-assign]
    assert list(one.perform(drain=True, limit=None)) == []
    assert os.listdir(os.path.join(machine.views, "effects")) == []
    assert machine.verify().sound


@pytest.mark.parametrize("backup", ["shorter", "longer"])
def test_the_end_of_an_effect_that_a_restore_took_away_is_lost(
    machine: Machine, backups: dict[str, Path], backup: str
) -> None:
    machine.does(together(add("task-001"), request("e-1")))
    go_on = threading.Event()
    one = runner(machine, RUN)
    collected = one._record_ended

    def restored() -> list[Any]:
        if one._attempts and not go_on.is_set():
            go_on.set()
            put_back(machine, backups[backup])
        return collected()

    one._record_ended = restored  # type: ignore[method-assign]
    assert [said.outcome for said in one.perform(drain=True, limit=None)] == ["lost"]
    assert machine.verify().sound
