"""What the log keeps when things break: killed and stopped processes, full and read-only disks, strange files."""

from __future__ import annotations

import _thread
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from contextlib import ExitStack, closing

import apsw
import pytest

from moot.core.errors import Unavailable
from moot.log import Appended, Duplicate
from moot.logs.sqlite import SqliteLog, file
from tests.logs.conformance import check_chain, draft, everything
from tests.logs.engines import SqliteEngine
from tests.logs.processes import PATIENCE, Worker
from tests.logs.roles import commit

KILLS = 160
AT_ONCE = 4


@pytest.fixture
def engine(tmp_path):
    engine = SqliteEngine(str(tmp_path / "log"))
    engine.create()
    return engine


def contents(directory: str) -> dict[str, bytes]:
    """Every file, to see that nothing was touched. The lock only names whoever held it last."""
    found = {}
    for name in sorted(os.listdir(directory)):
        if name not in {"lock", "device"}:
            with open(os.path.join(directory, name), "rb") as opened:
                found[name] = opened.read()
    return found


def check_whole(engine: SqliteEngine, acked: list[list]) -> None:
    """Everything acknowledged is there under its name, the chain holds, and SQLite finds nothing wrong."""
    with closing(engine.open()) as log:
        events = everything(log)
        check_chain(events)
        for name, first, last in acked:
            assert {event.commit for event in events[first - 1 : last]} == {name}
            assert [event.n for event in events[first - 1 : last]] == list(range(last - first + 1))
            assert log.append(commit(name), {}, [draft("again")]) == Duplicate(first, last)
        assert all(event.data.get("of", 1) == _size(events, event) for event in events)
        with log.database as connection:
            assert connection.pragma("integrity_check") == "ok"
            assert connection.execute("SELECT count(*), sum(last - first + 1) FROM commits").get == (
                len({event.commit for event in events}),
                len(events),
            )


def _size(events, event) -> int:
    first = event.position - event.n
    size = 0
    while first - 1 + size < len(events) and events[first - 1 + size].commit == event.commit:
        size += 1
    return size


