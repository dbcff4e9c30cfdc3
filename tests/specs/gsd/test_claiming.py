"""Claims of several paths are all or none, and of many who want the same path exactly one gets it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from moot.core.errors import Held
from tests.specs.gsd.board import AGENT, Board
from tests.surfaces.command import PATIENCE


def claim(board: Board, plan: str, *paths: str) -> None:
    board.gsd.emit("file:claimed", [f"agent={AGENT}", f"plan={plan}", *(f"path={path}" for path in paths)])


def held(board: Board, plan: str) -> set[str]:
    return {one.path for one in board.gsd.claims(plan=plan)}


@pytest.mark.proves("S4-HRD-13")
def test_several_paths_are_claimed_all_or_none(board: Board) -> None:
    claim(board, "01-01", "a.ts", "b.ts")
    with pytest.raises(Held) as caught:
        claim(board, "01-02", "c.ts", "b.ts", "d.ts")
    assert (caught.value.details["path"], caught.value.details["plan"]) == ("b.ts", "01-01")
    assert held(board, "01-02") == set()
    assert [event["path"] for event in board.shown()] == ["a.ts", "b.ts"]
    refused = board("gsd", "emit", "file:claimed", f"agent={AGENT}", "plan=01-02", "path=c.ts", "path=b.ts")
    assert refused.code == 3
    assert "b.ts is held by gsd-executor of plan 01-01" in refused.err
    claim(board, "01-02", "c.ts", "d.ts")
    assert held(board, "01-02") == {"c.ts", "d.ts"}


@pytest.mark.proves("S4-HRD-13")
def test_events_in_one_step_are_stored_all_or_none_as_json_too(board: Board) -> None:
    events = [{"type": "file:claimed", "agent": AGENT, "plan": "01-01", "path": path} for path in ("a.ts", "b.ts")]
    assert board.gsd.emit(events).number == 2
    other = [{**event, "plan": "01-02", "path": path} for event, path in zip(events, ("z.ts", "a.ts"), strict=True)]
    with pytest.raises(Held):
        board.gsd.emit(other)
    assert held(board, "01-02") == set()


@pytest.mark.proves("S4-HRD-13")
def test_two_plans_with_overlapping_files_never_block_each_other_half_way(board: Board) -> None:
    """Both claim the same two paths, in opposite order, at the same time, again and again: one gets both."""
    orders = (("a.ts", "b.ts"), ("b.ts", "a.ts"))
    for _ in range(5):
        racing = [
            board.moot.popen(
                "gsd", "emit", "file:claimed", f"agent={AGENT}", f"plan=01-0{n}", *(f"path={p}" for p in order)
            )
            for n, order in enumerate(orders, 1)
        ]
        codes = []
        for one in racing:
            one.communicate(timeout=PATIENCE)
            codes.append(one.returncode)
        assert sorted(codes) == [0, 3]
        winner = f"01-0{codes.index(0) + 1}"
        assert held(board, winner) == {"a.ts", "b.ts"}
        board.gsd.emit("file:released", [f"agent={AGENT}", f"plan={winner}", "path=a.ts", "path=b.ts"])


PYTHON = """
import sys
from moot import Workspace
from moot.core.errors import Held
from moot.packs.gsd.methods import Blackboard
with Workspace(person=True) as ws:
    sys.stdin.read()
    try:
        ws.pack(Blackboard).emit("file:claimed", ["agent=gsd-executor", f"plan={sys.argv[1]}", "path=hot.ts"])
    except Held:
        sys.exit(3)
"""


@pytest.mark.proves("S4-HRD-14")
def test_of_many_that_claim_a_free_path_over_any_surface_exactly_one_gets_it(board: Board) -> None:
    gate = 'cat > /dev/null; exec "$@"'
    racing = []
    for number in range(12):
        plan = f"01-{number + 1:02d}"
        if number % 3 == 0:
            words = [sys.executable, "-c", PYTHON, plan]
        else:
            kind = ["gsd", "emit", "file:claimed", f"agent={AGENT}", f"plan={plan}", "path=hot.ts"]
            generic = ["emit", "file:claimed", "--data", f'{{"agent": "{AGENT}", "plan": "{plan}", "path": "hot.ts"}}']
            words = ["sh", "-c", gate, "sh", sys.executable, "-m", "moot", *(kind if number % 3 == 1 else generic)]
        racing.append(
            subprocess.Popen(
                words,
                cwd=board.root,
                env=board.moot.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        )
    board.write(  # two more, through the file
        *({"type": "file:claimed", "agent": AGENT, "plan": f"02-0{n}", "path": "hot.ts"} for n in (1, 2))
    )
    for one in racing:
        assert one.stdin is not None
        one.stdin.close()
        one.stdin = None
    for one in racing:
        one.communicate(timeout=PATIENCE)
    codes = [one.returncode for one in racing]
    assert set(codes) <= {0, 3}
    granted = [event for event in board.gsd.events(all=True) if event.event["type"] == "file:claimed"]
    assert len(granted) == 1
    assert codes.count(0) == (0 if granted[0].event["plan"].startswith("02") else 1)
    (holder,) = board.gsd.claims("hot.ts")
    assert holder.plan == granted[0].event["plan"]
