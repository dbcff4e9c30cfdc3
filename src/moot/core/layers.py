"""Layers of a dependency graph: what can be done first, then what needs only that, and so on.

A node belongs to a group and waits for groups: it is ready when no member of any group that it needs is left. Where
each node is its own group, this is an ordinary topological sort. A cycle is cut: the node that waits for the fewest
groups forms the next layer alone (ties by name), and the cut says which cycle it ended.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class Cut(Record):
    """A node that was taken although it still waited. `cycle`: groups, the first one repeated at the end."""

    node: str
    waits_for: tuple[str, ...]
    cycle: tuple[str, ...]


class Layers(Record):
    """The names of each layer, sorted, and where cycles were cut."""

    layers: tuple[tuple[str, ...], ...]
    cuts: tuple[Cut, ...] = ()


def layers_of(groups: Mapping[str, str], needs: Mapping[str, Collection[str]]) -> Layers:
    """`groups`: each node with its group. `needs`: the groups each node waits for; its own and empty ones do not count.

    Not recursive, and linear in the number of needs but for cuts.
    """
    left: dict[str, int] = {}
    for group in groups.values():
        left[group] = left.get(group, 0) + 1
    waits = {node: {n for n in needs.get(node, ()) if n in left and n != group} for node, group in groups.items()}
    waiting: dict[str, list[str]] = {}
    for node, wanted in waits.items():
        for group in wanted:
            waiting.setdefault(group, []).append(node)
    layers: list[tuple[str, ...]] = []
    cuts: list[Cut] = []
    ready = sorted(node for node, wanted in waits.items() if not wanted)
    while waits:
        if not ready:
            node = min(waits, key=lambda name: (len(waits[name]), name))
            cuts.append(Cut(node=node, waits_for=tuple(sorted(waits[node])), cycle=_cycle(groups, waits, node)))
            ready = [node]
        layers.append(tuple(ready))
        ready = sorted(_released(ready, groups, left, waits, waiting))
    return Layers(layers=tuple(layers), cuts=tuple(cuts))


def _released(
    taken: Collection[str],
    groups: Mapping[str, str],
    left: dict[str, int],
    waits: dict[str, set[str]],
    waiting: Mapping[str, list[str]],
) -> set[str]:
    """Take these nodes away. The nodes that wait for nothing any more."""
    ready: set[str] = set()
    for node in taken:
        del waits[node]
    for group in [groups[node] for node in taken]:
        left[group] -= 1
        if left[group]:
            continue
        for node in waiting.get(group, ()):
            if node in waits:
                waits[node].discard(group)
                if not waits[node]:
                    ready.add(node)
    return ready


def _cycle(groups: Mapping[str, str], waits: Mapping[str, set[str]], start: str) -> tuple[str, ...]:
    """A cycle among the groups that is reached from the node. Every waiting group leads into one."""
    next_groups: dict[str, set[str]] = {}
    for node, wanted in waits.items():
        next_groups.setdefault(groups[node], set()).update(wanted)
    through = _shortest(next_groups, groups[start])
    if through:
        return through
    path = [groups[start]]
    while path[-1] not in path[:-1]:
        path.append(min(next_groups[path[-1]]))
    return tuple(path[path.index(path[-1]) :])


def _shortest(next_groups: Mapping[str, set[str]], start: str) -> tuple[str, ...]:
    """The shortest cycle through `start`; empty if there is none."""
    came_from: dict[str, str] = {}
    front = [start]
    while front and start not in came_from:
        reached = [(group, before) for before in front for group in sorted(next_groups.get(before, ()))]
        front = []
        for group, before in reached:
            if group not in came_from:
                came_from[group] = before
                front.append(group)
    if start not in came_from:
        return ()
    path = [start]
    while (before := came_from[path[-1]]) != start:
        path.append(before)
    return (start, *path[:0:-1], start) if len(path) > 1 else (start, start)
