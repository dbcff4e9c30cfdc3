"""The log as a whole: commits in bulk, copies, and the one change that an append-only log allows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from moot.core.errors import Unavailable
from moot.core.event import Commit, Draft
from moot.log import Appended, Log
from moot.logs.sqlite import SqliteLog, file, queries
from moot.logs.sqlite.archive import examine
from tests.logs import older

NOON = "2030-01-01T12:00:00.000Z"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteLog]:
    SqliteLog.create(str(tmp_path / "log"))
    opened = SqliteLog(str(tmp_path / "log"))
    yield opened
    opened.close()


def commit(name: str, *streams: str, text: str = "x") -> tuple[Commit, list[Draft]]:
    return Commit(id=name, at=NOON, by="me"), [Draft(stream=s, type="thing:said", data={"text": text}) for s in streams]


def quiet(_done: int, _of: int) -> None:
    pass


def test_a_copy_is_one_file_that_can_be_examined(log: SqliteLog, tmp_path: Path) -> None:
    each, drafts = commit("one", "a", "b")
    log.append(each, {}, drafts)
    said: list[tuple[int, int]] = []
    assert log.archive.backup(str(tmp_path / "copy.db"), lambda done, of: said.append((done, of))) == 2
    assert said[-1][0] == said[-1][1] > 0
    assert examine(str(tmp_path / "copy.db")) == 2
    assert [item.name for item in tmp_path.glob("copy*")] == ["copy.db"]
    with (tmp_path / "copy.db").open("r+b") as damaged:
        damaged.seek(4096 + 8)
        damaged.write(b"\xff" * 3000)
    with pytest.raises(Unavailable) as caught:
        examine(str(tmp_path / "copy.db"))
    assert caught.value.code == "damaged_log"


def _of_version(directory: Path, version: int, *prevs: int) -> None:
    """A log as an earlier version made it, with one stream whose events follow `prevs`."""
    SqliteLog.create(str(directory))
    path = directory / file.NAME
    path.unlink()
    connection = older.make(str(path), version)
    connection.execute(queries.SQL["set_meta"], ("workspace", "w"))
    for position, prev in enumerate(prevs, 1):
        row = (
            position,
            "a:b",
            1,
            "a",
            prev,
            "2030-01-01T12:00:00.000Z",
            "x",
            '{"text":"x"}',
            None,
            None,
            None,
            f"c{position}",
        )
        connection.execute(f"INSERT INTO event VALUES ({', '.join('?' * 13)})", (*row, 0))
        connection.execute("INSERT INTO commits VALUES (?, ?, ?)", (f"c{position}", position, position))
    connection.pragma("journal_mode", "wal")
    connection.close()


@pytest.mark.parametrize("version", range(1, file.VERSION))
def test_a_log_of_an_earlier_version_is_migrated_and_keeps_what_it_has(tmp_path: Path, version: int) -> None:
    _of_version(tmp_path, version, 0, 1, 2)
    log = SqliteLog(str(tmp_path))
    assert [event.prev for event in log.read(stream="a")] == [0, 1, 2]
    assert (log.handle.outdated, older.version_of(tmp_path / file.NAME)) == (True, version)
    each, drafts = commit("one", "a")
    assert log.append(each, {"a": 3}, drafts) == Appended(4, 4)
    assert (log.handle.outdated, log.handle.upgraded) == (False, (version, file.VERSION))
    assert all(event.digest for event in log.read())
    log.close()
    connection = apsw.Connection(str(tmp_path / file.NAME))
    assert connection.pragma("user_version") == file.VERSION
    assert connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL").fetchall() == [
        ("event_follows",)
    ]
    with pytest.raises(apsw.ConstraintError):
        connection.execute("UPDATE event SET data = '{}'")
    connection.close()


def test_a_log_in_which_two_events_follow_the_same_one_can_be_read_and_is_not_written(tmp_path: Path) -> None:
    _of_version(tmp_path, 2, 0, 1, 1)
    log = SqliteLog(str(tmp_path))
    assert log.head() == 3
    each, drafts = commit("one", "a")
    with pytest.raises(Unavailable) as caught:
        log.append(each, {}, drafts)
    assert caught.value.code == "damaged_log"
    log.close()
    connection = apsw.Connection(str(tmp_path / file.NAME))
    assert (connection.pragma("user_version"), connection.execute(queries.SQL["head"]).get) == (2, 3)
    connection.close()


def test_an_engine_without_an_archive_says_so() -> None:
    class Bare(Log):
        append = read = head = follow = exclusive = close = None  # type: ignore[assignment]

    with pytest.raises(Unavailable) as caught:
        _ = Bare().archive
    assert caught.value.code == "no_archive"
