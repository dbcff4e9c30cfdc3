"""Compares export and import with a raw dump and a raw insert of the same rows.

The raw dump reads the table and writes each row as a JSON array. The raw insert reads those lines and inserts them into
the same tables, with the same indexes and triggers, and with as many rows per transaction as moot.
"""

from __future__ import annotations

import json
import os
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import by_hand
import workspaces
from common import Row, interleaved

from moot import Workspace
from moot.core.identity import decide
from moot.engine.blobs import Blobs
from moot.logs.sqlite import queries
from moot.transfer.blob_lines import BlobImport
from moot.transfer.importing import Import
from moot.transfer.redaction_proof import RedactionProof
from moot.views.trial import Trial
from moot.wiring import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from common import Spread
    from workspaces import Stage

_BATCH = 2_000
_PAGE = 1_000
_LEAST = 3


def measure(stage: Stage) -> list[Row]:
    events = stage.size.small if stage.size.name == "smoke" else min(stage.size.events, 20_000)
    room = stage.room("carrying")
    repository = stage.populated("carried", events)
    with Workspace(repository) as ws:
        count = ws.export(f"{room}/whole.jsonl", force=True).events
    _single(f"{room}/whole.jsonl", f"{room}/events.jsonl")
    field = _Field(room, repository)
    variants: dict[str, Callable[[], float]] = {
        "export": field.export,
        "dump": field.dump,
        "import": field.take,
        "insert": field.insert,
    }
    rounds = interleaved(variants, stage.size.seconds / 3, min(stage.size.least, _LEAST))
    out, back = rounds.ratio("dump", "export"), rounds.ratio("insert", "import")
    return [
        _row("carry.export", count, rounds.median("export"), rounds.median("dump"), out, "dump"),
        _row("carry.import", count, rounds.median("import"), rounds.median("insert"), back, "insert"),
    ]


def _row(name: str, count: int, ours: float, theirs: float, ratio: Spread, raw: str) -> Row:
    note = (
        f"{count / ours:,.0f} events a second with moot, {count / theirs:,.0f} with a raw {raw} of the same "
        f"{count:,} rows; {ratio}."
    )
    if raw == "insert":
        note += " moot first checks every line and replays it as a test."
    return Row(name, ratio.median, f"of a raw {raw}", None, note)


def _single(source: str, target: str) -> None:
    """Write the same events, but each in its own commit, as in practice. They were created in large commits."""
    with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as file:
        for line in lines:
            found: dict[str, Any] = json.loads(line)
            commit = f"{found['mootcommit']}-{found['mootn']}"
            found |= {"mootcommit": commit, "mootn": 0, "mootof": 1, "id": f"{commit}.0"}
            file.write(json.dumps(found, separators=(",", ":")) + "\n")


class _Field:
    """The files, and the four variants. Each returns how long it took."""

    def __init__(self, room: str, repository: str) -> None:
        self._room, self._repository = room, repository
        self._log = f"{repository}/.git/moot/log.db"
        self._number = 0
        self.dump()

    def export(self) -> float:
        with Workspace(self._repository) as ws:
            start = time.perf_counter()
            ws.export(f"{self._room}/export.jsonl", force=True)
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

    def take(self) -> float:
        self._number += 1
        place = workspaces.make(f"{self._room}/import-{self._number}")
        session = open_workspace(place, os.environ).call(decide(os.environ))
        with open(f"{self._room}/events.jsonl", "rb") as lines:
            start = time.perf_counter()
            trial = Trial(session.engine.read().directory)
            proof = RedactionProof(session.engine.log, lines)
            lines.seek(0)
            blobs = BlobImport(Blobs(session.place.state), proof.removed, dry_run=False)
            Import(session.engine.log, trial, proof, blobs, dry_run=False, progress=lambda _done: None).take(lines)
            trial.close()
            took = time.perf_counter() - start
        session.engine.log.close()
        session.engine.store.close()
        return took

    def insert(self) -> float:
        self._number += 1
        directory = f"{self._room}/insert-{self._number}"
        by_hand.create(directory)
        db = by_hand.connect(f"{directory}/log.db", "full")
        start = time.perf_counter()
        with open(f"{self._room}/dump.jsonl", encoding="utf-8") as lines:
            while batch := [json.loads(line) for line in islice(lines, _BATCH)]:
                with db:
                    db.executemany(queries.SQL["add_event"], [(*row[:13], bytes.fromhex(row[14])) for row in batch])
                    # The digest takes the place of the commit's hash, which has the same length: nothing is computed.
                    commits = [
                        (f"{row[11]}-{row[0]}", row[0], row[0], row[13], bytes.fromhex(row[14])) for row in batch
                    ]
                    db.executemany(queries.SQL["add_commit"], commits)
        took = time.perf_counter() - start
        db.close()
        return took
