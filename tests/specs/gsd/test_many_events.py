"""A hundred thousand events in the log."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING

import pytest

from moot.core.deciders.feed import PostEntry
from moot.views import feeds
from tests.specs.gsd.project import MovableClock, Project
from tests.specs.gsd.samples import completed, created, started

if TYPE_CHECKING:
    from pathlib import Path

    from moot.engine.unit_of_work import Work

EVENTS, COMMIT, PHASES = 100_000, 9_000, 100
DAYS = 3 * 86_400.0


def fill(project: Project) -> None:
    """Post them as `moot emit` does, without the tasks and files that belong to them."""
    call = project.session()
    first = 0
    while first < EVENTS:
        some = range(first, min(first + COMMIT, EVENTS))

        def act(work: Work, some: range = some) -> None:
            for n in some:
                phase = f"{n % PHASES:02}"
                event = {"type": "task:started", "agent": "a", "plan": f"{phase}-01", "task": n, "taskName": "x"}
                keys = {"type": ("task:started",), "plan": (f"{phase}-01",), "phase": (phase,), "agent": ("a",)}
                entry = PostEntry(event=event, stamps=("eventId", "id"), keys=keys, group=phase, prints=(f"{n:024}",))
                work.do("feed", "gsd", entry)

        call.engine.commit("person:root", act)
        first = some[-1] + 1


def taken(act: Callable[[], object], times: int = 15) -> float:
    """The median time of this process, in seconds: what other processes do on the machine does not count."""
    found = []
    for _ in range(times):
        before = time.process_time()
        act()
        found.append(time.process_time() - before)
    return median(found)


@pytest.mark.proves("S4-HRD-25")
def test_emitting_and_asking_stay_fast(folder: Path) -> None:
    clock = MovableClock(-DAYS)
    project = Project.create(folder / "project", clock=clock)
    fill(project)
    clock.by = 0.0
    project.look()
    numbers = iter(range(1, 1000))
    assert taken(lambda: project.emit(started("200-01", next(numbers)))) < 0.1
    numbers = iter(range(1, 1000))
    assert taken(lambda: project.emit(completed("200-01", next(numbers)))) < 0.1
    assert taken(lambda: project.emit(created(f"f{next(numbers)}.ts", plan="200-01"))) < 0.1
    store = project.session().engine.read()
    assert len(list(feeds.entries(store, "gsd", [("phase", "07")]))) == EVENTS // PHASES
    assert taken(lambda: list(feeds.entries(store, "gsd", [("phase", "07")])), 3) < 1.0
    assert taken(lambda: project.ask("gsd phase", phase="200"), 3) < 1.0
    assert len(project.events_shown) == 45, "the old ones have left the file"
    project.close()
