"""The log as a whole: commits in bulk, copies, and the one change that an append-only log allows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from moot.core.errors import Unavailable
from moot.core.event import Commit, Draft
from moot.log import Log
from moot.logs.sqlite import SqliteLog
from moot.logs.sqlite.archive import examine

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


def test_an_engine_without_an_archive_says_so() -> None:
    class Bare(Log):
        append = read = head = follow = exclusive = close = None  # type: ignore[assignment]

    with pytest.raises(Unavailable) as caught:
        _ = Bare().archive
    assert caught.value.code == "no_archive"