@pytest.mark.promise(1)
@pytest.mark.parametrize("exclusive", [True, False], ids=["queue", "no queue"])
def test_whatever_was_acknowledged_survives_the_kill_of_its_writer(tmp_path, exclusive):
    """Four writers at once, each killed at some moment; their events are large, so that some die in a checkpoint."""
    engine = SqliteEngine(str(tmp_path / "log"), exclusive=exclusive)
    engine.create()
    chance = random.Random(7)
    acked: list[list] = []
    seen: list[tuple[int, str]] = []
    with closing(engine.open()) as log, ExitStack() as stack:
        done = threading.Event()
        watching = threading.Thread(target=_watch, args=(engine, done, seen))
        watching.start()
        stack.callback(watching.join, PATIENCE)
        stack.callback(done.set)
        writers: list[Worker] = []
        for number in range(KILLS // 2):
            worker = Worker(engine, "write", me=f"w{number}", bulk=60_000, seed=number)
            writers.append(stack.enter_context(worker))
            if len(writers) == AT_ONCE:
                acked += _kill(writers.pop(0), chance)
        while writers:
            acked += _kill(writers.pop(0), chance)
        expected = [(event.position, event.id) for event in everything(log)]
        _wait_until(lambda: len(seen) >= len(expected))
    assert len(acked) > KILLS // 4
    assert seen == expected
    check_whole(engine, acked)


def _kill(worker: Worker, chance: random.Random) -> list[list]:
    """Most while they write, some while they open the log."""
    heard = []
    if chance.random() < 0.8:
        heard.append(worker.hear())
    time.sleep(chance.random() * 0.03)
    worker.process.kill()
    return heard + worker.rest()


def _watch(engine: SqliteEngine, done: threading.Event, seen: list[tuple[int, str]]) -> None:
    """A follower who lives through it all."""
    with closing(engine.open()) as log:
        while not done.is_set():
            for events in log.follow(len(seen), timeout=0.2):
                seen += [(event.position, event.id) for event in events]


def _wait_until(true) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.promise(15)
def test_waiting_in_vain_again_and_again_costs_no_thread_and_no_file_more(engine):
    impatient = SqliteEngine(engine.directory, lock_timeout=0.01)
    with Worker(engine, "hold") as holder, closing(impatient.open()) as log:
        holder.hear()
        files, threads = set(), set()
        for _ in range(20):
            with pytest.raises(Unavailable):
                log.append(commit("mine"), {}, [draft("a")])
            files.add(log.lock._file)
            threads.add(_thread._count())
        assert (len(files), len(threads)) == (1, 1)
        holder.tell()
        assert holder.hear() == "out"
        patient = SqliteEngine(engine.directory)
        log.lock._timeout = 30.0
        assert isinstance(log.append(commit("mine"), {}, [draft("a")]), Appended)
        with closing(patient.open()) as other:  # and it was given back
            assert isinstance(other.append(commit("theirs"), {}, [draft("a")]), Appended)


def test_a_stopped_holder_keeps_others_waiting_no_longer_than_they_want(engine):
    impatient = SqliteEngine(engine.directory, lock_timeout=0.2)
    with Worker(engine, "hold") as holder, closing(impatient.open()) as log:
        pid = holder.hear()
        os.kill(pid, signal.SIGSTOP)
        try:
            for _ in range(3):
                with pytest.raises(Unavailable) as refusal:
                    log.append(commit("mine"), {}, [draft("a")])
                assert refusal.value.code == "locked"
                assert refusal.value.details["pid"] == pid
                assert str(pid) in refusal.value.message
            assert log.read() == []
            assert log.append(commit("mine"), {}, []) == Appended(0, 0)
        finally:
            os.kill(pid, signal.SIGCONT)
        holder.tell()
        assert holder.hear() == "out"
        with closing(engine.open()) as patient:
            assert patient.append(commit("mine"), {}, [draft("a")]) == Appended(2, 2)


def test_whoever_left_the_queue_does_not_block_it(engine):
    """Those who gave up are still in the kernel's queue, and let go when their turn comes."""
    threads = _thread._count()
    impatient = SqliteEngine(engine.directory, lock_timeout=0.05)
    with Worker(engine, "hold") as holder, closing(impatient.open()) as log, closing(engine.open()) as patient:
        holder.hear()
        for _ in range(5):
            with pytest.raises(Unavailable):
                log.append(commit("mine"), {}, [draft("a")])
        holder.tell()
        assert holder.hear() == "out"
        _wait_until(lambda: _thread._count() <= threads + 1)  # the one that reads what the holder says
        assert patient.append(commit("one"), {}, [draft("a")]) == Appended(2, 2)


def test_the_lock_of_a_killed_holder_is_free(engine):
    with Worker(engine, "hold") as holder:
        os.kill(holder.hear(), signal.SIGKILL)
        with closing(engine.open()) as log:
            assert log.append(commit("mine"), {}, [draft("a")]) == Appended(1, 1)


def test_a_transaction_of_another_program_is_waited_for_no_longer_than_one_wants(engine):
    impatient = SqliteEngine(engine.directory, lock_timeout=0.1)
    other = apsw.Connection(os.path.join(engine.directory, "log.db"))
    other.execute("BEGIN IMMEDIATE")
    with closing(other), closing(impatient.open()) as log:
        with pytest.raises(Unavailable) as refusal:
            log.append(commit("one"), {}, [draft("a")])
        assert refusal.value.code == "locked"
        assert log.read() == []
        other.execute("ROLLBACK")
        assert log.append(commit("one"), {}, [draft("a")]) == Appended(1, 1)


def _set_version(engine: SqliteEngine, version: int) -> None:
    with closing(apsw.Connection(os.path.join(engine.directory, "log.db"))) as connection:
        connection.pragma("user_version", version)
        connection.pragma("wal_checkpoint", "truncate")


@pytest.mark.parametrize("version", [0, 1, file.VERSION - 1, file.VERSION + 1])
def test_a_file_of_another_version_is_refused_and_not_touched(engine, version):
    _set_version(engine, version)
    before = contents(engine.directory)["log.db"]
    with pytest.raises(Unavailable) as refusal:
        engine.open()
    assert (refusal.value.code, refusal.value.details["version"]) == ("log_version", version)
    assert contents(engine.directory)["log.db"] == before


def test_a_forked_child_is_refused_and_its_parent_goes_on(engine):
    """SQLite tracks its locks in memory, which a child inherits; the locks stay with the parent."""
    with closing(engine.open()) as log:
        log.append(commit("one"), {}, [draft("a")])
        with log.exclusive():
            log.append(commit("two"), {}, [draft("a")])
            child = os.fork()
            if not child:
                code = 1
                try:
                    log.lock.release()
                    log.append(commit("three"), {}, [draft("a")])
                except Unavailable as error:
                    code = 0 if error.code == "forked" else 2
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            with closing(engine.open()) as other:
                other.handle.patience = 0.01
                with pytest.raises(Unavailable) as refusal:
                    other.append(commit("four"), {}, [draft("a")])
                assert refusal.value.code == "locked"
        assert log.append(commit("three"), {"a": 2}, [draft("a")]) == Appended(3, 3)


def _foreign_database(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("CREATE TABLE other (a)")
    connection.close()


def _cut(path: str, size: int) -> None:
    os.truncate(path, size)


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda path: _cut(path, 0), "damaged_log"),
        (lambda path: _cut(path, 50), "foreign_log"),
        (lambda path: _cut(path, 100), "damaged_log"),
        (lambda path: _cut(path, 4096), "damaged_log"),
        (lambda path: _cut(path, os.path.getsize(path) - 1), "damaged_log"),
        (lambda path: shutil.copy(__file__, path), "foreign_log"),
        (lambda path: (os.unlink(path), _foreign_database(path)), "foreign_log"),
        (lambda path: (os.unlink(path), os.mkdir(path)), "unsafe_file"),
    ],
    ids=["empty", "half a header", "a header", "one page", "a byte short", "text", "another program's", "a folder"],
)
def test_a_file_that_is_not_a_whole_log_is_refused_and_not_touched(engine, spoil, code):
    with closing(engine.open()) as log:
        log.append(commit("one"), {}, [draft("a", text="x" * 20_000)])
    path = os.path.join(engine.directory, "log.db")
    spoil(path)
    before = None if os.path.isdir(path) else contents(engine.directory)
    for attempt in (engine.open, engine.create):
        with pytest.raises(Unavailable) as refusal:
            attempt()
        assert refusal.value.code == code
        assert refusal.value.remedy
    assert before is None or contents(engine.directory) == before


