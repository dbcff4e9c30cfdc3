"""Going back: at any position, the views and the log are those of a log that was cut there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.core.errors import MootError, Usage
from moot.core.event import Commit, Draft
from moot.core.integrity.redaction import Redact, blanked
from moot.log import REDACTIONS
from moot.time_travel import Moment, PastLog, engine_at, find
from tests.engine.harness import TABLES, Machine, add, join, move, offer, rows_of, send, together
from tests.engine.histories import commands

if TYPE_CHECKING:
    from moot.engine.unit_of_work import Work

pytestmark = pytest.mark.in_memory


def at(machine: Machine, position: int) -> dict[str, list[Any]]:
    past = engine_at(machine.log, machine.views, Moment(position=position, seconds=None), machine.engine.clock)
    try:
        return rows_of(past.read())
    finally:
        past.store.close()


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
                continue  # a rule refused it, so nothing happened
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


def test_the_head_is_now_and_0_is_empty_and_neither_leaves_a_file(machine: Machine) -> None:
    now, before = machine.rows(), sorted(os.listdir(machine.views))
    assert at(machine, machine.log.head()) == now
    assert at(machine, 0) == {"standing": [(0, "", None)], **{table: [] for table in TABLES}}
    assert sorted(os.listdir(machine.views)) == before


def test_a_position_inside_a_commit_means_its_end(machine: Machine) -> None:
    then = find(machine.log, 6, 0.0)
    assert (then.position, then.said) == (7, True)
    assert (find(machine.log, "#7", 0.0).position, find(machine.log, 7, 0.0).said) == (7, False)


def test_what_is_no_moment_of_this_log_is_refused(machine: Machine) -> None:
    for wrong in ("9", "123456789012345678901234567890", "soon", "", "-1", "2999-01-01", "٣"):
        with pytest.raises(Usage) as refused:
            find(machine.log, wrong, 1e9)
        assert refused.value.remedy, wrong
        assert wrong != "9" or "8" in refused.value.message


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


def test_text_that_is_redacted_later_leaves_the_past_too(machine: Machine) -> None:
    past = engine_at(machine.log, machine.views, Moment(position=5, seconds=None), machine.engine.clock)
    (event,) = machine.log.read(2, 1)
    assert "hello" in str(rows_of(past.read())["message"])

    def redact(work: Work) -> None:
        work.rows[event.position] = blanked(event, ("text",))
        work.do(REDACTIONS, "", Redact(event=event, fields=("text",), reason="secret"), facts=True)

    machine.engine.commit("person:anna", redact)
    assert "hello" not in str(rows_of(past.read())["message"])
    assert past.store.cursor() == 5
    past.store.close()


def test_nothing_can_be_added_to_the_past(machine: Machine) -> None:
    early = PastLog(machine.log, 3)
    with pytest.raises(Usage):
        early.append(Commit(id="x", at="", by=""), {}, [Draft(stream="claims", type="file:claimed", data={})])
    with early.exclusive():
        assert machine.log.head() == 8
    commit = machine.log.read(7, 1)[0].commit
    assert early.append(Commit(id=commit, at="", by=""), {}, ()).first == 0  # type: ignore[union-attr]
    past = engine_at(machine.log, machine.views, Moment(position=3, seconds=None), machine.engine.clock)
    with pytest.raises(MootError):
        past.commit("person:anna", lambda work: work.do("task", "x", add("x")))
    past.store.close()
