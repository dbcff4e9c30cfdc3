"""A plan that is done without having announced what it makes does not hold up others, but nobody overlooks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.specs.gsd.board import AGENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.specs.gsd.board import Board

DONE = {"type": "task:completed", "agent": AGENT, "plan": "01-01", "task": 1, "commit": "abc1234"}
MADE = {"type": "artifact:created", "path": "src/a01.ts", "createdBy": "01-01"}


def planned(board: Board) -> None:
    makes = ("must_haves:", "  artifacts:", "    - path: src/a01.ts")
    board.plan_file("01-01", *makes, tasks=("Make it",))
    board.plan_file("01-03", 'depends_on: ["01-01"]', tasks=("Use it",))


def satisfied(board: Board) -> list[Any]:
    return [(e["artifact"], e["requiredBy"]) for e in board.shown() if e["type"] == "dependency:satisfied"]


@pytest.mark.proves("S4-DEP-02", "S4-DEP-03")
def test_an_artifact_that_was_promised_and_not_announced_is_flagged_shown_and_awaited(board: Board) -> None:
    planned(board)
    board.start("01-01", 1)
    flags = board.gsd.emit(DONE).flags
    (flag,) = [flag for flag in flags if flag.startswith("unannounced")]
    assert flag == "unannounced: no artifact:created came for src/a01.ts, which plan 01-01 makes"
    (plan,) = [plan for plan in board.gsd.phase("01").plans if plan.plan == "01-03"]
    assert (plan.state, [one.artifact for one in plan.unannounced]) == ("ready", ["src/a01.ts"])
    note = "  ! src/a01.ts (01-01 is done, and has not announced it)"
    for words in (("phase", "01"), ("plan", "01-03")):
        assert note in board("gsd", *words).out.splitlines()
    waited = board("gsd", "wait", "--plan", "01-03", "--timeout", "0")
    assert (waited.code, waited.out.splitlines()) == (0, ["01-03 has what it needs", note])
    assert satisfied(board) == []
    board.emit(MADE)
    assert satisfied(board) == [("src/a01.ts", ["01-03"])]
    assert board.gsd.plan("01-03").plan.unannounced == ()
    assert "has not announced" not in board("gsd", "phase", "01").out
    board.emit(MADE)
    assert len(satisfied(board)) == 1


@pytest.mark.proves("S4-DEP-02")
def test_nothing_is_flagged_if_it_was_announced_or_if_the_plan_goes_on(board: Board) -> None:
    makes = ("must_haves:", "  artifacts:", "    - path: src/a01.ts")
    board.plan_file("01-01", *makes, tasks=("Make it", "Test it"))
    board.plan_file("01-03", 'depends_on: ["01-01"]', tasks=("Use it",))
    board.start("01-01", 1)
    assert not any(flag.startswith("unannounced") for flag in board.gsd.emit(DONE).flags)
    board.emit(MADE)
    board.start("01-01", 2)
    assert not any(flag.startswith("unannounced") for flag in board.gsd.emit({**DONE, "task": 2}).flags)
    assert "has not announced" not in board("gsd", "phase", "01").out
    assert satisfied(board) == [("src/a01.ts", ["01-03"])]


@pytest.mark.proves("S4-HRD-24")
def test_it_is_reported_to_a_person_until_the_plan_that_expected_it_is_done(new_board: Callable[..., Board]) -> None:
    board = new_board("waiting_after = 0\n")
    planned(board)
    board.ws.board()
    (path,) = (board.root / ".planning" / "phases").glob("*/01-01-PLAN.md")
    path.with_name("01-01-SUMMARY.md").write_text("Done.\n")
    said = "01-03 can go on without src/a01.ts: 01-01 is done, and has not announced it"
    assert said in [item.text for item in board.ws.needs_me()]
    board.start("01-03", 1)
    board.complete("01-03", 1)
    assert board.ws.needs_me() == []
    board.emit(MADE)
    assert satisfied(board) == []


@pytest.mark.proves("S4-DEP-03")
def test_an_artifact_that_the_plan_itself_asks_for_still_holds_it_up(board: Board) -> None:
    planned(board)
    board.plan_file("01-03", 'depends_on: ["01-01"]', "needs: [src/a01.ts]", tasks=("Use it",))
    board.start("01-01", 1)
    board.complete("01-01", 1)
    assert board.gsd.wait(plan="01-03", timeout=0).outcome == "timeout"
    board.emit(MADE)
    assert board.gsd.wait(plan="01-03", timeout=0).outcome == "completed"


@pytest.mark.proves("S4-DEP-02", "S4-DEP-07")
def test_a_late_announcement_in_the_file_or_by_moots_own_verb_counts_too(board: Board) -> None:
    planned(board)
    board.plan_file("01-02", "must_haves: {artifacts: [src/a02.ts]}", tasks=("Make another",))
    board.plan_file("01-04", 'depends_on: ["01-01", "01-02"]', tasks=("Use both",))
    for plan in ("01-01", "01-02"):
        board.start(plan, 1)
        board.complete(plan, 1)
    assert [one.artifact for one in board.gsd.plan("01-04").plan.unannounced] == ["src/a01.ts", "src/a02.ts"]
    made = {**MADE, "timestamp": "2026-01-15T10:35:00Z"}
    board.write(made)
    board("mirror")
    assert satisfied(board) == [("src/a01.ts", ["01-03", "01-04"])]
    assert board.shown()[-1]["timestamp"] == made["timestamp"]
    (board.root / "src").mkdir()
    (board.root / "src" / "a02.ts").write_text("2")
    board.ws.artifact_add("src/a02.ts")
    assert satisfied(board)[1:] == [("src/a02.ts", ["01-04"])]
    assert board.gsd.plan("01-04").plan.unannounced == ()


@pytest.mark.proves("S4-DEP-03")
def test_a_plan_that_is_started_again_is_waited_for_again(board: Board) -> None:
    planned(board)
    board.start("01-01", 1)
    board.complete("01-01", 1)
    board.start("01-01", 1)
    plan = board.gsd.plan("01-03").plan
    assert (plan.unannounced, [one.artifact for one in plan.missing]) == ((), ["src/a01.ts"])
    board.complete("01-01", 1)
    assert len(board.gsd.plan("01-03").plan.unannounced) == 1
