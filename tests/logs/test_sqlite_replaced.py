"""Another log is put in place of the one that a handle has open: readers continue on it, and conditions do not hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from moot.log import Appended, Conflict
from moot.logs.sqlite import SqliteLog, restore
from tests.logs.conformance import check_chain, draft, everything, quiet
from tests.logs.roles import commit

Replace = Callable[[SqliteLog], None]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteLog]:
    SqliteLog.create(str(tmp_path / "log"))
    with closing(SqliteLog(str(tmp_path / "log"))) as made:
        yield made


def moved_into_place(other: Path, log: SqliteLog) -> None:
    """As by hand: the file gets the name of the old one."""
    for end in ("-wal", "-shm"):
        os.unlink(os.path.join(log.directory, f"log.db{end}"))
    os.rename(other, os.path.join(log.directory, "log.db"))


def restored(other: Path, log: SqliteLog) -> None:
    """As by `moot restore`: the file stays, and has another content."""
    restore.replace(log.directory, str(other), quiet)


@pytest.fixture(params=[moved_into_place, restored])
def replace(request: pytest.FixtureRequest, tmp_path: Path) -> Replace:
    """Put a log in place that has as many events in the same streams, and other commits."""
    SqliteLog.create(str(tmp_path / "other"))
    with closing(SqliteLog(str(tmp_path / "other"))) as other:
        for name in ("x", "y"):
            other.append(commit(name), {}, [draft("a", log="other")])
        other.archive.backup(str(tmp_path / "backup.db"), quiet)
    return lambda log: request.param(tmp_path / "backup.db", log)


@pytest.mark.promise(7)
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in exclusive"])
def test_conditions_that_were_read_from_the_old_log_are_a_conflict(log, replace, inside):
    log.append(commit("one"), {}, [draft("a")])
    log.append(commit("two"), {}, [draft("a")])
    seen = log.read(stream="a")[-1].position
    replace(log)
    if inside:
        with log.exclusive():
            answer = log.append(commit("three"), {"a": seen}, [draft("a")])
    else:
        answer = log.append(commit("three"), {"a": seen}, [draft("a")])
    assert answer == Conflict("a", 0)
    assert [event.commit for event in log.read()] == ["x", "y"]
    assert log.append(commit("three"), {"a": 2}, [draft("a")]) == Appended(3, 3)
    check_chain(everything(log))


def test_conditions_of_a_handle_that_only_read_are_a_conflict_too(log, replace):
    log.append(commit("one"), {}, [draft("a")])
    log.append(commit("two"), {}, [draft("a")])
    with closing(SqliteLog(log.directory)) as reader:
        seen = reader.read(stream="a")[-1].position
        replace(log)
        assert reader.append(commit("three"), {"a": seen}, [draft("a")]) == Conflict("a", 0)
        assert reader.head() == 2


def test_what_has_no_conditions_is_appended_to_the_log_that_is_there(log, replace):
    log.append(commit("one"), {}, [draft("a")])
    replace(log)
    assert log.append(commit("two"), {}, [draft("a")]) == Appended(3, 3)
    with closing(SqliteLog(log.directory)) as other:
        assert [event.commit for event in other.read()] == ["x", "y", "two"]


def test_readers_and_followers_continue_on_the_new_log(log, replace):
    log.append(commit("one"), {}, [draft("a")])
    following = log.follow(0, timeout=30)
    assert [event.commit for event in next(following)] == ["one"]
    replace(log)
    assert log.head() == 2
    assert [event.commit for event in log.read()] == ["x", "y"]
    assert [event.commit for event in next(following)] == ["y"]
    following.close()
