"""Plans that wait in a circle, or for something that nobody makes, are reported instead of waiting silently."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.surfaces.command import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.specs.gsd.board import Board

MAKES = ("must_haves:", "  artifacts:")


def makes(board: Board, plan: str, path: str, *lines: str) -> None:
    board.plan_file(plan, *lines, *MAKES, f"    - path: {path}", tasks=("One",))


def reported(board: Board) -> list[str]:
    return [item.text for item in board.ws.needs_me() if item.kind == "concern"]


@pytest.mark.proves("S4-HRD-24")
def test_a_circle_of_plans_is_reported_everywhere(new_board: Callable[..., Board]) -> None:
    board = new_board("waiting_after = 0\n")
    makes(board, "01-01", "a.ts", "needs: [c.ts]")
    makes(board, "01-02", "b.ts", "needs: [a.ts]")
    makes(board, "01-03", "c.ts", "needs: [b.ts]")
    board.ws.board()
    (said,) = [text for text in reported(board) if "each other" in text]
    assert said.startswith("These plans wait for each other: ")
    assert {"01-01", "01-02", "01-03"} <= set(said.replace(",", "").split())
    assert any(said == problem.message for problem in board.ws.watch().problems)
    assert "wait for each other" in board("doctor").err
    waiting = board("gsd", "wait", "--phase", "01", "--tasks", "1", "--timeout", "0")
    assert said in waiting.out
    assert said in board("gsd", "wait", "--plan", "01-02", "--timeout", "0").out
    board.emit({"type": "artifact:created", "path": "a.ts", "createdBy": "01-01"})
    assert not any("each other" in text for text in reported(board))


@pytest.mark.proves("S4-HRD-24")
def test_an_artifact_that_nobody_makes_is_reported(new_board: Callable[..., Board]) -> None:
    board = new_board("waiting_after = 0\n")
    board.gsd.need("01-02", "nobody.ts")
    assert reported(board) == ["01-02 waits for nobody.ts, and no plan is known to make it"]
    makes(board, "01-01", "nobody.ts")
    assert reported(board) == ["01-02 waits for nobody.ts, which 01-01 makes, and is not running"]
    board.start("01-01", 1)
    assert reported(board) == []  # a running plan is known to make it
    board.complete("01-01", 1)
    assert reported(board) == ["01-02 waits for nobody.ts, and 01-01 is done without having made it"]
    board.gsd.need("01-02", "nobody.ts", drop=True)
    assert reported(board) == []


@pytest.mark.proves("S4-HRD-24")
def test_a_plan_that_waits_itself_is_expected_to_make_it(new_board: Callable[..., Board]) -> None:
    board = new_board("waiting_after = 0\n")
    makes(board, "01-01", "a.ts", "needs: [first.ts]")
    board.gsd.need("01-02", "a.ts")
    assert reported(board) == ["01-01 waits for first.ts, and no plan is known to make it"]


@pytest.mark.proves("S4-HRD-24")
def test_it_is_reported_only_after_a_while(board: Board) -> None:
    board.gsd.need("01-02", "nobody.ts")
    assert reported(board) == []
    with board.ws._call() as call:
        (pack,) = call.packs.packs
    assert pack.values["waiting_after"] == 600
    board.configure("waiting_after = 1\n")
    waiting = board.moot.popen("gsd", "wait", "--plan", "01-02")
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "01-02 waits for nobody.ts, and no plan is known to make it\n"
    board.emit({"type": "artifact:created", "path": "nobody.ts", "createdBy": "01-01"})
    out, _ = waiting.communicate(timeout=PATIENCE)
    assert out == "01-02 has what it needs\n"
