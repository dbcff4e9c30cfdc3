"""Whether a workspace is well after something happened to its disk: looked at as the next one who comes would."""

from __future__ import annotations

import os
from typing import Any

import apsw

from moot.core.errors import MootError, Unavailable
from moot.wiring.admin import Admin
from tests.faults import replay, scripts
from tests.faults.worker import ENV


def wrong(root: str, script: str, acknowledged: list[Any]) -> str | None:
    """What is wrong; None if it opens and is sound, everything acknowledged is there, and work goes on."""
    try:
        if script == "start":
            Admin(root, ENV).create(())  # who was not told that it is there does it again
        if script == "repair":
            acknowledged = [*_in_the_copy(root), *acknowledged]
            _repair_again(root)
        found = _of_the_log(root, acknowledged) or _of_the_work(root)
        found = found or _of_the_file(os.path.join(scripts.state(root), "log.db"))
        # A backup is whole, be it the old one or the new one.
        return found or (_of_the_file(scripts.copy(root)) if script in ("backup", "restore", "repair") else None)
    except MootError as error:
        return f"{error.code}: {error.message}"


def _repair_again(root: str) -> None:
    """Whoever is told that the log is damaged, or not there, restores it again."""
    try:
        with scripts.session(root):
            return
    except Unavailable as error:
        if error.code not in ("damaged_log", "foreign_log", "no_log"):
            raise
    Admin(root, ENV).restore(scripts.copy(root), force=False)


def _in_the_copy(root: str) -> list[Any]:
    connection = apsw.Connection(scripts.copy(root), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.execute("SELECT position, commit_id FROM event ORDER BY position").fetchall()
    finally:
        connection.close()


def _of_the_file(path: str) -> str | None:
    """SQLite finds nothing wrong with it, and there are events in it."""
    if not os.path.exists(path):
        return f"{path} is gone"
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        said = connection.pragma("integrity_check")
        return None if said == "ok" and connection.execute("SELECT count(*) FROM event").get else f"{path}: {said}"
    finally:
        connection.close()


def _of_the_log(root: str, acknowledged: list[Any]) -> str | None:
    with scripts.session(root) as here:
        events = here.engine.log.read(limit=10_000)
        found = [(event.position, event.commit) for event in events]
        lost = [said for said in acknowledged if tuple(said) not in found]
        if lost:
            return f"acknowledged and lost: {lost} (the log ends at {len(events)})"
        return "; ".join(replay.broken_order(events)) or None


def _of_the_work(root: str) -> str | None:
    with scripts.session(root) as here:
        joined = here.run("join", {"name": None}).result
        sent = here.run("send", {"to": [joined.name], "text": "On we go."}).result.id
        task = here.run("task add", {"title": "Another"}).result.id
    with scripts.session(root, joined.name, joined.incarnation) as here:
        here.run("task claim", {"task": task})
        here.run("claim", {"paths": [f"{task}.py"]})
        shown = {letter.id for letter in here.run("inbox", {}).result.new}
        here.run("verify", {})  # raises if the log or the views are not sound
    return None if sent in shown else f"{sent} was sent and is not shown"
