"""Locks: one holder at a time, whoever ends or gives up whom, and no name is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Unavailable
from moot.place import escaped, locks

if TYPE_CHECKING:
    from pathlib import Path


def path(state: Path, effect: str) -> str:
    return locks.path_of(str(state), locks.EFFECTS, effect)


def names(state: Path) -> list[str]:
    return sorted(os.listdir(state / "effects"))


def test_one_has_it_and_the_next_one_after_it(tmp_path: Path) -> None:
    one = locks.take(path(tmp_path, "e-1"), "a")
    assert one is not None
    assert locks.take(path(tmp_path, "e-1"), "b") is None
    other = locks.take(path(tmp_path, "e-2"), "b")
    assert other is not None
    one.release()
    other.release()
    assert names(tmp_path) == []
    again = locks.take(path(tmp_path, "e-1"), "b")
    assert again is not None
    again.release()


def test_who_was_given_up_does_not_take_away_the_lock_of_its_successor(tmp_path: Path) -> None:
    silent = locks.take(path(tmp_path, "e-1"), "a")
    next_one = locks.take_over(path(tmp_path, "e-1"), "b", "a")
    assert silent is not None
    assert next_one is not None
    silent.release()
    assert locks.take(path(tmp_path, "e-1"), "c") is None
    next_one.release()
    assert names(tmp_path) == []


def test_of_two_who_give_up_the_same_one_the_second_gets_nothing(tmp_path: Path) -> None:
    silent = locks.take(path(tmp_path, "e-1"), "a")
    first = locks.take_over(path(tmp_path, "e-1"), "b", "a")
    assert silent is not None
    assert first is not None
    assert locks.take_over(path(tmp_path, "e-1"), "c", "a") is None
    assert locks.take(path(tmp_path, "e-1"), "c") is None
    silent.release()
    first.release()


def test_what_a_dead_one_has_left_is_taken_over_with_its_name(tmp_path: Path) -> None:
    dead = locks.take(path(tmp_path, "e-1"), "a-long-name")
    assert dead is not None
    os.close(dead.file)
    heir = locks.take(path(tmp_path, "e-1"), "b")
    assert heir is not None
    assert locks.take_over(path(tmp_path, "e-1"), "c", "a-long-name") is None
    heir.release()


def test_nobody_seizes_between_a_look_and_a_removal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is given up stands before the removal of its name; the other has to wait for its turn."""
    silent = locks.take(path(tmp_path, "e-1"), "a")
    assert silent is not None
    unlink, held = os.unlink, []
    seizing = threading.Thread(target=lambda: held.append(locks.take_over(path(tmp_path, "e-1"), "b", "a")))

    def slowly(path: str) -> None:
        monkeypatch.setattr(os, "unlink", unlink)
        seizing.start()
        seizing.join(0.2)
        assert held == []
        unlink(path)

    monkeypatch.setattr(os, "unlink", slowly)
    silent.release()
    seizing.join(30)
    assert held[0] is not None
    assert locks.take(path(tmp_path, "e-1"), "c") is None
    held[0].release()


def test_a_lock_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        locks.take(path(tmp_path / "nowhere", "e-1"))
    assert caught.value.code == "lock_unwritable"
    assert str(caught.value.details["path"]).endswith("e-1")


def test_a_lock_that_another_holds_for_an_instant_is_waited_for(tmp_path: Path) -> None:
    one = locks.take(path(tmp_path, "e-1"), "a")
    assert one is not None
    ending = threading.Timer(0.1, one.release)
    ending.start()
    next_one = locks.take(path(tmp_path, "e-1"), "b", patience=30)
    assert next_one is not None
    assert locks.note_of(next_one.path) == "b"
    next_one.release()
    ending.join(30)


def test_of_many_that_take_and_release_never_two_have_it(tmp_path: Path) -> None:
    holders: list[str] = []
    wrong: list[str] = []

    def work(name: str) -> None:
        for number in range(60):
            taken = locks.take(path(tmp_path, "e-1"), name)
            if taken is None:
                continue
            holders.append(name)
            wrong.extend(holders[1:])
            holders.remove(name)
            taken.release()
            if number % 7 == 0:
                assert not locks.is_held(path(tmp_path, "e-2"))

    crew = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for one in crew:
        one.start()
    for one in crew:
        one.join(60)
    assert wrong == []
    assert names(tmp_path) == []


def test_shared_locks_show_that_somebody_runs_and_stay_beside_each_other(tmp_path: Path) -> None:
    assert not locks.anybody_runs(str(tmp_path))
    one, other = locks.share_runners(str(tmp_path)), locks.share_runners(str(tmp_path))
    one.release()
    assert locks.anybody_runs(str(tmp_path))
    other.release()
    assert not locks.anybody_runs(str(tmp_path))


def test_a_sweep_removes_old_names_without_a_holder_and_no_others(tmp_path: Path) -> None:
    for name in ("old", "held", "new"):
        (tmp_path / "effects").mkdir(exist_ok=True)
        (tmp_path / "effects" / name).write_text("")
    held = locks.take(path(tmp_path, "held"), "a")
    assert held is not None
    for name in ("old", "held"):
        os.utime(tmp_path / "effects" / name, (0, 0))
    assert locks.sweep(str(tmp_path / "effects"), 1.0) == 1
    assert names(tmp_path) == ["held", "new"]
    held.release()


def test_a_process_is_alive_as_long_as_one_of_its_threads_works(tmp_path: Path) -> None:
    state = str(tmp_path)
    with locks.Driver.of(state) as driver:
        with locks.Driver.of(state) as same:
            assert same is driver
        assert locks.is_alive(state, driver.token)
    assert not locks.is_alive(state, driver.token)
    assert os.listdir(tmp_path / "drivers") == []
    with locks.Driver.of(state) as other:
        assert other.token != driver.token


def test_what_is_left_of_a_command_is_ended_and_nothing_of_it_stays(tmp_path: Path) -> None:
    state = str(tmp_path)
    lock = locks.CommandLock(state, "p-0.run-1")
    assert locks.left_of(state, "p-0.run-2") is None
    body = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(flush=True)\ntime.sleep(600)"
    child = subprocess.Popen(
        [sys.executable, "-c", body], start_new_session=True, pass_fds=(lock.file,), stdout=subprocess.PIPE,
        env=escaped.marked(os.environ, lock.mark),
    )  # fmt: skip
    try:
        assert child.stdout is not None
        child.stdout.readline()
        lock.started(child.pid, escaped.start_of(child.pid))
        for file in (lock.file, lock._note):  # as at the death of this process
            os.close(file)
        assert locks.left_of(state, "p-0.run-1") == child.pid
        assert locks.end_what_is_left(state, "p-0.run-1")
        assert child.wait(30) == -signal.SIGKILL
    finally:
        child.kill()
        child.communicate(timeout=30)
    assert locks.left_of(state, "p-0.run-1") is None
    assert os.listdir(tmp_path / "drivers") == []


def test_a_later_command_has_its_own_lock_beside_a_process_that_escaped(tmp_path: Path) -> None:
    first = locks.CommandLock(str(tmp_path), "orchestrator")
    escapee = os.dup(first.file)
    first.ended()
    assert locks.left_of(str(tmp_path), "orchestrator") is None
    second = locks.CommandLock(str(tmp_path), "orchestrator")
    assert locks.left_of(str(tmp_path), "orchestrator") == 0, "no command was started yet"
    os.close(escapee)
    second.ended()
