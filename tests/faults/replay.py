"""The log read by somebody who knows nothing of moot's rules: who held what, at every position.

Naive on purpose. Whether two patterns overlap is found out by trying all paths of a small world.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moot.core.event import Event


def paths_of(names: Iterable[str], depth: int) -> list[str]:
    """Every path of up to `depth` of these names."""
    return ["/".join(parts) for length in range(1, depth + 1) for parts in product(names, repeat=length)]


def matches(pattern: str, path: str) -> bool:
    wanted = pattern.split("/")
    return _match([*wanted[:-1], "**"] if wanted[-1] == "" else wanted, path.split("/"))


def _match(pattern: list[str], path: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_match(pattern[1:], path[skip:]) for skip in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _match(pattern[1:], path[1:])


def double_grants(events: Iterable[Event], world: Iterable[str]) -> list[str]:
    """Every moment at which two agents held one path of the world and not both of them shared it."""
    places = {path: number for number, path in enumerate(world)}
    held: dict[tuple[str, str], str] = {}  # who and which pattern: the mode
    covered: dict[str, set[int]] = {}
    found = []
    for event in events:
        data = event.data
        if event.type in ("file:released", "file:lapsed"):
            for path in data["paths"]:
                del held[data["holder"], path]
        elif event.type == "file:claimed":
            for path in data["paths"]:
                if path not in covered:
                    covered[path] = {number for place, number in places.items() if matches(path, place)}
                for (other, theirs), mode in held.items():
                    both = covered[path] & covered[theirs]
                    if other != data["holder"] and both and "exclusive" in (mode, data["mode"]):
                        found.append(f"{event.position}: {data['holder']} got {path}, {other} had {theirs}")
                held[data["holder"], path] = data["mode"]
    return found


def live_claims(events: Iterable[Event]) -> dict[tuple[str, str], str]:
    """Who holds which pattern at the end, and how."""
    held: dict[tuple[str, str], str] = {}
    for event in events:
        for path in event.data.get("paths", ()) if event.stream == "claims" else ():
            if event.type == "file:claimed":
                held[event.data["holder"], path] = event.data["mode"]
            else:
                del held[event.data["holder"], path]
    return held


def double_holdings(events: Iterable[Event]) -> list[str]:
    """Every grant of a task that somebody held already."""
    held: dict[str, str] = {}
    found = []
    for event in events:
        if event.stream.startswith("task/"):
            task = event.stream.partition("/")[2]
            if event.type == "task:started":
                if task in held:
                    found.append(f"{event.position}: {event.data['holder']} got {task}, {held[task]} had it")
                held[task] = event.data["holder"]
            elif "target" in event.data:
                held.pop(task, None)
    return found


def broken_order(events: Iterable[Event]) -> list[str]:
    """Every event that is out of line: a gap, a wrong predecessor, half a commit."""
    found = []
    versions: dict[str, int] = {}
    finished: set[str] = set()
    commit, number, last = "", -1, 0
    for event in events:
        follows = event.n == number + 1 if event.commit == commit else event.n == 0 and event.commit not in finished
        if event.position != last + 1 or event.prev != versions.get(event.stream, 0) or not follows:
            found.append(f"{event.position} after {last}, {event.commit}.{event.n} after {commit}.{number}")
        if event.commit != commit:
            finished.add(commit)
        commit, number, last = event.commit, event.n, event.position
        versions[event.stream] = event.position
    return found
