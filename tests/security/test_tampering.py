"""Somebody with write access to the log's file changes it, adds to it, cuts it off or replaces it: `verify` says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from moot import MootError, Workspace
from moot.core.integrity.chain import digest_of, hash_of
from moot.logs.sqlite import queries
from tests.surfaces.command import git

Attack = Callable[[apsw.Connection], object]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace in which some things have happened, and a store of its own for the account."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("MOOT_PERSON", "1")
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q")
    Workspace.init(root)
    with Workspace(root, agent="Ada") as ada, Workspace(root, agent="Bob") as bob:
        ada.join("Ada")
        bob.join("Bob")
        for number in range(4):
            ada.send("Bob", f"Message {number}")
        bob.send("Ada", "An answer")
    return root


def path_of(root: Path) -> Path:
    return root / ".git" / "moot" / "log.db"


def tamper(root: Path, attack: Attack) -> None:
    """By hand, around every trigger; they are put back as they were, so that the schema gives nothing away."""
    with closing(apsw.Connection(str(path_of(root)))) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        before = db.total_changes()
        attack(db)
        assert db.total_changes() > before, "the attack did nothing"
        for _, script in triggers:
            db.execute(script)
    for views in path_of(root).parent.glob("views*"):  # so that they are no witness
        views.unlink()


def problems(root: Path) -> list[str]:
    with Workspace(root) as ws:
        try:
            ws.verify()
        except MootError as error:
            return list(error.details["problems"])  # of `not_sound`; nothing else has any
    return []


def test_a_log_that_nobody_touched_is_clean(place: Path) -> None:
    assert problems(place) == []


CHANGES = {
    "its data": "UPDATE event SET data = replace(data, 'Message 2', 'Message 9') WHERE type = 'message:sent'",
    "its author": """UPDATE event SET "by" = 'Bob#1' WHERE position = 4""",
    "its time": "UPDATE event SET at = '2020-01-01T00:00:00.000Z' WHERE position = 4",
    "its type": "UPDATE event SET type = 'message:typed' WHERE position = 4",
    "its thread": "UPDATE event SET thread = 'm-another' WHERE position = 4",
    "its digest and data": "UPDATE event SET digest = x'00', data = '{}' WHERE position = 4",
    "how it came in": "UPDATE commits SET via = 'cli' WHERE first = 4",
    "its hash": "UPDATE commits SET hash = x'00' WHERE first = 4",
    "no hash any more": "UPDATE commits SET hash = x'' WHERE first = 4",
    "no digest any more": "UPDATE event SET digest = x'' WHERE position = 4",
}


@pytest.mark.parametrize("sql", CHANGES.values(), ids=CHANGES)
def test_a_change_of_an_event_or_a_commit_is_found(place: Path, sql: str) -> None:
    tamper(place, lambda db: db.execute(sql))
    found = problems(place)
    assert found
    assert all(problem.startswith("log: ") for problem in found)


def test_a_change_whose_own_hash_was_computed_anew_breaks_the_one_behind_it(place: Path) -> None:
    def attack(db: apsw.Connection) -> None:
        db.execute("UPDATE event SET data = replace(data, 'Message 1', 'Message 9') WHERE position = 4")
        rehash(db, 4, 4)

    tamper(place, attack)
    assert any("position 5 was changed" in problem for problem in problems(place))


def test_two_commits_that_have_changed_places_are_found(place: Path) -> None:
    def attack(db: apsw.Connection) -> None:
        for old, new in ((4, 99), (5, 4), (99, 5)):
            db.execute("UPDATE event SET position = ? WHERE position = ?", (new, old))
            db.execute("UPDATE commits SET first = ?1, last = ?1 WHERE first = ?2", (new, old))

    tamper(place, attack)
    assert any("was changed: its hash" in problem for problem in problems(place))


def test_a_commit_that_was_taken_out_of_the_middle_is_found(place: Path) -> None:
    def attack(db: apsw.Connection) -> None:
        db.execute("DELETE FROM commits WHERE first = 4")
        db.execute("DELETE FROM event WHERE position = 4")
        db.execute("UPDATE event SET position = position - 1 WHERE position > 4")
        db.execute("UPDATE commits SET first = first - 1, last = last - 1 WHERE first > 4")

    tamper(place, attack)
    assert any("was changed: its hash" in problem for problem in problems(place))


def test_a_dropped_trigger_is_found(place: Path) -> None:
    with closing(apsw.Connection(str(path_of(place)))) as db:
        db.execute("DROP TRIGGER event_never_goes")
    assert problems(place) == ["log: foreign_schema: the trigger 'event_never_goes' is missing"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("CREATE TRIGGER spy AFTER INSERT ON event BEGIN SELECT 1; END", "the trigger 'spy' was not made by moot"),
        ("CREATE TABLE spoils (text TEXT)", "the table 'spoils' was not made by moot"),
        ("CREATE VIEW spied AS SELECT * FROM event", "the view 'spied' was not made by moot"),
        ("CREATE INDEX slow ON event (data)", "the index 'slow' was not made by moot"),
    ],
)
def test_what_was_added_to_the_schema_is_found(place: Path, sql: str, said: str) -> None:
    with closing(apsw.Connection(str(path_of(place)))) as db:
        db.execute(sql)
    assert problems(place) == [f"log: foreign_schema: {said}"]


def test_a_trigger_that_was_exchanged_for_a_weaker_one_is_found(place: Path) -> None:
    with closing(apsw.Connection(str(path_of(place)))) as db:
        db.execute("DROP TRIGGER event_never_goes")
        db.execute("CREATE TRIGGER event_never_goes BEFORE DELETE ON event WHEN 0 BEGIN SELECT 1; END")
    assert problems(place) == ["log: foreign_schema: the trigger 'event_never_goes' was changed"]


def test_a_tombstone_outside_of_the_chain_excuses_nothing(place: Path) -> None:
    """Forged at the end of the log by one who knows the tables, for a text that was changed."""

    def attack(db: apsw.Connection) -> None:
        (commit,) = db.execute("SELECT commit_id FROM event WHERE position = 4").fetchall()[0]
        data = {"position": 4, "commit": commit, "n": 0, "digest": "d" * 64, "fields": ["text"]}
        head = db.execute("SELECT max(position) FROM event").get + 1
        row = (head, "event:redacted", 1, "redactions", 0, "2030-01-01T00:00:00.000Z", "person:x", json.dumps(data))
        said = json.dumps(data).encode()
        db.execute(queries.SQL["add_event"], (*row, None, None, None, "forged", 0, digest_of(said)))
        db.execute(queries.SQL["add_commit"], ("forged", head, head, "cli", b"\0" * 32))
        db.execute(
            "UPDATE event SET data = json_set(data, '$.text', '…', '$.redacted', ?) WHERE position = 4", ("d" * 64,)
        )

    tamper(place, attack)
    found = problems(place)
    assert any("the data of message:sent at position 4 was changed" in problem for problem in found), found


def test_what_was_redacted_and_erased_stays_clean(place: Path) -> None:
    with Workspace(place) as ws:
        ws.redact("4")
    with closing(apsw.Connection(str(path_of(place)))) as db:
        assert "Message" not in db.execute("SELECT data FROM event WHERE position = 4").get
    assert problems(place) == []


# What an attacker knows who has read our code


def rehash(db: apsw.Connection, first: int, last: int) -> None:
    """Compute digests and hashes anew, as if it had always been so."""
    for position in range(first, last + 1):
        (data,) = db.execute("SELECT CAST(data AS BLOB) FROM event WHERE position = ?", (position,)).fetchall()[0]
        db.execute("UPDATE event SET digest = ? WHERE position = ?", (digest_of(data), position))
    found = db.execute(
        "SELECT id, first, last, via FROM commits WHERE last BETWEEN ? AND ? ORDER BY first", (first, last)
    )
    for id_, start, end, via in found.fetchall():
        mark = db.execute("SELECT hash FROM commits WHERE last = ?", (start - 1,)).get or b""
        rows = db.execute(
            'SELECT position, type, v, stream, prev, cause, thread, pack, n, lower(hex(digest)), at, "by" FROM event '
            "WHERE position BETWEEN ? AND ? ORDER BY position",
            (start, end),
        ).fetchall()
        links: Any = [row[:10] for row in rows]
        new = hash_of(mark, id_, str(rows[0][10]), str(rows[0][11]), via, links)
        db.execute("UPDATE commits SET hash = ? WHERE id = ?", (new, id_))


# Beside the events


SPANS = ["first = 1000, last = 1000", "first = -5, last = -7", "first = 3, last = 5", "last = last + 1", "first = 0"]


@pytest.mark.parametrize("span", SPANS)
def test_a_key_that_leads_elsewhere_is_found_and_not_restored(place: Path, tmp_path: Path, span: str) -> None:
    with Workspace(place, agent="Ada") as ada:
        ada.send("Bob", "Once", key="k")
    assert problems(place) == []
    tamper(place, lambda db: db.execute(f"UPDATE request SET {span}"))
    assert any("the key 'k' of 'Ada'" in problem for problem in problems(place))
    with closing(apsw.Connection(str(path_of(place)))) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    (tmp_path / "evil.db").write_bytes(path_of(place).read_bytes())
    with pytest.raises(MootError) as caught:
        Workspace.restore(tmp_path / "evil.db", place, force=True)
    assert caught.value.code == "no_backup"


def test_a_second_key_for_one_commit_is_found(place: Path) -> None:
    with Workspace(place, agent="Ada") as ada:
        ada.send("Bob", "Once", key="k")
    tamper(place, lambda db: db.execute("INSERT INTO request SELECT scope, 'k2', digest, first, last FROM request"))
    assert problems(place)
