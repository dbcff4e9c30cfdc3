"""The section of `moot watch`: phase, plans, waves, tasks, claims, and what waits for whom, live and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.specs.gsd.board import REACHED, Board, until
from tests.surfaces.glass import Glass

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def busy(board: Board) -> Board:
    """Two waves: a task is done, one has failed, one waits for the user, and a plan waits for an artifact."""
    board.plan_file("01-01", "wave: 1", tasks=("Model", "Checks"))
    board.plan_file("01-02", "wave: 1", tasks=("Database",))
    board.plan_file("01-03", "wave: 2", "depends_on: [01-01]", "needs: [a.ts]", tasks=("API",))
    board.complete("01-01", 1)
    board.start("01-01", 2, "Checks")
    board.gsd.emit("file:claimed", ["agent=gsd-executor", "plan=01-01", "path=a.ts"])
    board.start("01-02", 1, "Database")
    board.fail("01-02", 1, "The port is taken")
    board.emit(
        {"type": "decision:made", "decision": "Use jose", "rationale": "R", "madeBy": "01-01", "affects": ["02-*"]}
    )
    return board


def test_the_section_shows_what_is_urgent_first_and_then_everything_by_wave(busy: Board) -> None:
    shown = busy("watch", "--once").out
    section = shown.partition("Phase 01: ")[2].partition("\nAgents")[0].partition("\nBoard")[0].splitlines()
    assert section[0] == "tasks 1/4, 1 failed, 1 running, plans 0/3"
    urgent = [line.split()[:2] for line in section[1:4]]
    assert urgent == [["01-02", "failed"], ["01-01", "running"], ["01-03", "waiting"]]
    rest = "\n".join(section[4:])
    for part in ("wave 1", "wave 2", "2 running Checks", "1 failed Database The port is taken", "holds a.ts"):
        assert part in rest
    assert "after 01-01" in rest
    assert "needs a.ts" in rest
    assert "dec-001 Use jose (02-*)" in rest


def test_programs_get_the_state(busy: Board) -> None:
    found = json.loads(busy("watch", "--json").out)["result"]["packs"]
    assert [one["pack"] for one in found] == ["gsd"]
    (phase,) = found[0]["state"]["phases"]
    assert (phase["phase"], phase["completed"], phase["failed"]) == ("01", 1, 1)
    assert [one["decision"] for one in found[0]["state"]["decisions"]] == ["Use jose"]
    states = {plan["plan"]: plan["state"] for plan in phase["plans"]}
    assert states == {"01-01": "running", "01-02": "failed", "01-03": "waiting"}


@pytest.mark.parametrize("size", [(80, 24), (40, 24)])
def test_it_is_live_and_fits(busy: Board, size: tuple[int, int]) -> None:
    with Glass(busy.moot, "watch", size=size) as glass:
        glass.until("Phase 01: tasks 1/4, 1 failed", "01-02 failed 0/1", "01-01 running 1/2", "01-03 waiting 0/1")
        assert all(len(line) <= size[0] for line in glass.text.splitlines())
        busy.start("01-02", 1, "Database")
        busy.complete("01-02", 1)
        busy.emit({**REACHED, "plan": "01-01", "task": 2})
        glass.until("Phase 01: tasks 2/4, 1 for you", "01-01 asking 1/2")
        assert "01-02 failed" not in glass.text


def test_finished_phases_make_room_for_the_next(board: Board) -> None:
    board.plan_file("01-01", tasks=("One",))
    board.plan_file("02-01", folder="02-next", tasks=("Two",))
    board.plan_file("03-01", folder="03-last", tasks=("Three",))
    board.ws.board()  # watching reads no files
    assert "\nPhases: 3 active, 0 finished\n" in board("watch", "--once").out
    board.complete("01-01", 1)
    board.complete("02-01", 1)
    shown = board("watch", "--once").out
    assert "\nPhase 03: tasks 0/1, plans 0/1\n" in shown
    board.complete("03-01", 1)
    assert "\nPhase 03: tasks 1/1, plans 1/1\n" in board("watch", "--once").out


def test_an_expiring_claim_is_reported(new_board: Callable[..., Board]) -> None:
    board = new_board("claim_ttl = 1\n")
    board.gsd.emit("file:claimed", ["agent=gsd-executor", "plan=01-01", "path=a.ts"])
    until(lambda: any("on a.ts has expired" in problem.message for problem in board.ws.watch().problems), "the report")
    board.start("01-02", 1)  # the next event ends it
    assert board.gsd.claims() == []
    assert not any("a.ts" in problem.message for problem in board.ws.watch().problems)
