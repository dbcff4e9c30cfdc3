"""Paths in the graph of needs. Not recursive, so that long chains of tasks are no problem."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def find_path(needs: Mapping[str, Collection[str]], start: str, goal: str) -> list[str] | None:
    """A shortest path from `start` to `goal` along the needs, both ends included; None if there is none."""
    came_from: dict[str, str | None] = {start: None}
    front = [start]
    while front and goal not in came_from:
        front = [n for node in front for n in sorted(needs.get(node, ())) if _first_visit(came_from, n, node)]
    if goal not in came_from:
        return None
    path: list[str] = []
    node: str | None = goal
    while node is not None:
        path.append(node)
        node = came_from[node]
    return path[::-1]


def _first_visit(came_from: dict[str, str | None], node: str, previous: str) -> bool:
    if node in came_from:
        return False
    came_from[node] = previous
    return True
