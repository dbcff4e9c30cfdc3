"""`verify`: whatever differs between the log and the views is found, and so is a log that somebody broke."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import apsw
import pytest

from moot.core.deciders.held_entry import HoldEntry
from moot.core.errors import Unavailable
from moot.engine.verify import verify
from moot.views.store import VERSION
from tests.engine.harness import (
    ANNA,
    Command,
    Machine,
    ack,
    add,
    claim_files,
    finish,
    join,
    leave,
    move,
    offer,
    release_files,
    send,
)

pytestmark = pytest.mark.in_memory

HELD = HoldEntry(path="to-developer.json", mirror="to-developer", raw="{}", code="bad_message", reason="empty")


@pytest.fixture
def world(machine: Machine) -> Machine:
    """A machine with something in every table."""
    machine.does(
        add("a", review=False),
        add("b", needs=("a",)),
        send("m-1", "Yeats", "@dev", wants="ack"),
        ack("Yeats", "m-1"),
        offer("@dev", "m-1"),
        claim_files("c1", "Yeats#1", "src/"),
        release_files("Yeats#1", "src/"),
        *finish("a"),
        Command("hold", ANNA, lambda work: work.do("entry", "h-1", HELD)),
    )
    return machine


@pytest.mark.promise(2)
def test_what_is_sound_is_counted(world):
    report = world.verify()
    assert report.sound
    assert report.events == world.log.head()
    assert report.streams == len({event.stream for event in world.events()})
    assert report.commits == len({event.commit for event in world.events()})


@pytest.mark.promise(2)
@pytest.mark.parametrize("before", [[], [join("Ada")]])
def test_an_empty_or_small_log_is_sound(tmp_path, before):
    machine = Machine(tmp_path, tmp_path)
    machine.does(*before)
    assert machine.verify().sound
    machine.close()


# The views

CHANGES = {
    "entity": "UPDATE entity SET state = json_set(state, '$.title', 'x') WHERE stream = 'task/b'",
    "task": "UPDATE task SET holder = 'Keats#1' WHERE id = 'b'",
    "edge": "UPDATE edge SET needs = 'c'",
    "message": "UPDATE message SET body = json_set(body, '$.text', 'bye')",
    "delivery": "UPDATE delivery SET ended = 'acked' WHERE mailbox = '@dev'",
    "mailbox": "UPDATE mailbox SET last_read = '2031'",
    "read_mark": "UPDATE read_mark SET value = '2031'",
}
KEYS: dict[str, dict[str, object]] = {
    "entity": {"stream": "agent/ghost"},
    "task": {"id": "z"},
    "edge": {"needs": "z"},
    "message": {"id": "m-z", "position": 999},
    "delivery": {"mailbox": "zoe"},
    "mailbox": {"name": "zoe"},
    "read_mark": {"value": "2031"},
}


def tampered(machine: Machine, sql: str) -> tuple[str, ...]:
    machine.engine.read()
    machine.store.db.execute(sql)
    assert machine.store.db.changes() >= 1
    return machine.verify().problems


@pytest.mark.promise(2)
@pytest.mark.parametrize(("table", "sql"), CHANGES.items(), ids=CHANGES)
def test_a_changed_row_is_found_in_every_table(world, table, sql):
    (problem,) = tampered(world, sql)
    assert problem.startswith(f"{table}: ")


@pytest.mark.promise(2)
@pytest.mark.parametrize("table", KEYS)
def test_a_missing_row_is_found_in_every_table(world, table):
    column = next(iter(KEYS[table]))
    (problem,) = tampered(world, f"DELETE FROM {table} WHERE {column} = (SELECT max({column}) FROM {table})")
    assert problem.startswith(f"{table}: ")


@pytest.mark.promise(2)
@pytest.mark.parametrize("table", KEYS)
def test_a_row_too_many_is_found_in_every_table(world, table):
    world.engine.read()
    names = [column[1] for column in world.store.db.execute(f"PRAGMA table_info({table})")]
    (first, *_) = world.store.all_rows(table)
    row = dict(zip(names, first, strict=True)) | KEYS[table]
    (problem,) = tampered(world, f"INSERT INTO {table} VALUES ({', '.join(map(repr_sql, row.values()))})")
    assert problem.startswith(f"{table}: ")


def repr_sql(value: object) -> str:
    return str(apsw.format_sql_value(value))


def test_a_rebuild_mends_what_verify_found(world):
    assert tampered(world, CHANGES["task"])
    world.engine.rebuild()
    assert world.verify().sound


@pytest.mark.promise(3)
def test_views_that_are_only_behind_are_not_wrong(machines):
    one, other = machines(), machines()
    one.does(join("Yeats"), add("a"))
    one.engine.read()
    other.does(move("claim", "a"))
    assert one.store.cursor() == 2
    assert one.verify().problems == ()
    assert one.store.cursor() == 3


@pytest.mark.promise(3)
def test_what_another_machine_appends_meanwhile_is_not_wrong(machines, monkeypatch):
    one, other = machines(), machines()
    one.does(join("Yeats"), add("a"))
    enter = one.log.exclusive

    def busy():
        other.does(add(f"t{other.log.head()}"))
        return enter()

    monkeypatch.setattr(one.log, "exclusive", busy)
    report = one.verify()
    assert (report.problems, report.events) == ((), 3)


def test_verify_leaves_nothing_behind_however_it_ends(world):
    """The file that it folds into has no name, so nothing is left when it is killed."""
    before = sorted(os.listdir(world.views))
    seen = []
    world.engine.progress = lambda *_: seen.append(sorted(os.listdir(world.views)))
    assert world.verify().sound
    assert seen
    assert all(names == before for names in [*seen, sorted(os.listdir(world.views))])


# The log

BREAKS = {
    "a gap": ("DELETE FROM event WHERE position = 5", "at position 6 follows position 4"),
    "a gap at the start": ("DELETE FROM event WHERE position = 1", "at position 2 follows position 0"),
    "a broken chain": ("UPDATE event SET prev = prev + 1 WHERE position = 8", "at position 8 has prev"),
    "a chain that begins too late": ("UPDATE event SET stream = 'task/z' WHERE position = 3", "has prev 3"),
    "a number out of order": ("UPDATE event SET n = 7 WHERE position = 5", "is number 7 of its commit"),
    "a commit without a beginning": (
        "UPDATE event SET commit_id = 'other' WHERE position = 5",
        "does not begin its commit",
    ),
}


@pytest.fixture
def copied(world: Machine, tmp_path: Path):
    """A copy of the log that somebody changed against its own rules, with the views as they were or without any."""
    made: list[Machine] = []

    def make(sql: str, *, views: bool) -> Machine:
        world.engine.read()
        world.close()
        copy = tmp_path / "copy"
        shutil.copytree(world.directory, copy)
        if not views:
            (copy / f"views-{VERSION}.db").unlink()
        db = apsw.Connection(str(copy / "log.db"))
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        db.execute(sql)
        assert db.changes() >= 1
        for _, script in triggers:
            db.execute(script)
        db.close()
        made.append(Machine(copy, copy))
        return made[-1]

    yield make
    for machine in made:
        machine.close()


@pytest.mark.promise(2)
@pytest.mark.parametrize("views", [True, False], ids=["with views", "without views"])
@pytest.mark.parametrize(("sql", "said"), BREAKS.values(), ids=BREAKS)
@pytest.mark.on_disk
def test_a_broken_log_is_found(copied, sql, said, views):
    report = copied(sql, views=views).verify()
    assert not report.sound
    assert any(said in problem for problem in report.problems), report.problems
    assert all(problem.startswith("log: ") for problem in report.problems)


@pytest.mark.promise(6)
@pytest.mark.parametrize(
    "sql", ["DELETE FROM commits WHERE first = 3", "UPDATE commits SET first = first + 1 WHERE first = 3"]
)
@pytest.mark.on_disk
def test_a_commit_that_would_be_taken_for_a_new_one_is_found(copied, sql):
    report = copied(sql, views=True).verify()
    assert not report.log_sound
    assert any(
        problem.startswith("log: the commit at positions 3 to ") and problem.endswith("cannot be found by its id")
        for problem in report.problems
    )


def test_a_commit_that_spans_pages_is_one(world, monkeypatch):
    monkeypatch.setattr("moot.engine.verify._PAGE", 1)
    assert world.verify().sound


@pytest.mark.promise(2)
@pytest.mark.parametrize("views", [True, False], ids=["with views", "without views"])
@pytest.mark.on_disk
def test_a_changed_event_is_found_by_its_digest(copied, views):
    change = "UPDATE event SET data = json_set(data, '$.title', 'x') WHERE type = 'task:added'"
    problems = copied(change, views=views).verify().problems
    assert problems
    assert all(problem.startswith("log: the data of task:added at position ") for problem in problems)


@pytest.mark.on_disk
def test_a_log_with_a_hole_is_told_and_not_folded(copied):
    """Without the claim there is nothing that its release could end."""
    machine = copied("DELETE FROM event WHERE type = 'file:claimed'", views=False)
    assert any(problem.startswith("log: file:released at position") for problem in machine.verify().problems)
    with pytest.raises(Unavailable) as caught:
        machine.engine.read()
    assert caught.value.code == "views_gap"


@pytest.mark.on_disk
def test_many_problems_are_told_in_part(copied):
    assert len(copied("UPDATE event SET n = n + 1, prev = prev + 1", views=True).verify().problems) == 20


@pytest.mark.promise(2)
def test_a_long_history_is_folded_the_same_way_twice(machine):
    machine.does(*(add(f"t{n}", review=False) for n in range(5)))
    for n in range(5):
        machine.does(*finish(f"t{n}"), move("reopen", f"t{n}", ANNA))
    machine.does(leave("Yeats"), join("Yeats"), leave("Keats", retire=True))
    before = machine.rows()
    assert machine.verify().sound
    machine.engine.rebuild()
    assert machine.rows() == before


def test_a_verification_that_fails_cleans_up(world, monkeypatch):
    before = sorted(os.listdir(world.views))
    with monkeypatch.context() as patch:
        patch.setattr(world.log, "read", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            verify(world.engine, world.views)
    assert sorted(os.listdir(world.views)) == before
    assert world.verify().sound
