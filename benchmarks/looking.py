"""Measures reads of a long log: a rebuild of all views, a view of the past, and a search."""

from __future__ import annotations

import os
import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from common import Row

from moot import Workspace
from moot.core.identity import decide
from moot.wiring import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from workspaces import Stage

    from moot.api.call import Call


def measure(stage: Stage) -> list[Row]:
    repository = stage.populated("looking", stage.size.many)
    session = open_workspace(repository, os.environ).call(decide(os.environ))
    events = session.engine.log.head()
    reading = _once(lambda: _read(session))
    rebuilding = _once(session.engine.rebuild)
    session.engine.log.close()
    session.engine.store.close()
    with Workspace(repository) as ws:
        now = _median(stage, ws.agents)
        searching = _median(stage, lambda: ws.search("nowhere to be found"))
    past = _once(partial(_agents, repository, events // 2))
    return [
        Row(
            "look.rebuild",
            events / rebuilding,
            "events/s",
            None,
            f"All views of {events:,} events rebuilt in {rebuilding:.1f} s, "
            f"{rebuilding / reading:.1f} times as long as reading the events.",
        ),
        Row("look.past", past, "s", None, f"Agents at event {events // 2:,}."),
        Row("look.agents_now", now * 1000, "ms", None, "For comparison: agents now, in an open workspace."),
        Row("look.search", searching * 1000, "ms", None, "Words that occur nowhere in the last 100,000 events."),
    ]


def _agents(repository: str, at: int) -> None:
    with Workspace(repository, at=at) as ws:
        ws.agents()


def _read(session: Call) -> None:
    log = session.engine.log
    after = 0
    while events := log.read(after, 1000):
        after = events[-1].position


def _once(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _median(stage: Stage, act: Callable[[], object]) -> float:
    return median(_once(act) for _ in range(max(3, stage.size.least)))
