"""Restoring a file from elsewhere: only a log exactly as moot makes it is taken."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from moot import Workspace
from moot.logs.sqlite import file
from tests.security.lines import moot, workspace

pytestmark = pytest.mark.usefixtures("person")

EVENTS = 6


def lively(place: Path) -> Path:
    workspace(place)
    with Workspace(place) as ws:
        ws.join("Ada")
        ws.join("Bob")
        for number in range(3):
            ws.send("Ada", f"Message {number}", key=f"key-{number}")
        ws.task_add("Write it")
    return place


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A backup with a few events, still honest."""
    place = lively(tmp_path / "source")
    assert moot(place, "backup", str(tmp_path / "copy.db"), "--force")[0] == 0
    return tmp_path / "copy.db"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return workspace(tmp_path / "target")


def log_of(place: Path) -> Path:
    return place / ".moot" / file.NAME


def tamper(path: Path, script: str) -> None:
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
    connection.execute(script)
    connection.close()


def around_triggers(path: Path, script: str) -> None:
    """Change rows; the schema gives nothing away afterwards."""
    with closing(apsw.Connection(str(path))) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        before = connection.total_changes()
        connection.execute(script)
        assert connection.total_changes() > before, script
        for _, trigger in triggers:
            connection.execute(trigger)


DROPS = "DROP TRIGGER event_never_changes; DROP TRIGGER event_never_goes; DROP TRIGGER event_only_at_the_end;"
FREE = DROPS + "DROP TRIGGER commit_never_changes; DROP TRIGGER commit_never_goes; DROP TRIGGER commit_only_once;"
REQUESTS = "DROP TRIGGER request_never_changes; DROP TRIGGER request_never_goes; DROP TRIGGER request_only_once;"

# What is not a log exactly as moot makes it.
FOREIGN = {
    "a trigger that rewrites what comes later": "CREATE TRIGGER evil AFTER INSERT ON event BEGIN "
    "UPDATE event SET data = '{}' WHERE position = new.position; END;",
    "a trigger that never ends": "CREATE TRIGGER bomb AFTER INSERT ON event BEGIN INSERT INTO meta "
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'k' || i, i FROM n; END;",
    "no trigger at all": FREE + REQUESTS,
    "a view beside the tables": "CREATE VIEW more AS WITH RECURSIVE n(i) AS "
    "(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n;",
    "more columns": "ALTER TABLE event ADD COLUMN extra TEXT DEFAULT 'x'; ALTER TABLE meta ADD COLUMN extra TEXT;",
    "a computed column": "ALTER TABLE event ADD COLUMN computed TEXT AS (hex(zeroblob(4000000))) VIRTUAL;",
    "an index that lies": "CREATE INDEX lying ON event (position, n);"
    "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'meta') "
    "WHERE name = 'lying';",
    "more tables": "CREATE TABLE stuff AS SELECT randomblob(10000);",
    "a view in place of the events": FREE + "ALTER TABLE event RENAME TO real;CREATE VIEW event AS SELECT * FROM real;",
    "a view that never ends in place of the events": FREE
    + "DROP TABLE event; CREATE VIEW event AS WITH RECURSIVE n(i) "
    "AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS position FROM n;",
    "a view in place of what it says about itself": "ALTER TABLE meta RENAME TO real;"
    "CREATE VIEW meta AS SELECT * FROM real;",
    "a virtual table in place of the events": FREE
    + "DROP TABLE event; CREATE VIRTUAL TABLE event USING fts5(position);",
    "a table of columns that are computed": FREE + "ALTER TABLE event RENAME TO real;"
    "CREATE TABLE event (position INTEGER PRIMARY KEY, type TEXT, v INT, stream TEXT, prev INT, at TEXT, 'by' TEXT, "
    "data TEXT AS ('{\"redacted\":1}'), cause TEXT, thread TEXT, pack TEXT, commit_id TEXT, n INT, digest BLOB);"
    "INSERT INTO event SELECT position, type, v, stream, prev, at, 'by', cause, thread, pack, commit_id, n, digest "
    "FROM real;",
    "a column too few": FREE + "ALTER TABLE event DROP COLUMN thread;",
    "a newer version": "PRAGMA user_version = 1000;",
    "no version": "PRAGMA user_version = 0;",
    "another program": "PRAGMA application_id = 1;",
}


DEEP = '{"a":' * 5000 + "1" + "}" * 5000


def third(change: str) -> str:
    """The third event is changed."""
    return f"UPDATE event SET {change} WHERE position = 3;"


