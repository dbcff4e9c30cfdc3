"""Records a restore in the new log, together with the old log's records, and in the user's own store."""

from __future__ import annotations

import os
import time
from contextlib import closing

import apsw

from moot.core.errors import MootError
from moot.engine import commit_record
from moot.engine.clock import iso
from moot.logs.sqlite import SqliteLog, file
from moot.logs.sqlite.archive import carried

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_PIECE = 1 << 20


def noted(state: str) -> list[dict[str, Any]]:
    """The records of the log in this directory; empty if it cannot be read."""
    try:
        with closing(SqliteLog(state, reading=True)) as log:
            return log.archive.carried()
    except (MootError, apsw.Error, ValueError):
        return []


def note_restore(env: Mapping[str, str], state: str, path: str, before: list[dict[str, Any]]) -> None:
    """Record that the log was restored from `path`. A failure here does not undo the restore."""
    try:
        with closing(SqliteLog(state)) as log:
            said: dict[str, Any] = {"what": "restore", "at": iso(time.time()), "file": os.path.basename(path)}
            said |= {"sha256": _sha256(path), "first": 1, "last": log.head()}
            with closing(file.connect(os.path.join(state, file.NAME), apsw.SQLITE_OPEN_READWRITE, 5.0)) as connection:
                carried.put(connection, said, before=before)
            commit_record.remember(env, state, log.archive, anew=True)
    except (MootError, apsw.Error, OSError):
        return


def remember_again(env: Mapping[str, str], state: str) -> None:
    """Undo the record: the restore was refused, and the old log is in place."""
    try:
        with closing(SqliteLog(state, reading=True)) as log:
            commit_record.remember(env, state, log.archive)
    except MootError:
        return


def _sha256(path: str) -> str:
    from hashlib import sha256

    found = sha256()
    with open(path, "rb") as source:
        while piece := source.read(_PIECE):
            found.update(piece)
    return found.hexdigest()
