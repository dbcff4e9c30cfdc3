"""A handle on the log for one who only looks: it reads and follows, and nothing makes it write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from moot.core.errors import Unavailable
from moot.core.event import Commit, Draft
from moot.logs.sqlite import SqliteLog, file
from tests.logs import older

if TYPE_CHECKING:
    from pathlib import Path


def append(log: SqliteLog, name: str) -> None:
    log.append(Commit(id=name, at="2031-05-08T09:30:00.000Z", by="moot"), {}, (Draft(f"test/{name}", "test:done", {}),))


def test_it_sees_what_others_append_and_refuses_to_append(tmp_path: Path) -> None:
    SqliteLog.create(str(tmp_path))
    writer, reader = SqliteLog(str(tmp_path)), SqliteLog(str(tmp_path), reading=True)
    append(writer, "a")
    assert [event.commit for event in reader.read()] == ["a"]
    append(writer, "b")
    assert [event.commit for events in reader.follow(1, timeout=0) for event in events] == ["b"]
    with pytest.raises(Unavailable) as caught:
        append(reader, "c")
    assert caught.value.code == "read_only"
    assert reader.head() == 2
    reader.close()
    writer.close()


def test_the_last_one_out_writes_nothing_back(tmp_path: Path) -> None:
    SqliteLog.create(str(tmp_path))
    writer, reader = SqliteLog(str(tmp_path)), SqliteLog(str(tmp_path), reading=True)
    append(writer, "a")
    reader.head()
    writer.close()  # somebody is still there, so that what is due stays due
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("-shm")}
    reader.close()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("-shm")} == before


@pytest.mark.parametrize("version", older.VERSIONS)
def test_a_log_of_an_older_version_is_read_as_it_is(tmp_path: Path, version: int) -> None:
    SqliteLog.create(str(tmp_path))
    writer = SqliteLog(str(tmp_path))
    append(writer, "a")
    append(writer, "b")
    writer.close()
    older.age(tmp_path, version)
    before = (tmp_path / "log.db").read_bytes()
    reader = SqliteLog(str(tmp_path), reading=True)
    assert [(event.commit, event.via, event.digest) for event in reader.read()] == [
        ("a", None, None),
        ("b", None, None),
    ]
    assert [event.commit for event in reader.read(stream="test/b")] == ["b"]
    assert [event.commit for events in reader.follow(1, timeout=0) for event in events] == ["b"]
    assert (reader.head(), reader.handle.outdated, reader.workspace) == (2, True, writer_id(tmp_path))
    with pytest.raises(Unavailable) as caught:
        append(reader, "c")
    assert caught.value.code == "read_only"
    reader.close()
    assert (tmp_path / "log.db").read_bytes() == before


@pytest.mark.parametrize("version", older.VERSIONS)
def test_a_handle_that_may_write_leaves_the_version_alone_while_it_is_told_to_look(
    tmp_path: Path, version: int
) -> None:
    SqliteLog.create(str(tmp_path))
    older.age(tmp_path, version)
    before = (tmp_path / "log.db").read_bytes()
    log = SqliteLog(str(tmp_path))
    log.handle.kept = True
    with log.exclusive():
        assert log.head() == 0
        with pytest.raises(Unavailable) as caught:
            append(log, "a")
    assert (caught.value.code, log.handle.upgraded) == ("older_log", None)
    assert (tmp_path / "log.db").read_bytes() == before
    log.handle.kept = False
    append(log, "a")
    assert log.handle.upgraded == (version, file.VERSION)
    log.close()


def test_one_who_reads_goes_on_when_another_upgrades_the_log(tmp_path: Path) -> None:
    SqliteLog.create(str(tmp_path))
    older.age(tmp_path, 3)
    reader, writer = SqliteLog(str(tmp_path), reading=True), SqliteLog(str(tmp_path))
    assert reader.read() == []
    append(writer, "a")
    (event,) = (event for events in reader.follow(0, timeout=0) for event in events)
    assert (event.commit, bool(event.digest), reader.handle.outdated) == ("a", True, False)
    reader.close()
    writer.close()


def test_a_log_without_a_version_is_damaged(tmp_path: Path) -> None:
    SqliteLog.create(str(tmp_path))
    db = apsw.Connection(str(tmp_path / "log.db"))
    db.pragma("user_version", 0)
    db.close()
    with pytest.raises(Unavailable) as caught:
        SqliteLog(str(tmp_path), reading=True)
    assert caught.value.code == "damaged_log"


def writer_id(directory: Path) -> str:
    log = SqliteLog(str(directory))
    try:
        return log.workspace
    finally:
        log.close()
