"""Compares export with a raw dump of the same rows, which reads the table and writes each row as a JSON array."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import by_hand
from common import Row, interleaved

from moot import Workspace
from moot.logs.sqlite import queries

if TYPE_CHECKING:
    from workspaces import Stage

_PAGE = 1_000
_LEAST = 3


def measure(stage: Stage) -> list[Row]:
    events = stage.size.small if stage.size.name == "smoke" else min(stage.size.events, 20_000)
    field = _Field(stage.room("carrying"), stage.populated("carried", events))
    rounds = interleaved(
        {"export": field.export, "dump": field.dump}, stage.size.seconds / 3, min(stage.size.least, _LEAST)
    )
    count, ours, theirs = field.count, rounds.median("export"), rounds.median("dump")
    ratio = rounds.ratio("dump", "export")
    note = (
        f"{count / ours:,.0f} events a second with moot, {count / theirs:,.0f} with a raw dump of the same "
        f"{count:,} rows; {ratio}."
    )
    return [Row("carry.export", ratio.median, "of a raw dump", None, note)]


class _Field:
    """The files, and the two variants. Each returns how long it took."""

    def __init__(self, room: str, repository: str) -> None:
        self._room, self._repository = room, repository
        self._log = f"{repository}/.git/moot/log.db"
        self.count = 0

    def export(self) -> float:
        with Workspace(self._repository) as ws:
            start = time.perf_counter()
            self.count = ws.export(f"{self._room}/export.jsonl", force=True).events
            return time.perf_counter() - start

    def dump(self) -> float:
        db = by_hand.connect(self._log, "full")
        start = time.perf_counter()
        with open(f"{self._room}/dump.jsonl", "w", encoding="utf-8", buffering=1 << 20) as file:
            position: Any = 0
            while rows := db.execute(queries.SQL["read_all"], (position, _PAGE)).fetchall():
                file.writelines(json.dumps(row, default=bytes.hex) + "\n" for row in rows)
                position = rows[-1][0]
            file.flush()
            os.fsync(file.fileno())
        took = time.perf_counter() - start
        db.close()
        return took
