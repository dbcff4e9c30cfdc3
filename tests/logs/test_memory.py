"""The log in memory keeps the whole contract, and answers as a log in SQLite does."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from moot.core.errors import Unavailable, Usage
from moot.core.event import Key
from moot.log import Appended
from moot.logs.sqlite import SqliteLog
from tests.logs.conformance import LogConformance, draft
from tests.logs.engines import MemoryEngine
from tests.logs.machine import LogMachine
from tests.logs.roles import commit


class TestMemory(LogConformance):
    @pytest.fixture
    def engine(self):
        return MemoryEngine()


class TestMemoryWithoutLock(LogConformance):
    """Nobody is kept out, so that conflicts really happen."""

    @pytest.fixture
    def engine(self):
        return MemoryEngine(exclusive=False)


class MemoryMachine(LogMachine):
    def new_engine(self):
        return MemoryEngine()


@pytest.mark.promise(6)
def test_every_history_is_answered_as_by_a_list():
    run_state_machine_as_test(MemoryMachine, settings=settings(max_examples=60, stateful_step_count=30))


def test_it_has_the_same_digests_as_a_file(tmp_path):
    memory = MemoryEngine().open()
    SqliteLog.create(str(tmp_path))
    with closing(SqliteLog(str(tmp_path))) as log:
        for each in (memory, log):
            each.append(commit("one"), {}, [draft("a", text="ü\ud800"), draft("b")], Key("Yeats", "k", "d"))
            each.append(commit("two"), {"a": 1}, [draft("a", n=1)])
        assert log.read() == memory.read()


def test_a_reader_cannot_change_what_is_in_it():
    log = MemoryEngine().open()
    said = {"list": [1]}
    log.append(commit("one"), {}, [draft("a", **said)])
    said["list"].append(2)
    log.read()[0].data["list"].append(3)
    assert log.read()[0].data == {"list": [1]}


def test_a_writer_waits_for_another_as_long_as_it_wants():
    engine = MemoryEngine()
    log, other = engine.open(), engine.open()
    other.handle.patience = 0.01
    with log.exclusive():
        with pytest.raises(Unavailable) as refusal:
            other.append(commit("one"), {}, [draft("a")])
        with pytest.raises(Usage), log.exclusive():
            pass
        other.handle.patience = None
        thread = threading.Thread(target=other.append, args=(commit("two"), {"a": 1}, [draft("a")]))
        thread.start()
        assert log.append(commit("one"), {"a": 0}, [draft("a")]) == Appended(1, 1)
    thread.join(20)
    assert (refusal.value.code, log.head()) == ("locked", 2)
