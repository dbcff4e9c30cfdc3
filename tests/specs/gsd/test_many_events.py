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
from tests.specs.gsd.samples import started

if TYPE_CHECKING:
    from pathlib import Path

    from moot.engine.unit_of_work import Work

FEW, MANY, COMMIT, PHASES = 1_000, 100_000, 9_000, 100
DAYS = 3 * 86_400.0


def fill(project: Project, first: int, end: int) -> None:
    """Post them as `moot emit` does, without the tasks and files that belong to them."""
    call = project.session()
    while first < end:
        some = range(first, min(first + COMMIT, end))

        def act(work: Work, some: range = some) -> None:
            for n in some:
                phase = f"{n % PHASES:02}"
                event = {"type": "task:started", "agent": "a", "plan": f"{phase}-01", "task": n, "taskName": "x"}
                keys = {"type": ("task:started",), "plan": (f"{phase}-01",), "phase": (phase,), "agent": ("a",)}
                entry = PostEntry(event=event, stamps=("eventId", "id"), keys=keys, prints=(f"{n:024}",))
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
def test_emitting_and_asking_take_at_most_twice_as_long_as_with_a_thousand_events(folder: Path) -> None:
    clock = MovableClock(-DAYS)
    project = Project.create(folder / "project", clock=clock)
    numbers = iter(range(1, 1000))

    def times() -> list[float]:
        emitting = taken(lambda: project.emit(started("200-01", next(numbers))))
        return [emitting, taken(lambda: project.ask("gsd phase", phase="07"), 5)]

    fill(project, 0, FEW)
    project.look()
    few = times()
    fill(project, FEW, MANY)
    clock.by = 0.0
    project.look()
    many = times()
    assert all(late <= 2 * early for early, late in zip(few, many, strict=True)), (few, many)
    store = project.session().engine.read()
    assert len(list(feeds.entries(store, "gsd", [("phase", "07")]))) == MANY // PHASES
    project.close()
