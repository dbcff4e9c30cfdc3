"""Both lifecycles, and what they should say: written down a second time, by hand, as rows that one can read."""

from __future__ import annotations

import os
from typing import NamedTuple

from moot.core.lifecycle import CORE, Lifecycle
from moot.wiring.packs import pack


class Row(NamedTuple):
    """One edge. `who` and `needs` are words, separated by blanks."""

    verb: str
    source: str
    target: str
    who: str
    needs: str = ""
    attempt: int = 0


def _orchestrator() -> Lifecycle:
    (life,) = pack("orchestrator", os.devnull).lifecycles  # there it finds no cache, and can keep none
    return life.replace(attempts=3)  # as a workspace does where nothing else is set


ORCHESTRATOR = _orchestrator()
LIFECYCLES = (CORE, ORCHESTRATOR)

ROWS = {
    "core": (
        Row("claim", "open", "working", "anyone"),
        Row("release", "working", "open", "holder person"),
        Row("submit", "working", "review", "holder"),
        Row("approve", "review", "done", "reviewer person"),
        Row("reject", "review", "open", "reviewer person", "reason", 1),
        Row("complete", "working", "done", "holder", "unreviewed"),
        Row("fail", "working", "failed", "holder", "reason"),
        Row("cancel", "open", "cancelled", "person creator", "reason"),
        Row("cancel", "working", "cancelled", "person creator", "reason"),
        Row("cancel", "review", "cancelled", "person creator", "reason"),
        Row("reopen", "done", "open", "anyone", "reason", 1),
        Row("reopen", "failed", "open", "anyone", "reason", 1),
        Row("reopen", "cancelled", "open", "anyone", "reason", 1),
        Row("reopen", "dead", "open", "anyone", "reason", 1),
    ),
    "orchestrator": (
        Row("claim", "pending", "in_progress", "team-lead person"),
        Row("submit", "in_progress", "awaiting_review", "developer", "report"),
        Row("approve", "awaiting_review", "completed", "team-lead person"),
        Row("reject", "awaiting_review", "rejected", "team-lead person", "reason"),
        Row("reject", "in_progress", "rejected", "team-lead person", "reason"),
        Row("reopen", "rejected", "pending", "team-lead person", "", 1),
        Row("reopen", "completed", "pending", "team-lead person", "reason", 1),
    ),
}
PHASES = {
    "core": {
        "open": "open",
        "working": "working",
        "review": "review",
        "done": "done",
        "failed": "stopped",
        "cancelled": "stopped",
        "dead": "stopped",
    },
    "orchestrator": {
        "pending": "open",
        "in_progress": "working",
        "awaiting_review": "review",
        "completed": "done",
        "rejected": "stopped",
    },
}
