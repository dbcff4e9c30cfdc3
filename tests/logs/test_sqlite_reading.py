"""A handle on the log for one who only looks: it reads and follows, and nothing makes it write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Unavailable
from moot.core.event import Commit, Draft
from moot.logs.sqlite import SqliteLog

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
