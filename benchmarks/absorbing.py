"""A file with many new entries is taken in: how many commits, and how long beside a bare insert of the same texts.

Two forms: the events of the gsd pack (`feed`), and a mailbox of the orchestrator pack (`entries`).
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import apsw
import mailboxes
import raw_emitters
import workspaces
from common import Row

from moot import Workspace

if TYPE_CHECKING:
    from workspaces import Stage

_STARTED = "2026-01-01T00:00:00Z"


def measure(stage: Stage) -> list[Row]:
    count = stage.size.small
    events = [
        {
            "type": "task:started",
            "agent": "a",
            "plan": "01-01",
            "task": n,
            "taskName": f"Task {n}",
            "timestamp": _STARTED,
        }
        for n in range(1, count + 1)
    ]
    messages = [
        {
            "type": "task_assignment",
            "taskId": f"task-{n:04d}",
            "platform": "web",
            "title": f"Task {n}",
            "instructions": "As the plan says.",
            "filesToCreate": [f"src/{n}.ts"],
            "architecture": "MVC",
            "timestamp": _STARTED,
        }
        for n in range(1, count + 1)
    ]
    return [
        *_rows(stage, "feed", "gsd", raw_emitters.FILE, "events", events, "feed:posted"),
        *_rows(stage, "entries", "orchestrator", mailboxes.FILE, "messages", messages, "message:sent"),
    ]


def _rows(
    stage: Stage, form: str, pack: str, file: str, key: str, entries: list[dict[str, Any]], stored: str
) -> list[Row]:
    room, count = stage.room(f"absorb-{form}"), len(entries)
    root = workspaces.make(f"{room}/moot", packs=(pack,))
    with Workspace(root, person=True) as ws:
        ws.board()
        start = max((event.position for event in ws.log(after=0, limit=1_000_000)), default=0)
        _append(os.path.join(root, file), key, entries)
        took = _timed_board(ws)
        found = [event for event in ws.log(after=start, limit=1_000_000) if event.type == stored]
    if len(found) < count:
        raise RuntimeError(f"only {len(found)} of {count} entries of {file} were taken in")
    raw = _raw_insert(f"{room}/raw.db", entries)
    about = f"{count} starts of tasks in events.json" if form == "feed" else f"{count} assignments in a mailbox"
    return [
        Row(f"absorb.{form}.commits", len({event.commit for event in found}), "commits", "== 1", f"{about} are new."),
        Row(f"absorb.{form}.per_second", count / took, "entries/s", None, f"The same, in {took:.2f} s."),
        Row(
            f"absorb.{form}.against_insert",
            took / raw,
            "x",
            None,
            f"The same, against one insert for each entry into a bare table, in one transaction: {count / raw:.0f} "
            "entries/s.",
        ),
    ]


def _append(path: str, key: str, entries: list[dict[str, Any]]) -> None:
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    content[key] += entries
    with open(f"{path}.draft", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
    os.rename(f"{path}.draft", path)


def _timed_board(ws: Workspace) -> float:
    start = time.perf_counter()
    ws.board()
    return time.perf_counter() - start


def _raw_insert(path: str, entries: list[dict[str, Any]]) -> float:
    connection = apsw.Connection(path)
    for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE entry (text TEXT)"):
        list(connection.execute(statement))
    start = time.perf_counter()
    with connection:
        connection.executemany("INSERT INTO entry VALUES (?)", [(json.dumps(entry),) for entry in entries])
    took = time.perf_counter() - start
    connection.close()
    return took
