"""Commands that wait for the writer lock: each is decided on what is true when it gets the lock."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from moot.core import addresses
from moot.core.deciders.message import SendMessage
from moot.core.errors import Held, MootError, Refused, Unavailable
from moot.core.event import Commit, Draft, Key
from moot.logs.sqlite import SqliteLog, restore
from moot.logs.sqlite.lock import WriterLock
from moot.views import queries
from tests.engine.harness import NOON, Command, Machine, join, leave

if TYPE_CHECKING:
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work

PATIENCE = 20.0


def letter(to: str, incarnation: int | None = None) -> Command:
    """A note from Yeats to a named agent, as `send` decides it."""

    def act(work: Work) -> None:
        sender = work.actor("Yeats", incarnation)
        names = addresses.resolve(work, (), (to,), sender)
        note = SendMessage(kind="note", sender=sender.principal, to=names, wants="nothing", size=2, limit=9, text="Hi")
        work.do("message", work.new_message(), note)

    return Command(f"letter to {to}", "Yeats", act, incarnation)


class Attempt:
    """A command in a thread of its own, on a handle of its own."""

    def __init__(self, machine: Machine, command: Command, key: str | None = None) -> None:
        self.outcome: Outcome | None = None
        self.refusal: MootError | None = None
        self.acts = 0
        self._machine, self._command, self._key = machine, command, key
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        def act(work: Work) -> None:
            self.acts += 1
            self._command.act(work)

        key = None if self._key is None else lambda principal: Key(principal, self._key or "", "digest")
        try:
            self.outcome = self._machine.engine.commit(self._command.principal, act, key)
        except MootError as error:
            self.refusal = error

    def ended(self) -> Attempt:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return self


@pytest.fixture
def waiting(
    machine: Machine, opened: Callable[[Machine], Machine], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Attempt]:
    """Starts a command, and comes back when it waits for the lock."""
    waits = threading.Semaphore(0)
    real = WriterLock._wait

    def wait(lock: WriterLock, file: int, longest: float) -> None:
        waits.release()
        real(lock, file, longest)

    monkeypatch.setattr(WriterLock, "_wait", wait)

    def start(command: Command, key: str | None = None) -> Attempt:
        attempt = Attempt(opened(machine), command, key)
        assert waits.acquire(timeout=PATIENCE)
        return attempt

    return start


@contextmanager
def turn_of_another(machine: Machine) -> Iterator[SqliteLog]:
    """Another writer holds the lock for as long as this lasts."""
    other = SqliteLog(machine.directory)
    try:
        with other.exclusive():
            yield other
    finally:
        other.close()


def test_a_writer_that_waits_decides_nothing_before_it_has_the_lock(machine, waiting):
    with turn_of_another(machine):
        attempt = waiting(letter("Keats"))
        assert (attempt.acts, attempt.outcome) == (0, None)
        head = machine.log.head()
    outcome = attempt.ended().outcome
    assert attempt.acts == 1
    assert [event.position for event in outcome.events] == [head + 1]
    assert list(outcome.events) == machine.log.read(head)
    assert machine.verify().sound


def test_the_views_are_complete_after_many_have_waited(machine, waiting):
    with turn_of_another(machine):
        attempts = [waiting(letter("Keats")) for _ in range(5)]
    for attempt in attempts:
        attempt.ended()
    assert machine.store.cursor() == machine.log.head()
    assert len(queries.inbox(machine.store, ("keats",), 10)) == 5


def test_what_moved_meanwhile_is_seen_by_the_decision(machine, waiting):
    """Keats retires while somebody waits to send to it: nothing is stored for nobody."""
    with turn_of_another(machine) as other:
        attempt = waiting(letter("Keats"))
        version = max(event.position for event in machine.log.read(0, 100, "agent/keats"))
        retired = Draft(stream="agent/keats", type="agent:left", data={"incarnation": 1, "retired": True})
        other.append(Commit(id="retired", at=NOON, by="Keats#1"), {"agent/keats": version}, [retired])
    attempt.ended()
    assert attempt.acts == 1
    assert isinstance(attempt.refusal, Refused)
    assert attempt.refusal.code == "agent_retired"
    assert not [event for event in machine.log.read(0, 100) if event.type == "message:sent"]


def test_nobody_is_refused_for_what_the_views_did_not_know_before(machine, waiting):
    """Blake joins while somebody waits to send to it; it is known once the lock is held."""
    with turn_of_another(machine) as other:
        attempt = waiting(letter("Blake"))
        joined = Draft(stream="agent/blake", type="agent:joined", data={"name": "Blake", "incarnation": 1})
        other.append(Commit(id="joined", at=NOON, by="Blake#1"), {"agent/blake": 0}, [joined])
    attempt.ended()
    assert attempt.refusal is None
    assert [event.data["to"] for event in attempt.outcome.events] == [["Blake"]]


def test_a_refusal_writes_nothing(machine, waiting):
    with turn_of_another(machine):
        attempt = waiting(letter("Nobody"))
    attempt.ended()
    assert attempt.refusal.code == "unknown_agent"
    assert attempt.acts == 1


def test_a_key_does_it_once_however_many_wait(machine, waiting):
    with turn_of_another(machine):
        attempts = [waiting(letter("Keats"), key="k1") for _ in range(3)]
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


def test_after_unknown_events_nothing_is_decided(machine, opened):
    machine.log.append(Commit(id="new", at=NOON, by="x"), {}, [Draft(stream="task/t", type="task:teleported", data={})])
    machine.engine.read()
    before = machine.log.head()
    with turn_of_another(machine):
        attempt = Attempt(opened(machine), letter("Keats"))
    assert isinstance(attempt.ended().refusal, Unavailable)
    assert attempt.refusal.code == "newer_events"
    assert attempt.acts == 0
    assert machine.log.head() == before


def test_a_log_that_was_replaced_meanwhile_gets_what_was_decided_on_it(machine, waiting, tmp_path):
    """Its streams may have the same versions by chance, and mean something else."""
    backup = str(tmp_path / "backup.db")
    machine.log.archive.backup(backup, lambda _done, _of: None)
    with turn_of_another(machine):
        attempt = waiting(letter("Keats"))
        os.replace(backup, f"{machine.directory}/log.db")
        machine.store.renew()
    attempt.ended()
    assert attempt.acts == 1
    assert attempt.outcome is not None


def test_a_log_that_was_restored_meanwhile_gets_nothing_that_rests_on_what_it_lost(machine, waiting, tmp_path):
    """The file stays the same one, and may end at the same position again: what stands there tells them apart."""
    backup = str(tmp_path / "backup.db")
    machine.log.archive.backup(backup, lambda _done, _of: None)
    machine.does(join("Blake"))
    with turn_of_another(machine) as other:
        attempt = waiting(letter("Blake"))
        machine.store.renew()
        restore.replace(machine.directory, str(backup), lambda _done, _of: None)
        joined = Draft(stream="agent/keats2", type="agent:joined", data={"name": "Keats2", "incarnation": 1})
        other.append(Commit(id="joined", at=NOON, by="Keats2#1"), {"agent/keats2": 0}, [joined])
    attempt.ended()
    assert attempt.refusal is not None
    assert attempt.refusal.code == "unknown_agent"
    assert not [event for event in machine.log.read(0, 100) if event.type == "message:sent"]


def test_a_commit_that_waited_has_the_time_of_its_append(machine, waiting):
    """Times go with positions: by them a moment of the past is found."""
    with turn_of_another(machine) as other:
        attempt = waiting(letter("Keats"))
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


def test_a_refused_command_leaves_the_views_caught_up(machine, opened):
    other = opened(machine)
    with machine.log.exclusive():
        machine.log.append(Commit(id="behind", at=NOON, by="x"), {}, [Draft(stream="topic/a", type="a:b", data={})])
    with pytest.raises(MootError):
        other.run(letter("Nobody"))
    assert machine.store.cursor() == machine.log.head()
