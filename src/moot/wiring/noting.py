"""Noting a restore: in the new log, which takes over what the old one had noted, and in the user's own store."""

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
    """What the log in this directory has noted; nothing if it cannot be read."""
    try:
        with closing(SqliteLog(state, reading=True)) as log:
            return log.archive.carried()
    except (MootError, apsw.Error, ValueError):
        return []


def note_restore(env: Mapping[str, str], state: str, path: str, before: list[dict[str, Any]]) -> None:
    """The log is the one of the file at `path` now. Whatever fails here, it stays so."""
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
    """The restore was refused, so the log is the one of before."""
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
