"""The shared suite on SQLite, with its queue of writers and without; and what only this engine promises."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack, closing, nullcontext
from tempfile import TemporaryDirectory

import apsw
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from moot.core.errors import Unavailable, Usage
from moot.core.event import Key
from moot.log import Appended, Conflict, Duplicate
from moot.logs.sqlite import SqliteLog, file, queries
from tests.logs.conformance import LogConformance, draft, everything
from tests.logs.engines import SqliteEngine
from tests.logs.machine import LogMachine
from tests.logs.processes import ROOT, Worker
from tests.logs.roles import commit

ANOTHER = 'INSERT INTO event (position, type, v, stream, prev, at, "by", data, commit_id, n)'


class TestSqlite(LogConformance):
    @pytest.fixture
    def engine(self, tmp_path):
        return SqliteEngine(str(tmp_path / "log"))


class TestSqliteWithoutQueue(LogConformance):
    """Writers meet in SQLite alone, so that conflicts really happen."""

    @pytest.fixture
    def engine(self, tmp_path):
        return SqliteEngine(str(tmp_path / "log"), exclusive=False)


class SqliteMachine(LogMachine):
    """On the fastest disk that there is: durability is tested elsewhere."""

    def new_engine(self):
        self.place = TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        return SqliteEngine(os.path.join(self.place.name, "log"))

    def teardown(self):
        super().teardown()
        if hasattr(self, "place"):
            self.place.cleanup()


@pytest.mark.promise(6)
def test_every_history_is_answered_as_by_a_list_in_memory():
    run_state_machine_as_test(SqliteMachine, settings=settings(max_examples=60, stateful_step_count=30))


@pytest.fixture
def engine(tmp_path):
    engine = SqliteEngine(str(tmp_path / "log"))
    engine.create()
    return engine


@pytest.fixture
def log(engine):
    with closing(engine.open()) as log:
        yield log


@pytest.fixture
def raw(engine):
    """The file, as any other program may open it."""
    with closing(apsw.Connection(os.path.join(engine.directory, "log.db"))) as connection:
        yield connection


def test_a_log_is_made_once(tmp_path):
    directory = str(tmp_path / "a" / "log")
    assert SqliteLog.create(directory)
    with closing(SqliteLog(directory)) as log:
        log.append(commit("one"), {}, [draft("a")])
        assert not SqliteLog.create(directory)
        assert log.head() == 1
        assert len(log.workspace) == 32
    assert sorted(os.listdir(directory)) == ["device", "lock", "log.db", "log.db-shm", "log.db-wal"]


def test_two_logs_have_two_names(tmp_path):
    names = set()
    for name in ("one", "two"):
        SqliteLog.create(str(tmp_path / name))
        with closing(SqliteLog(str(tmp_path / name))) as log:
            names.add(log.workspace)
    assert len(names) == 2


def test_a_log_that_is_not_there_is_not_made_by_opening_it(tmp_path):
    with pytest.raises(Unavailable) as refusal:
        SqliteLog(str(tmp_path / "log"))
    assert refusal.value.code == "no_log"
    assert os.listdir(tmp_path) == []


def test_many_may_make_the_same_log_at_once(tmp_path):
    script = "import sys; from moot.logs.sqlite import SqliteLog; sys.exit(SqliteLog.create(sys.argv[1]))"
    command = [sys.executable, "-c", script, str(tmp_path / "log")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    makers = [subprocess.Popen(command, env=environment) for _ in range(6)]
    assert sorted(maker.wait(60) for maker in makers) == [0, 0, 0, 0, 0, 1]
    with closing(SqliteLog(str(tmp_path / "log"))) as log:
        assert log.head() == 0


@pytest.mark.promise(1)
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a turn"])
def test_what_was_acknowledged_is_on_the_disk(log, tmp_path, monkeypatch, inside):
    """Whatever the disk has after its last flush, and no byte more: the event is in there."""
    disk = tmp_path / "disk"

    def flushed(_file):
        shutil.rmtree(disk, ignore_errors=True)
        disk.mkdir()
        for name in ("log.db", "log.db-wal"):
            shutil.copy(os.path.join(log.directory, name), disk)

    monkeypatch.setattr(file, "flush", flushed)
    for n in range(3):
        with log.exclusive() if inside else nullcontext():
            assert isinstance(log.append(commit(f"c{n}"), {}, [draft("s")]), Appended)
        with closing(SqliteLog(str(disk))) as after_power_loss:
            assert after_power_loss.head() == log.head() == n + 1


@pytest.mark.promise(1)
@pytest.mark.skipif(sys.platform == "darwin", reason="there it is a call of another kind")
def test_to_flush_is_to_wait_for_the_disk_itself(log, monkeypatch):
    waited = []
    monkeypatch.setattr(os, "fdatasync", lambda found: waited.append(os.fstat(found).st_ino))
    log.append(commit("one"), {}, [draft("s")])
    assert waited == [os.stat(os.path.join(log.directory, "log.db-wal")).st_ino]


@pytest.mark.promise(1)
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a turn"])
@pytest.mark.parametrize("again", [True, False], ids=["with the events", "as a question"])
def test_whoever_is_told_that_it_was_done_before_can_rely_on_it(log, monkeypatch, inside, again):
    """The one who did it may have been killed between its commit and its flush."""
    key = Key(scope="Ada", name="k", digest="d")
    log.append(commit("one"), {}, [draft("s")], key)
    flushed = []
    monkeypatch.setattr(file, "flush", flushed.append)
    with log.exclusive() if inside else nullcontext():
        assert isinstance(log.append(commit("two"), {}, [draft("s")] if again else [], key), Duplicate)
    assert len(flushed) == 1


def test_others_go_on_while_one_waits_for_the_disk(log, monkeypatch):
    with closing(SqliteLog(log.directory, lock_timeout=5)) as other:
        monkeypatch.setattr(
            file, "flush", lambda _: monkeypatch.undo() or other.append(commit("theirs"), {}, [draft("s")])
        )
        log.append(commit("mine"), {}, [draft("s")])
    assert [event.commit for event in log.read()] == ["mine", "theirs"]


def test_what_is_refused_later_in_the_turn_does_not_spare_the_flush_of_what_was_relied_on(log, monkeypatch):
    log.append(commit("one"), {}, [draft("s")])
    flushed = []
    monkeypatch.setattr(file, "flush", flushed.append)
    with log.exclusive():
        assert isinstance(log.append(commit("one"), {}, [draft("s")]), Duplicate)
        assert isinstance(log.append(commit("two"), {"s": 0}, [draft("s")]), Conflict)
    assert len(flushed) == 1


def test_a_disk_that_does_not_flush_is_said_and_not_acknowledged(log, monkeypatch):
    def broken(_file):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(file, "flush", broken)
    with pytest.raises(Unavailable) as caught:
        log.append(commit("one"), {}, [draft("s")])
    assert caught.value.code == "not_flushed"
    monkeypatch.undo()
    assert isinstance(log.append(commit("one"), {}, [draft("s")]), Duplicate)  # tried again, it turns out to be there


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the call")
def test_who_appends_often_lets_the_disk_begin_early(log, monkeypatch):
    begun = []
    real = file.early_flush()
    monkeypatch.setattr(file, "early_flush", lambda: lambda wal: begun.append(real(wal)))
    for n in range(30):
        with log.exclusive():
            log.head()
            log.append(commit(f"c{n}"), {}, [draft("s")])
    assert begun == [0] * 10  # what the system answers when it is content


def test_the_journal_is_a_write_ahead_log(log):
    with log.database as connection:
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("synchronous") == 1  # around checkpoints: what a commit needs, `flush` does
        assert connection.pragma("auto_vacuum") == 0


def test_the_file_says_what_it_is(raw):
    assert raw.pragma("application_id") == int.from_bytes(b"moot", "big")
    assert raw.pragma("user_version") == file.VERSION


@pytest.mark.promise(2)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET data = '{}'",
        "DELETE FROM event",
        "DELETE FROM event WHERE position = 2",
        "INSERT OR REPLACE INTO event SELECT * FROM event WHERE position = 1",
        f"{ANOTHER} VALUES (9, 't', 1, 's', 0, '', '', '{{}}', 'c', 0)",
        f"{ANOTHER} VALUES (-1, 't', 1, 's', 0, '', '', '{{}}', 'c', 0)",
        f"{ANOTHER} VALUES (3, 't', 'one', 's', 0, '', '', '{{}}', 'c', 0)",
        f"{ANOTHER} VALUES (3, 't', 1, NULL, 0, '', '', '{{}}', 'c', 0)",
        "UPDATE commits SET last = 9",
        "DELETE FROM commits",
        "INSERT OR REPLACE INTO commits VALUES ('one', 7, 7, 'cli', NULL)",
        "UPDATE event SET digest = x'00'",
        "UPDATE commits SET via = 'python'",
        "UPDATE request SET digest = 'x'",
        "DELETE FROM request",
        "INSERT OR REPLACE INTO request VALUES ('Yeats', 'k', 'other', 7, 7)",
    ],
)
def test_no_program_can_change_what_was_appended(log, raw, statement):
    log.append(commit("one"), {}, [draft("a"), draft("b")], Key("Yeats", "k", "d"))
    before = raw.execute("SELECT * FROM event, commits, request").fetchall()
    with pytest.raises(apsw.ConstraintError):
        raw.execute(statement)
    assert raw.execute("SELECT * FROM event, commits, request").fetchall() == before


@pytest.mark.parametrize(
    "statement",
    [
        queries.SQL["head"],
        queries.SQL["version"],
        queries.SQL["commit"],
        queries.SQL["request"],
        queries.SQL["read_all"],
        queries.SQL["read_stream"],
    ],
)
def test_no_question_walks_through_the_whole_log(raw, statement):
    wanted = 3 if "?3" in statement else statement.count("?")
    plan = [row[3] for row in raw.execute("EXPLAIN QUERY PLAN " + statement, [None] * wanted)]
    steps = [step for step in plan if not step.startswith(("SCALAR", "CORRELATED", "SCAN CONSTANT"))]
    assert steps
    assert all(step.startswith("SEARCH ") for step in steps)


def test_waiting_writers_meet_no_conflict_inside_exclusive(engine, log):
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(engine, "count", me=me, times=20)) for me in range(4)]
        for worker in workers:
            worker.hear()
        for worker in workers:
            worker.tell()
        assert [worker.hear() for worker in workers] == [0, 0, 0, 0]
    assert len(everything(log)) == 80


def test_exclusive_inside_exclusive_is_refused_instead_of_waiting_for_oneself(log):
    with log.exclusive():
        with pytest.raises(Usage) as refusal, log.exclusive():
            pass
        assert refusal.value.code == "nested_exclusive"
        assert log.append(commit("one"), {}, [draft("a")]) == Appended(1, 1)
    with log.exclusive():
        pass


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False  # the one that the list was read from
    return True


def test_a_handle_that_is_dropped_leaves_no_file_open_and_takes_no_lock_of_another(engine, log):
    """Not even by closing the file that it flushed: SQLite has its locks on the other two."""
    log.append(commit("one"), {}, [draft("a")])
    journal = os.stat(os.path.join(engine.directory, "log.db-wal"))

    def journals() -> list[int]:
        numbers = [int(number) for number in os.listdir("/dev/fd")]
        return [number for number in numbers if _is_open(number) and os.path.samestat(os.fstat(number), journal)]

    before = journals()
    other = SqliteLog(engine.directory)
    other.append(commit("two"), {}, [draft("a")])
    assert len(journals()) == len(before) + 2
    del other
    assert journals() == before
    # To leave the journal's mode takes all locks there are.
    script = "import apsw, sys; print(apsw.Connection(sys.argv[1]).pragma('journal_mode', 'delete'))"
    command = [sys.executable, "-c", script, os.path.join(engine.directory, "log.db")]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "BusyError" in said.stderr
    assert log.head() == 2


def test_looking_at_the_log_loads_nothing_heavy(engine, log):
    script = (
        "import sys; from moot.logs.sqlite import SqliteLog; log = SqliteLog(sys.argv[1]); log.head(); log.read();"
        "print(*sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", script, engine.directory]
    loaded = subprocess.run(command, env=environment, capture_output=True, check=True, text=True, timeout=60).stdout
    heavy = {
        "typing",
        "dataclasses",
        "re",
        "pathlib",
        "subprocess",
        "socket",
        "logging",
        "hashlib",
        "json",
        "threading",
    }
    assert not heavy & set(loaded.split())