def test_a_damaged_page_is_reported_and_not_touched(engine):
    with closing(engine.open()) as log:
        for number in range(50):
            log.append(commit(f"c{number}"), {}, [draft("a", text="x" * 2000)])
    path = os.path.join(engine.directory, "log.db")
    with open(path, "r+b") as opened:
        opened.seek(4096)
        opened.write(b"\xff" * (os.path.getsize(path) - 4096))
    before = contents(engine.directory)["log.db"]
    with pytest.raises(Unavailable) as refusal, closing(engine.open()) as log:
        everything(log)
    assert refusal.value.code == "damaged_log"
    assert contents(engine.directory)["log.db"] == before


def test_a_write_ahead_file_without_its_log_is_not_replayed_into_a_new_one(engine):
    log = engine.open()
    log.append(commit("one"), {}, [draft("a")])
    saved = contents(engine.directory)
    log.close()
    os.unlink(os.path.join(engine.directory, "log.db"))
    with open(os.path.join(engine.directory, "log.db-wal"), "wb") as opened:
        opened.write(saved["log.db-wal"])
    before = contents(engine.directory)
    with pytest.raises(Unavailable) as refusal:
        engine.create()
    assert refusal.value.code == "damaged_log"
    assert contents(engine.directory) == before


@pytest.mark.promise(1)
def test_a_full_disk_takes_nothing_that_was_acknowledged(engine):
    with closing(engine.open()) as log:
        log.append(commit("before"), {}, [draft("a")])
    with Worker(engine, "fill", room=300_000) as worker:
        said = worker.hear()
    assert said["code"] == "disk_full"
    assert said["acked"]
    assert said["head"] == said["acked"][-1][2]
    check_whole(engine, [["before", 1, 1], *said["acked"]])
    with closing(engine.open()) as log:
        head = log.head()
        assert log.append(commit("after"), {}, [draft("a")]) == Appended(head + 1, head + 1)


@pytest.mark.parametrize("before", ["fresh", "used", "open elsewhere", "copied"])
def test_who_may_not_write_can_still_read(before):
    """Not in `tmp_path`, which other users cannot enter.

    Only a copy of the file alone cannot be read: SQLite needs the two files beside it, and may not make them.
    """
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        engine = SqliteEngine(os.path.join(place, "log"))
        engine.create()
        if before != "fresh":
            log = stack.enter_context(closing(engine.open()))
            log.append(commit("one"), {}, [draft("a")])
            if before != "open elsewhere":
                log.close()
        if before == "copied":
            os.unlink(os.path.join(engine.directory, "log.db-wal"))
            os.unlink(os.path.join(engine.directory, "log.db-shm"))
        os.chmod(place, 0o755)
        for name in os.listdir(engine.directory):
            os.chmod(os.path.join(engine.directory, name), 0o444)
        os.chmod(engine.directory, 0o555)
        stack.callback(os.chmod, engine.directory, 0o755)
        with Worker(engine, "read_as_nobody") as worker:
            readable = [0 if before == "fresh" else 1, {"first": 0, "last": 0}, "read_only"]
            assert worker.hear() == (readable if before != "copied" else ["read_only"] * 3)


def test_a_place_that_cannot_be_written_is_no_place_for_a_log(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable) as refusal:
        SqliteLog.create(str(tmp_path / "file" / "log"))
    assert refusal.value.code == "log_io"


def test_a_failed_append_leaves_the_handle_usable(engine):
    """An error in the middle of the transaction: nothing of it stays, neither events nor locks."""
    with closing(engine.open()) as log, closing(engine.open()) as other:
        log.append(commit("one"), {}, [draft("a")])
        with pytest.raises(apsw.ConstraintError):
            log.append(commit("two"), {}, [draft("a"), draft("a"), draft(None)])  # type: ignore[arg-type]
        assert other.append(commit("three"), {"a": 1}, [draft("a")]) == Appended(2, 2)
        assert log.append(commit("two"), {"a": 2}, [draft("a")]) == Appended(3, 3)
