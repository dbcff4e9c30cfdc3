"""Going back: at any position, the views and the log are those of a log that was cut there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot import time_travel
from moot.core.errors import MootError, Usage
from moot.core.event import Commit, Draft
from moot.logs.sqlite import SqliteLog
from moot.time_travel import PastLog, find, views_at
from moot.views import snapshots
from moot.views.private_copy import PrivateCopy
from moot.views.snapshots import Snapshots
from moot.views.store import VERSION
from tests.engine.harness import (
    TABLES,
    Machine,
    add,
    join,
    move,
    offer,
    rows_of,
    send,
    together,
)
from tests.engine.histories import commands

pytestmark = pytest.mark.in_memory


def quiet(_doing: str, _done: int, _all: int) -> None:
    return


def at(machine: Machine, position: int) -> dict[str, list[Any]]:
    store = views_at(machine.log, machine.views, position, quiet)
    try:
        return rows_of(store)
    finally:
        store.close()


def cut(machine: Machine, position: int, directory: str) -> Machine:
    """A log that ends there, with views of its own."""
    made = Machine(directory, directory)
    batch: list[Any] = []
    events = machine.log.read(0, position)
    for number, event in enumerate(events):
        batch.append(event)
        if number + 1 == len(events) or events[number + 1].commit != event.commit:
            drafts = [
                Draft(stream=e.stream, type=e.type, data=e.data, v=e.v, cause=e.cause, thread=e.thread, pack=e.pack)
                for e in batch
            ]
            made.log.append(Commit(id=event.commit, at=event.at, by=event.by), {}, drafts)
            batch = []
    return made


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path, tmp_path)
    made.does(join("Yeats"), add("task-001"), send("m-1", "Yeats"), offer("Yeats", "m-1"), move("claim", "task-001"))
    made.does(together(add("task-002"), add("task-003")), move("release", "task-001"))
    yield made
    made.close()


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_the_views_of_any_position_are_those_of_a_log_cut_there(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        machine = Machine(directory, directory)
        for command in [join("Yeats"), *data.draw(st.lists(commands, max_size=25))]:
            try:
                machine.run(command)
            except MootError:
                continue  # a rule said no, and so nothing happened
        head = machine.log.head()
        asked = data.draw(st.lists(st.integers(0, head), min_size=1, max_size=4))
        for wanted in asked:
            position = find(machine.log, wanted, 0.0).position
            assert position >= wanted
            other = cut(machine, position, os.path.join(directory, f"cut-{len(os.listdir(directory))}"))
            assert at(machine, position) == rows_of(other.engine.read())
            early = PastLog(machine.log, position)
            assert early.head() == other.log.head()
            assert early.read(0, 1000) == other.log.read(0, 1000)
            assert early.read(0, 1000, "task/task-001") == other.log.read(0, 1000, "task/task-001")
            assert [e for page in early.follow(0) for e in page] == other.log.read(0, 1000)
            other.close()
        machine.close()


def test_the_head_is_now_and_0_is_empty(machine: Machine) -> None:
    assert at(machine, machine.log.head()) == machine.rows()
    assert at(machine, 0) == {"standing": [(0, "", None)], **{table: [] for table in TABLES}}


def test_a_position_inside_a_commit_means_its_end(machine: Machine) -> None:
    then = find(machine.log, 6, 0.0)
    assert (then.position, then.said) == (7, True)
    assert (find(machine.log, "#7", 0.0).position, find(machine.log, 7, 0.0).said) == (7, False)


@pytest.mark.parametrize("wrong", ["9", "123456789012345678901234567890", "soon", "", "-1", "2999-01-01", "٣"])
def test_what_is_no_moment_of_this_log_is_refused(machine: Machine, wrong: str) -> None:
    with pytest.raises(Usage) as refused:
        find(machine.log, wrong, 1e9)
    assert refused.value.remedy
    if wrong == "9":
        assert "8" in refused.value.message


def test_a_time_is_the_last_event_before_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path, tmp_path)
    for second in range(1, 30):
        draft = Draft(stream="claims", type="file:released", data={"id": "c", "holder": "x", "paths": []})
        machine.log.append(Commit(id=f"c{second}", at=f"2030-01-01T12:00:{second:02}.000Z", by="x"), {}, [draft])
    late = find(machine.log, "2030-01-01T12:00:29Z", 3e9).seconds
    assert late is not None
    for text, position in [
        ("2030-01-01T12:00:07Z", 7),
        ("2030-01-01T12:00:07.5Z", 7),
        ("2030-01-01T13:00:07+01:00", 7),
        ("2030-01-01", 0),
        ("2030-01-02", 29),
        ("20s", 9),
        ("1h", 0),
    ]:
        now = late if text[-1] in "sh" and "T" not in text else 3e9
        assert find(machine.log, text, now).position == position
    machine.close()


@pytest.mark.on_disk
def test_a_second_look_folds_nothing_and_a_near_one_only_the_rest(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded: list[int] = []
    read = SqliteLog.read

    def counted(self: SqliteLog, after: int = 0, limit: int = 500, stream: str | None = None) -> Any:
        found = read(self, after, limit, stream)
        folded.extend([e.position for e in found] if limit > 1 or len(found) != 1 else [])
        return found

    at(machine, 3)
    monkeypatch.setattr(SqliteLog, "read", counted)
    at(machine, 3)
    assert folded == []
    at(machine, 5)
    assert folded == [4, 5]


@pytest.mark.parametrize("harm", ["torn", "empty", "another log", "older version", "one letter"])
def test_a_snapshot_that_is_not_of_this_log_is_made_anew(machine: Machine, tmp_path: Path, harm: str) -> None:
    before = at(machine, 5)
    (kept,) = Path(machine.views, "past").glob("*-5-0-*.db")
    if harm == "torn":
        kept.write_bytes(kept.read_bytes()[:5000])
    elif harm == "empty":
        kept.write_bytes(b"")
    elif harm == "older version":
        kept.rename(kept.with_name(kept.name.replace(f"views-{VERSION}", "views-0")))
    elif harm == "one letter":
        content = kept.read_bytes()
        assert b"Yeats" in content
        kept.write_bytes(content.replace(b"Yeats", b"Keats"))
    else:
        other = Machine(tmp_path / "other", tmp_path / "other")
        other.does(*(add(f"task-{n:03}") for n in range(1, 7)))
        at(other, 5)
        another = next((tmp_path / "other" / "past").glob("*-5-0-*.db"))
        os.replace(another, kept.with_name(another.name))
        kept.unlink(missing_ok=True)
    for _ in range(2):
        try:
            assert at(machine, 5) == before
        except MootError as error:
            assert error.code == "past_unusable"  # noqa: PT017 (damage is told once, and then it is gone)
    assert at(machine, 5) == before


def test_a_snapshot_is_on_the_disk_before_it_has_its_name(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    fsync, replace = os.fsync, os.replace

    def synced(file: int) -> None:
        done.append(os.fstat(file).st_ino)
        fsync(file)

    def named(source: str, target: str) -> None:
        done.append((os.stat(source).st_ino, os.path.basename(target)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", named)
    at(machine, 5)
    (kept,) = Path(machine.views, "past").glob(f"views-{VERSION}-5-0-*.db")
    file = os.stat(kept).st_ino
    assert done == [file, (file, kept.name)]


def test_snapshots_are_few_and_the_ones_used_last_stay(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "_MOST", 3)
    for position in range(8):
        at(machine, position)
        (path,) = Path(machine.views, "past").glob(f"views-{VERSION}-{position}-0-*.db")
        os.utime(path, (position, path.stat().st_mtime - 100 + position))
    left = sorted(position for position, _ in Snapshots(machine.views).at_or_before(100))
    assert left == [5, 6, 7]
    monkeypatch.setattr(snapshots, "_MOST_BYTES", 1)
    at(machine, 0)
    assert [position for position, _ in Snapshots(machine.views).at_or_before(100)] == [0]


def test_a_long_way_leaves_snapshots_behind_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_travel, "_STOP", 2)
    machine.store.close()
    Path(machine.store.pointer).unlink()
    whole = at(machine, 8)
    assert [position for position, _ in Snapshots(machine.views).at_or_before(100)] == [8, 4, 2]
    assert whole == machine.rows()
    assert at(machine, 4) == rows_of(cut(machine, 4, f"{machine.views}/cut").engine.read())


def test_an_interrupted_way_back_leaves_no_draft(machine: Machine) -> None:
    def interrupt(_doing: str, _done: int, _all: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        views_at(machine.log, machine.views, 5, interrupt)
    assert os.listdir(Path(machine.views, "past")) == []


def test_abandoned_drafts_and_cleared_snapshots_are_gone(machine: Machine) -> None:
    at(machine, 5)
    draft = Path(machine.views, "past", "draft-old")
    draft.write_text("")
    os.utime(draft, (0, 0))
    at(machine, 3)
    assert not draft.exists()
    Snapshots(machine.views).clear()
    assert os.listdir(Path(machine.views, "past")) == []


def test_snapshots_from_before_a_tombstone_are_removed(machine: Machine) -> None:
    at(machine, 5)
    tombstone = Draft(stream="redactions", type="text:redacted", data={"position": 3, "fields": ["text"]})
    machine.log.append(Commit(id="t", at="2030-01-01T12:00:00Z", by="x"), {}, [tombstone])
    at(machine, 4)
    (left,) = os.listdir(Path(machine.views, "past"))
    assert left.startswith(f"views-{VERSION}-4-9-")


def test_a_moment_is_made_anew_while_texts_are_taken_out_of_sight(machine: Machine) -> None:
    def redact(*_: object) -> None:
        if machine.log.head() < 11:
            number = machine.log.head()
            tombstone = Draft(stream="redactions", type="text:redacted", data={"position": 3, "fields": ["text"]})
            machine.log.append(Commit(id=f"t{number}", at="2030-01-01T12:00:00Z", by="x"), {}, [tombstone])
            Snapshots(machine.views).clear()

    with closing(views_at(machine.log, machine.views, 5, redact)) as store:
        assert store.cursor() == 5
    (kept,) = os.listdir(Path(machine.views, "past"))
    assert kept.startswith(f"views-{VERSION}-5-11")


def test_a_moment_whose_file_is_removed_while_it_is_made_is_made_anew(machine: Machine) -> None:
    """By one whose tombstone was there before, and who comes to the snapshots only now."""
    times = iter(range(3))
    removed = lambda *_: Snapshots(machine.views).clear() if next(times, None) is not None else None  # noqa: E731
    with closing(views_at(machine.log, machine.views, 5, removed)) as store:
        assert store.cursor() == 5


def test_where_no_file_can_be_made_a_moment_is_folded_without_one(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [at(machine, position) for position in range(9)]
    Snapshots(machine.views).clear()
    monkeypatch.setattr(snapshots, "may_write", lambda _: False)
    monkeypatch.setattr(time_travel, "_STOP", 2)
    assert [at(machine, position) for position in range(9)] == whole
    assert os.listdir(Path(machine.views, "past")) == []
    with closing(views_at(machine.log, machine.views, 3, quiet)) as store, pytest.raises(MootError):
        store.move(4, "x")


def test_nothing_can_be_added_to_the_past(machine: Machine) -> None:
    early = PastLog(machine.log, 3)
    with pytest.raises(Usage):
        early.append(Commit(id="x", at="", by=""), {}, [Draft(stream="claims", type="file:claimed", data={})])
    with early.exclusive():
        assert machine.log.head() == 8
    commit = machine.log.read(7, 1)[0].commit
    assert early.append(Commit(id=commit, at="", by=""), {}, ()).first == 0  # type: ignore[union-attr]
    store = views_at(machine.log, machine.views, 3, quiet)
    with pytest.raises(MootError):
        store.move(4, "x")
    assert isinstance(store, PrivateCopy)
    store.close()
