"""Restoring a file from elsewhere: it is read as rows, and nothing that its maker put beside them has any effect."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from moot import Workspace
from moot.logs.sqlite import file
from tests.security.lines import CORPUS, moot, read, workspace

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


def schema(path: Path) -> list[tuple[str, ...]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"))
    finally:
        connection.close()


DROPS = "DROP TRIGGER event_never_changes; DROP TRIGGER event_never_goes; DROP TRIGGER event_only_at_the_end;"
FREE = DROPS + "DROP TRIGGER commit_never_changes; DROP TRIGGER commit_never_goes; DROP TRIGGER commit_only_once;"
REQUESTS = "DROP TRIGGER request_never_changes; DROP TRIGGER request_never_goes; DROP TRIGGER request_only_once;"

DEEP = '{"a":' * 5000 + "1" + "}" * 5000


def third(change: str) -> str:
    """The third event is changed."""
    return f"{FREE}UPDATE event SET {change} WHERE position = 3;"


# What has no effect: the events are taken, the rest is left.
HARMLESS = {
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
}

# What is not a log of moot, or not whole.
REFUSED = {
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
    "an event too few": FREE + "DELETE FROM event WHERE position = 2;",
    "the last event gone": FREE + "DELETE FROM event WHERE position = (SELECT max(position) FROM event);",
    "the last commit gone from both": FREE + "DELETE FROM commits WHERE last = (SELECT max(last) FROM commits);",
    "a commit too many": FREE + "INSERT INTO commits (id, first, last, hash) VALUES ('x', 1, 1, x'00');",
    "a commit that is longer than its events": FREE + "UPDATE commits SET last = 100 WHERE first = 1;",
    "an event at a negative position": FREE + "UPDATE event SET position = -position WHERE position = 1;",
    "an event at position 0": FREE + "UPDATE event SET position = 0 WHERE position = 1;",
    "an event far away": third("position = 1 << 60"),
    "an event of another author": third("\"by\" = 'person:mallory'"),
    "an event of another time": third("at = '1999-01-01T00:00:00.000Z'"),
    "an event of no time": third("at = 'now'"),
    "an event that says something else": third("data = json_set(data, '$.text', 'Lies')"),
    "an event that says it was redacted": third("data = json_set(data, '$.redacted', 'x')"),
    "an event of which somebody computed the digest anew": third("data = '{}', digest = x'00'"),
    "an event in another stream": FREE + "UPDATE event SET stream = 'agent/zed', prev = 0 WHERE position = 1;",
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
    "a newer version": "PRAGMA user_version = 1000;",
    "no version": "PRAGMA user_version = 0;",
    "another program": "PRAGMA application_id = 1;",
}


@pytest.mark.parametrize("trick", HARMLESS)
def test_what_stands_beside_the_rows_has_no_effect(trick: str, source: Path, target: Path) -> None:
    moot(target, "emit", "cache:warmed")
    honest = schema(log_of(target))
    tamper(source, HARMLESS[trick])
    code, said = moot(target, "restore", str(source), "--force")
    assert code == 0, said
    assert schema(log_of(target)) == honest
    with Workspace(target) as ws:
        assert len(ws.log()) == EVENTS
        ws.send("Ada", "One more")
        assert [event.data["text"] for event in ws.log(type="message:sent")][-1] == "One more"
    assert moot(target, "verify")[0] == 0


@pytest.mark.parametrize("trick", REFUSED)
def test_what_is_no_whole_log_is_refused_and_changes_nothing(
    trick: str, source: Path, target: Path, tmp_path: Path
) -> None:
    moot(target, "emit", "cache:warmed")
    shutil.copy(source, tmp_path / "honest.db")
    before = moot(target, "export")[1]
    tamper(source, REFUSED[trick])
    code, said = moot(target, "restore", str(source), "--force", "--json")
    assert code != 0, said
    assert json.loads(said)["error"] in ("no_backup", "newer_log"), said
    assert moot(target, "export")[1] == before
    assert not [name for name in os.listdir(target / ".moot") if name.startswith(("log-", "restoring"))]
    code, said = moot(target, "restore", str(tmp_path / "honest.db"), "--force")
    assert code == 0, said
    assert moot(target, "verify")[0] == 0


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


def test_the_old_log_is_kept_until_the_new_one_was_opened(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.logs.sqlite.archive.restore.opens", lambda *_: False)
    assert moot(target, "restore", str(source))[0] == 0
    assert [name for name in os.listdir(target / ".moot") if name.startswith("log-")]


OLDER = sorted(path.name for path in CORPUS.glob("*.sql"))


@pytest.mark.parametrize("name", OLDER)
def test_a_log_of_an_earlier_version_is_restored_with_all_that_it_has(name: str, target: Path, tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "old.db"))
    connection.execute((CORPUS / name).read_text(encoding="utf-8"))
    connection.close()
    code, said = moot(target, "restore", str(tmp_path / "old.db"))
    assert code == 0, said
    assert moot(target, "verify")[0] == 0
    moot(target, "export", str(tmp_path / "x.jsonl"), "--force")
    expected = read(CORPUS / name.replace(".sql", ".jsonl"))
    assert [line["data"] for line in read(tmp_path / "x.jsonl")] == [line["data"] for line in expected]
