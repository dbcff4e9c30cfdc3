"""Many processes emit at once, by the recipes of the protocol and through moot. `make bench` prints the whole table."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from benchmarks import raw_emitters
from tests.surfaces.command import PATIENCE

if TYPE_CHECKING:
    from tests.specs.gsd.board import Board

NUMBER = 20

pytestmark = pytest.mark.timeout(6 * PATIENCE)


@pytest.fixture(autouse=True)
def _recipes_can_run() -> None:
    if gone := raw_emitters.missing():
        pytest.skip(f"{gone} is not installed")


@pytest.fixture
def trees(board: Board) -> list[str]:
    """A worktree for each emitter."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    head = subprocess.run(["git", "rev-parse", "-q", "--verify", "HEAD"], cwd=board.root, check=False, timeout=PATIENCE)
    if head.returncode:
        subprocess.run(
            [*git, "commit", "-q", "--allow-empty", "-m", "begin"], cwd=board.root, check=True, timeout=PATIENCE
        )
    roots = [str(board.root.parent / f"tree-{number}") for number in range(NUMBER)]
    for root in roots:
        words = [*git, "worktree", "add", "-q", "--detach", root]
        subprocess.run(words, cwd=board.root, check=True, timeout=PATIENCE)
    return roots


@pytest.mark.proves("S4-HRD-04")
@pytest.mark.parametrize("recipe", ["jq", "node"])
def test_what_the_watcher_saw_of_emitters_that_overwrite_each_other_is_kept(board: Board, recipe: str) -> None:
    race = raw_emitters.with_moot([str(board.root)], recipe, NUMBER)
    assert race.lost_again == 0, race
    assert race.in_step, race
    assert race.valid_at_end, race


@pytest.mark.proves("S4-HRD-04")
def test_emitters_with_a_worktree_each_lose_nothing_and_the_file_is_valid_at_every_instant(
    board: Board, trees: list[str]
) -> None:
    race = raw_emitters.with_moot(trees, "jq", NUMBER)
    assert (race.kept, race.invalid, race.failed) == (NUMBER, 0, 0), race
    assert race.looks > NUMBER
    assert race.in_step, race
    assert race.lost_again == 0, race


@pytest.mark.proves("S4-HRD-01")
def test_through_moot_none_is_lost_and_the_file_is_valid_at_every_instant(board: Board) -> None:
    race = raw_emitters.with_moot([str(board.root)], "moot", 50, watched=False)
    assert (race.kept, race.invalid, race.failed) == (50, 0, 0), race
    assert race.in_step, race
    log = raw_emitters.stored(str(board.root))
    assert sorted(log) == list(range(1, 51))
    assert sorted(log.values()) == list(range(1, 51))
