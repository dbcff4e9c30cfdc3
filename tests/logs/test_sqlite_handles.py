"""Several handles of one process on one log file: none takes the locks of another away."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Unavailable
from moot.logs.sqlite import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# What SQLite does in a process that closes its last connection: nobody else may have the file open then.
LAST_ONE_OUT = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    except OSError:
        sys.exit(1)
"""


def others_may_take_the_wal_away(directory: Path) -> bool:
    done = subprocess.run([sys.executable, "-c", LAST_ONE_OUT, str(directory / "log.db")], check=False, timeout=60)
    return done.returncode == 0


def reopened(log: SqliteLog) -> None:
    """As after a fork, or a trouble that cost the handle its connection."""
    log.database._drop()
    log.head()


ACTS: dict[str, Callable[[Path, SqliteLog], object]] = {
    "another handle": lambda directory, _: SqliteLog(str(directory)).head(),
    "one that only reads": lambda directory, _: SqliteLog(str(directory), reading=True).head(),
    "one that is closed again": lambda directory, _: SqliteLog(str(directory)).close(),
    "making it once more": lambda directory, _: SqliteLog.create(str(directory)),
    "a second one that reopens": lambda _, second: reopened(second),
}


@pytest.mark.parametrize("act", ACTS)
def test_a_handle_keeps_its_lock_whatever_others_of_its_process_do(tmp_path: Path, act: str) -> None:
    SqliteLog.create(str(tmp_path))
    first, second = SqliteLog(str(tmp_path)), SqliteLog(str(tmp_path))
    first.head()
    assert not others_may_take_the_wal_away(tmp_path)
    kept = ACTS[act](tmp_path, second)
    assert not others_may_take_the_wal_away(tmp_path)
    del kept
    second.close()
    assert not others_may_take_the_wal_away(tmp_path)
    first.close()
    assert others_may_take_the_wal_away(tmp_path), "the last one gave it back"


def test_a_file_that_is_closed_is_recognised_anew(tmp_path: Path) -> None:
    SqliteLog.create(str(tmp_path))
    SqliteLog(str(tmp_path)).close()
    os.truncate(tmp_path / "log.db", 50)
    with pytest.raises(Unavailable) as caught:
        SqliteLog(str(tmp_path))
    assert caught.value.code == "foreign_log"
