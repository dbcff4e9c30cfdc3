"""Logs as earlier versions of moot have left them."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

import apsw

from moot.logs.sqlite import file, queries

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = range(1, file.VERSION)
_COLUMNS = {
    "event": 'position, type, v, stream, prev, at, "by", data, cause, thread, pack, commit_id, n',
    "commits": "id, first, last",
    "request": "scope, key, digest, first, last",
    "meta": "key, value",
}


def make(path: str, version: int) -> apsw.Connection:
    """An empty log of this version. The caller closes the connection."""
    connection = apsw.Connection(path)
    connection.pragma("application_id", file.APPLICATION_ID)
    for number, script in queries.migrations():
        if number <= version:
            connection.execute(script)
    connection.pragma("user_version", version)
    return connection


def age(state: str | Path, version: int) -> str:
    """Make the log in a state directory one of an earlier version, with everything that it has. Nobody has it open."""
    path = os.path.join(state, file.NAME)
    with closing(make(f"{path}.old", version)) as old:
        with closing(apsw.Connection(path)) as new:
            rows = {table: new.execute(f"SELECT {names} FROM {table}").fetchall() for table, names in _COLUMNS.items()}
        for table, names in _COLUMNS.items():
            marks = ", ".join("?" * (names.count(",") + 1))
            old.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows[table])
        old.pragma("journal_mode", "wal")
    for end in ("-wal", "-shm"):
        if os.path.exists(path + end):
            os.unlink(path + end)
    os.replace(f"{path}.old", path)
    return path


def version_of(path: str | Path) -> int:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return int(connection.execute("PRAGMA user_version").get)
