"""Measures how soon a file that another program renames into place is in the log, while `moot mirror --watch` runs.

For comparison, a bare callback of `watchfiles` with the same settings is notified of the same kind of rename, in
another directory, alternating. All processes read the same monotonic clock.
"""

from __future__ import annotations

import json
import os
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import workspaces
from common import Rounds, Row, percentile
from following import Other
from mailboxes import FILE, watching

from moot.logs.sqlite import SqliteLog
from moot.mirrors.notifications import LONGEST, STEP

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from workspaces import Stage

_PACE = 0.1  # seconds between two renames: longer than the watcher needs
_WARM_UP = 3
_PATIENCE = 60.0


def measure(stage: Stage) -> list[Row]:
    room = stage.room("noticing")
    repository = workspaces.make(f"{room}/repository", packs=("orchestrator",))
    other = f"{room}/bare"
    os.mkdir(other)
    count = max(stage.size.followed // 2, 2) + _WARM_UP
    rounds, delays = Rounds(), []
    log = SqliteLog(os.path.join(repository, ".git", "moot"))
    try:
        with watching(repository), Other(_listen, other, count) as bare:
            for number in range(count):
                here, there = _absorbed(log, f"{repository}/{FILE}", number), _notified(bare, f"{other}/box.json")
                if number >= _WARM_UP:
                    rounds.add("moot", here)
                    rounds.add("bare", there)
                    delays.append(here * 1e3)
    finally:
        log.close()
    ratio = rounds.ratio("moot", "bare")
    note = (
        f"From the rename of a file with a new entry to the entry in the log, durable, {len(delays)} times, while "
        f"`moot mirror --watch` runs with watchfiles; p99 {percentile(delays, 0.99):.1f} ms. A bare callback of "
        f"watchfiles hears of such a rename after {rounds.median('bare') * 1e3:.1f} ms; {ratio.median:.1f} times as "
        f"long, {ratio}."
    )
    return [Row("notice.log", median(delays), "ms", "<= 50", note)]


def _listen(pipe: Connection[Any, Any], directory: str, count: int) -> None:
    """The comparison. Reports when it was notified of each rename."""
    from watchfiles import watch

    settings: Any = {"step": STEP, "debounce": LONGEST, "recursive": False, "watch_filter": None}
    notified = watch(directory, rust_timeout=20, yield_on_timeout=True, **settings)
    next(notified)  # a timeout: from now on it is watched
    pipe.send("ready")
    while count:
        if any(path.endswith("box.json") for _, path in next(notified)):
            pipe.send(time.monotonic())
            count -= 1


def _absorbed(log: SqliteLog, path: str, number: int) -> float:
    """Append an entry as an agent does. Returns the seconds until it is in the log."""
    with open(path, encoding="utf-8") as file:
        box = json.load(file)
    box["messages"].append(_assignment(number))
    head = log.head()
    start = _renamed(path, json.dumps(box))
    for _ in log.follow(head, timeout=_PATIENCE):
        taken = time.monotonic() - start
        break
    else:
        raise TimeoutError("the mirror does not absorb the file")
    time.sleep(_PACE)
    return taken


def _notified(bare: Other, path: str) -> float:
    start = _renamed(path, "x")
    heard: float = bare.heard()
    time.sleep(_PACE)
    return heard - start


def _renamed(path: str, text: str) -> float:
    """Rename a new file into place. Returns when."""
    draft = f"{path}.draft"
    with open(draft, "w", encoding="utf-8") as file:
        file.write(text)
    start = time.monotonic()
    os.replace(draft, path)
    return start


def _assignment(number: int) -> dict[str, Any]:
    return {
        "type": "task_assignment",
        "taskId": f"task-{number}",
        "platform": "web",
        "title": "Sign-in form",
        "instructions": "Build the sign-in form with its tests.",
        "filesToCreate": [],
        "architecture": "One component.",
        "timestamp": "2026-01-01T12:00:00.000Z",
    }
