"""A runner beside others: files are taken in around its effects, and its log is replaced by a backup."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from moot.core.deciders.effect import RequestEffect
from moot.core.handler import Handler
from moot.engine.presence import Presence
from moot.logs.sqlite import restore
from moot.runs.consent import PinnedHandler, pin
from moot.runs.effects import Runner, RunnerSetup
from moot.views import states
from moot.views.store import Store
from tests.engine.harness import ANNA, Command, Machine, add, together

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from moot.runs.effects import Attempt

RUN = Handler(name="h", on=("task:added",), run=("true",))
MESSAGE = Handler(name="h", on=("task:added",), message={"to": "Yeats", "text": "hello"})


class Ready:
    """One handler, allowed."""

    def __init__(self, handler: Handler, root: str) -> None:
        self.ready = [handler]
        self._root = root

    def granted(self, handler: Handler) -> PinnedHandler:
        return pin(handler, self._root, os.environ)

    def refresh(self) -> Iterator[Any]:
        return iter(())


def request(name: str) -> Command:
    wanted = RequestEffect(handler="h", n=0, on="task:added", stream="task/task-001")
    return Command(f"request {name}", ANNA, lambda work: work.do("effect", name, wanted))


def runner(machine: Machine, handler: Handler, root: str = os.sep) -> Runner:
    setup: Any = RunnerSetup(
        state=machine.views, env=dict(os.environ), by=lambda _: ANNA, handlers=Ready(handler, root),
        deliver=lambda *_: None, shown=lambda _, event: event.full(), alive=lambda: None,
    )  # fmt: skip
    return Runner(machine.engine, Presence(machine.views, machine.engine.clock), setup)


def absorbing(machine: Machine, said: list[str]) -> tuple[Runner, list[str]]:
    """A runner whose files cannot be taken in for these reasons, one after the other, and what it finds each time."""
    seen: list[str] = []

    def absorb() -> frozenset[str]:
        seen.append(states.state(machine.engine.read(), "effect", "e-1")[0].status)
        return frozenset(filter(None, (said.pop(0) if said else "",)))

    one = runner(machine, RUN, str(machine.directory))
    one._setup = one._setup.replace(absorb=absorb)
    return one, seen


def test_files_are_taken_in_before_an_effect_is_taken_and_before_it_ends(machine: Machine) -> None:
    machine.does(together(add("task-001"), request("e-1")))
    one, seen = absorbing(machine, [])
    assert [found.outcome for found in one.perform(drain=True, limit=None)] == ["done"]
    assert seen == ["waiting", "taken"]


def test_an_effect_ends_only_when_a_file_that_it_may_have_torn_is_taken_in(machine: Machine) -> None:
    machine.does(together(add("task-001"), request("e-1")))
    one, seen = absorbing(machine, ["", "torn", "torn"])
    assert [found.outcome for found in one.perform(drain=True, limit=None)] == ["done"]
    assert seen == ["waiting", "taken", "taken", "taken"]


def test_no_effect_waits_for_a_file_that_could_not_be_taken_in_before_it(machine: Machine) -> None:
    machine.does(together(add("task-001"), request("e-1")))
    one, seen = absorbing(machine, ["unreadable"] * 9)
    assert [found.outcome for found in one.perform(drain=True, limit=None)] == ["done"]
    assert seen == ["waiting", "taken"]


def test_an_effect_does_not_wait_for_ever_for_a_torn_file(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moot.runs.effects._PATIENCE", 0.5)
    machine.does(together(add("task-001"), request("e-1")))
    one, seen = absorbing(machine, ["", *(["torn"] * 999)])
    assert [found.outcome for found in one.perform(drain=True, limit=None)] == ["done"]
    assert len(seen) > 2


def put_back(machine: Machine, backup: Path) -> None:
    Store(machine.views).renew(alone=True).close()
    restore.replace(machine.directory, str(backup), lambda *_: None)


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
    found = one._found

    def restored(wanted: Handler, room: int) -> list[Attempt]:
        attempts = found(wanted, room)
        if attempts:
            put_back(machine, backups[backup])
        return attempts

    one._found = restored  # type: ignore[method-assign]
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
