"""Deciding ahead: whoever finds another writing decides meanwhile; only what still holds in its turn is appended."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw
import pytest

from moot.api import addresses
from moot.api.pack import Packs
from moot.core.deciders.message import SendMessage
from moot.core.errors import Held, MootError, Refused, Unavailable
from moot.core.event import Commit, Draft, Key
from moot.engine import ahead
from moot.engine.loop import Engine, Outcome
from moot.logs.sqlite import SqliteLog, restore
from moot.views import look
from tests.engine.harness import NOON, Command, Machine, join, leave

if TYPE_CHECKING:
    from moot.engine.work import Work

PATIENCE = 20.0


def letter(to: str, incarnation: int | None = None) -> Command:
    """A note from Yeats to a named agent, as `send` decides it."""

    def act(work: Work) -> None:
        sender = work.actor("Yeats", incarnation)
        names = addresses.resolve(work, Packs(()), (to,), sender)
        note = SendMessage(kind="note", sender=sender.principal, to=names, wants="nothing", size=2, limit=9, text="Hi")
        work.do_message(work.new_message(), note, None)

    return Command(f"letter to {to}", "Yeats", act, incarnation)


class Attempt:
    """A command in a thread of its own, with `ahead`, on a handle of its own."""

    def __init__(self, machine: Machine, command: Command, key: str | None = None) -> None:
        self.decided = threading.Event()
        self.outcome: Outcome | None = None
        self.refusal: MootError | None = None
        self.acts = 0
        self._machine, self._command, self._key = machine, command, key
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        def act(work: Work) -> None:
            self.acts += 1
            try:
                self._command.act(work)
            finally:
                self.decided.set()

        key = None if self._key is None else lambda principal: Key(principal, self._key or "", "digest")
        try:
            self.outcome = self._machine.engine.commit(self._command.principal, act, key, ahead=True)
        except MootError as error:
            self.refusal = error

    def ended(self) -> Attempt:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return self


@pytest.fixture
def crowd(machine: Machine, opened: Callable[[Machine], Machine]) -> Callable[..., Attempt]:
    """Starts a command that may be decided ahead, and comes back when it was decided (or refused) once."""

    def start(command: Command, key: str | None = None) -> Attempt:
        attempt = Attempt(opened(machine), command, key)
        assert attempt.decided.wait(PATIENCE)
        return attempt

    return start


@contextmanager
def turn_of_another(machine: Machine) -> Iterator[SqliteLog]:
    """Somebody else writes now, for as long as this lasts."""
    other = SqliteLog(machine.directory)
    try:
        with other.exclusive():
            yield other
    finally:
        other.close()


def test_whoever_finds_another_writing_decides_meanwhile_and_appends_in_its_turn(machine, crowd):
    with turn_of_another(machine):
        attempt = crowd(letter("Keats"))
        assert attempt.outcome is None
        head = machine.log.head()
    outcome = attempt.ended().outcome
    assert attempt.acts == 1  # it was not decided anew
    assert [event.position for event in outcome.events] == [head + 1]
    assert list(outcome.events) == machine.log.read(head)
    assert machine.verify().sound


def test_the_last_of_a_crowd_leaves_the_views_complete(machine, crowd):
    with turn_of_another(machine):
        attempts = [crowd(letter("Keats")) for _ in range(5)]
    for attempt in attempts:
        attempt.ended()
    assert machine.store.cursor() == machine.log.head()  # without anybody having asked
    assert len(look.inbox(machine.store, ("keats",), 10)) == 5


def test_one_of_so_many_folds_even_if_others_go_on_writing(machine, crowd, monkeypatch):
    head = machine.log.head()
    monkeypatch.setattr(ahead, "_EVERY", head + 1)  # the next event is the one
    monkeypatch.setattr(machine.log.raw.__class__, "head", lambda _log: head + 100)  # it never becomes quiet
    with turn_of_another(machine):
        attempt = crowd(letter("Keats"))
    attempt.ended()
    monkeypatch.undo()
    assert machine.store.cursor() == head + 1


def test_what_moved_meanwhile_is_decided_anew(machine, crowd):
    """Keats retires while somebody waits to send to it: nothing is stored for nobody."""
    with turn_of_another(machine) as other:
        attempt = crowd(letter("Keats"))
        version = max(event.position for event in machine.log.read(0, 100, "agent/keats"))
        retired = Draft(stream="agent/keats", type="agent:left", data={"incarnation": 1, "retired": True})
        other.append(Commit(id="retired", at=NOON, by="Keats#1"), {"agent/keats": version}, [retired])
    attempt.ended()
    assert attempt.acts == 2
    assert isinstance(attempt.refusal, Refused)
    assert attempt.refusal.code == "agent_retired"
    assert not [event for event in machine.log.read(0, 100) if event.type == "message:sent"]


def test_nobody_is_refused_for_what_the_views_do_not_know_yet(machine, crowd):
    """Blake joins while somebody waits to send to it; outside it is not known, inside it is."""
    with turn_of_another(machine) as other:
        attempt = crowd(letter("Blake"))
        joined = Draft(stream="agent/blake", type="agent:joined", data={"name": "Blake", "incarnation": 1})
        other.append(Commit(id="joined", at=NOON, by="Blake#1"), {"agent/blake": 0}, [joined])
    attempt.ended()
    assert attempt.refusal is None
    assert [event.data["to"] for event in attempt.outcome.events] == [["Blake"]]


def test_a_refusal_comes_from_inside_and_writes_nothing(machine, crowd):
    with turn_of_another(machine):
        attempt = crowd(letter("Nobody"))
    attempt.ended()
    assert attempt.refusal.code == "unknown_agent"
    assert attempt.acts == 2


def test_a_key_does_it_once_whoever_waits(machine, crowd):
    with turn_of_another(machine):
        attempts = [crowd(letter("Keats"), key="k1") for _ in range(3)]
    outcomes = [attempt.ended().outcome for attempt in attempts]
    assert sorted(outcome.repeated for outcome in outcomes) == [False, True, True]
    assert len({outcome.events[0].id for outcome in outcomes}) == 1
    assert len([event for event in machine.log.read(0, 100) if event.type == "message:sent"]) == 1


def test_an_old_incarnation_is_refused_as_ever(machine, opened):
    machine.does(leave("Yeats"), join("Yeats"))
    with turn_of_another(machine):
        attempt = Attempt(opened(machine), letter("Keats", incarnation=1))
    assert isinstance(attempt.ended().refusal, Held)
    assert attempt.refusal.code == "stale_incarnation"


def test_who_met_unknown_events_decides_nothing_ahead_either(machine, opened):
    machine.log.append(Commit(id="new", at=NOON, by="x"), {}, [Draft(stream="task/t", type="task:teleported", data={})])
    machine.engine.read()
    before = machine.log.head()
    with turn_of_another(machine):
        attempt = Attempt(opened(machine), letter("Keats"))
    assert isinstance(attempt.ended().refusal, Unavailable)
    assert attempt.refusal.code == "newer_events"
    assert attempt.acts == 0
    assert machine.log.head() == before


def test_what_was_appended_ahead_is_acknowledged_even_if_the_views_fail(machine, crowd, monkeypatch):
    def full(_engine):
        raise Unavailable("disk_full", "There is no room left.", "Free space.")

    monkeypatch.setattr(Engine, "fold_in", full)
    with turn_of_another(machine):
        attempt = crowd(letter("Keats"))
    assert attempt.ended().outcome.behind
    monkeypatch.undo()
    assert [event.type for event in machine.log.read(machine.store.cursor())] == ["message:sent"]
    assert machine.verify().sound


def test_another_log_put_in_place_meanwhile_gets_nothing_that_was_decided_on_the_old_one(machine, crowd, tmp_path):
    """Its streams may have the same versions by chance, and mean something else."""
    backup = str(tmp_path / "backup.db")
    machine.log.archive.backup(backup, lambda _done, _of: None)
    with turn_of_another(machine):
        attempt = crowd(letter("Keats"))
        os.replace(backup, f"{machine.directory}/log.db")
        machine.store.renew()
    attempt.ended()
    assert attempt.acts == 2
    assert attempt.outcome is not None


def test_a_log_that_was_put_back_meanwhile_gets_nothing_that_rests_on_what_it_lost(machine, crowd, tmp_path):
    """The file stays the same one, and may end at the same position again: what stands there tells them apart."""
    backup = str(tmp_path / "backup.db")
    machine.log.archive.backup(backup, lambda _done, _of: None)
    machine.does(join("Blake"))
    with turn_of_another(machine) as other:
        attempt = crowd(letter("Blake"))
        machine.store.renew()
        restore.replace(machine.directory, apsw.Connection(backup), lambda _done, _of: None)
        joined = Draft(stream="agent/keats2", type="agent:joined", data={"name": "Keats2", "incarnation": 1})
        other.append(Commit(id="joined", at=NOON, by="Keats2#1"), {"agent/keats2": 0}, [joined])
    attempt.ended()
    assert attempt.refusal is not None
    assert attempt.refusal.code == "unknown_agent"
    assert not [event for event in machine.log.read(0, 100) if event.type == "message:sent"]


def test_what_was_decided_earlier_and_appended_later_has_the_later_time(machine, crowd):
    """Times go with positions: by them a moment of the past is found."""
    with turn_of_another(machine) as other:
        attempt = crowd(letter("Keats"))
        begun = machine.engine.clock.wall()
        until_later(machine, begun)
        at = machine.engine.clock.wall()
        other.append(Commit(id="between", at=at, by="x"), {}, [Draft(stream="topic/a", type="a:b", data={})])
    (event,) = attempt.ended().outcome.events
    assert event.at >= at > begun
    assert event == machine.log.read(event.position - 1)[0]


def until_later(machine: Machine, moment: str) -> None:
    """Until the clock shows another millisecond."""
    end = time.monotonic() + PATIENCE
    while machine.engine.clock.wall() == moment:
        assert time.monotonic() < end


def test_whoever_is_refused_leaves_the_views_as_far_as_it_saw(machine, opened):
    other = opened(machine)
    with machine.log.exclusive():
        machine.log.append(Commit(id="behind", at=NOON, by="x"), {}, [Draft(stream="topic/a", type="a:b", data={})])
    with pytest.raises(MootError):
        other.run(letter("Nobody"))
    assert machine.store.cursor() == machine.log.head()


def test_whoever_finds_the_turn_free_and_the_views_behind_keeps_nobody_waiting_for_them(machine, opened, monkeypatch):
    """Others were about a moment ago: the views are folded after the append, and not before it."""
    machine.log.append(Commit(id="behind", at=NOON, by="x"), {}, [Draft(stream="topic/a", type="a:b", data={})])
    cursors = []
    append = SqliteLog.append

    def watched(log, *args):
        cursors.append(machine.store.cursor())
        return append(log, *args)

    monkeypatch.setattr(SqliteLog, "append", watched)
    attempt = Attempt(opened(machine), letter("Keats")).ended()
    assert attempt.acts == 1
    assert cursors == [machine.log.head() - 2]
    assert machine.store.cursor() == machine.log.head()