# What has moot's schema, and rows that moot did not write.
CHANGED = {
    "an event too few": "DELETE FROM event WHERE position = 2;",
    "the last event gone": "DELETE FROM event WHERE position = (SELECT max(position) FROM event);",
    "the last commit gone from both": "DELETE FROM commits WHERE last = (SELECT max(last) FROM commits);",
    "a commit too many": "INSERT INTO commits (id, first, last, hash) VALUES ('x', 1, 1, x'00');",
    "a commit that is longer than its events": "UPDATE commits SET last = 100 WHERE first = 1;",
    "an event at a negative position": "UPDATE event SET position = -position WHERE position = 1;",
    "an event at position 0": "UPDATE event SET position = 0 WHERE position = 1;",
    "an event far away": third("position = 1 << 60"),
    "an event of another author": third("\"by\" = 'person:mallory'"),
    "an event of another time": third("at = '1999-01-01T00:00:00.000Z'"),
    "an event of no time": third("at = 'now'"),
    "an event that says something else": third("data = json_set(data, '$.text', 'Lies')"),
    "an event that says it was redacted": third("data = json_set(data, '$.redacted', 'x')"),
    "an event of which somebody computed the digest anew": third("data = '{}', digest = x'00'"),
    "an event in another stream": "UPDATE event SET stream = 'agent/zed', prev = 0 WHERE position = 1;",
    "an event that follows another": third("prev = 1"),
    "data that is no JSON": third("data = '{'"),
    "data that is no object": third("data = '[]'"),
    "data that is no text": third("data = CAST(x'fffe7b7d' AS TEXT)"),
    "data that is too deep": third(f"data = '{DEEP}'"),
    "data that is huge": third("data = '\"' || hex(zeroblob(40000000)) || '\"'"),
    "no name of a workspace": "DELETE FROM meta;",
    "another name of a workspace": "UPDATE meta SET value = '../../etc' WHERE key = 'workspace';",
    "a request about events that are not there": "INSERT INTO request VALUES ('person:anna', 'k', 'd', 1, 1000);",
    "a request about nothing": "INSERT INTO request VALUES ('person:anna', 'k', 'd', 0, -1);",
}


def refusal_of(trick: str, source: Path, target: Path) -> str:
    """What is wrong with how a changed backup is refused."""
    evil = source.with_name("evil.db")
    shutil.copy(source, evil)
    if trick in FOREIGN:
        tamper(evil, FOREIGN[trick])
    else:
        around_triggers(evil, CHANGED[trick])
    before = sorted(os.listdir(target / ".moot"))
    code, said = moot(target, "restore", str(evil), "--force", "--json")
    if code == 0 or json.loads(said)["error"] not in ("no_backup", "log_version"):
        return f"{trick}: {said}"
    left = sorted(os.listdir(target / ".moot"))
    return f"{trick}: it left {left}" if left != before else ""


def test_what_is_not_exactly_a_log_is_refused_and_changes_nothing(source: Path, target: Path) -> None:
    moot(target, "emit", "cache:warmed")
    before = moot(target, "export")[1]
    assert [wrong for trick in (*FOREIGN, *CHANGED) if (wrong := refusal_of(trick, source, target))] == []
    assert moot(target, "export")[1] == before
    code, said = moot(target, "restore", str(source), "--force")
    assert code == 0, said
    with Workspace(target) as ws:
        assert len(ws.log()) == EVENTS
    assert moot(target, "verify")[0] == 0


def test_a_damaged_row_of_a_backup_is_named(source: Path, target: Path) -> None:
    around_triggers(source, CHANGED["data that is no JSON"])
    said = moot(target, "restore", str(source), "--json")[1]
    assert "position 3" in json.loads(said)["message"]


def link(path: Path, honest: Path) -> None:
    path.symlink_to(honest)


def fifo(path: Path, _honest: Path) -> None:
    os.mkfifo(path)


def folder(path: Path, _honest: Path) -> None:
    path.mkdir()


def nothing(_path: Path, _honest: Path) -> None:
    pass


@pytest.mark.parametrize("make", [link, fifo, folder, nothing])
def test_what_is_no_file_is_refused_and_nobody_waits(
    make: Callable[[Path, Path], None], source: Path, target: Path, tmp_path: Path
) -> None:
    make(tmp_path / "planted", source)
    code, said = moot(target, "restore", str(tmp_path / "planted"))
    assert code != 0
    assert "[no_backup]" in said


def test_a_log_that_is_a_fifo_or_a_link_is_refused_and_nobody_waits(target: Path, source: Path) -> None:
    for make in (fifo, link):
        log_of(target).unlink()
        make(log_of(target), source)
        code, said = moot(target, "board")
        assert code != 0, said


def test_a_backup_that_somebody_has_open_is_read_with_what_it_has_not_written_back(source: Path, target: Path) -> None:
    connection = apsw.Connection(str(source))
    connection.pragma("journal_mode", "wal")
    connection.pragma("wal_autocheckpoint", 0)
    connection.execute("INSERT INTO request VALUES ('person:anna', 'k', 'd', 1, 1)")
    assert os.path.getsize(f"{source}-wal")
    assert moot(target, "restore", str(source))[0] == 0
    found = apsw.Connection(str(log_of(target)), flags=apsw.SQLITE_OPEN_READONLY)
    assert found.execute("SELECT count(*) FROM request WHERE key = 'k'").get == 1
    connection.close()


def test_keys_travel_with_a_backup(source: Path, target: Path) -> None:
    assert moot(target, "restore", str(source))[0] == 0
    with Workspace(target, agent="Bob") as ws:
        ws.send("Ada", "Message 0", key="key-0")
        assert len(ws.log()) == EVENTS


def test_what_was_redacted_is_restored_as_it_is(tmp_path: Path, target: Path) -> None:
    place = lively(tmp_path / "source")
    assert moot(place, "redact", "3")[0] == 0
    assert moot(place, "redact", "4")[0] == 0
    assert moot(place, "backup", str(tmp_path / "copy.db"), "--force")[0] == 0
    code, said = moot(target, "restore", str(tmp_path / "copy.db"))
    assert code == 0, said
    assert "2 events redacted" in moot(target, "verify")[1]
    assert moot(target, "export")[1] == moot(place, "export")[1]
