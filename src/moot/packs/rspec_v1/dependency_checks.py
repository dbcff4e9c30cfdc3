"""The rules between characteristics: parents exist, their states match, levels follow, and nothing is a cycle."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any


def check_dependencies(entries: Sequence[Any]) -> Iterator[str]:
    """The faults between these entries. Faults of a single field are reported elsewhere."""
    known: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            known.setdefault(entry["name"], entry)
    cycles = find_cycles(known)
    circular = {name for cycle in cycles for name in cycle}
    for number, entry in enumerate(entries):
        if isinstance(entry, dict):
            yield from _links(entry, f"characteristics[{number}]", known, circular)
    for cycle in cycles:
        yield f"characteristics: the dependencies form a cycle: {' -> '.join(cycle)}"


def find_cycles(known: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Every cycle once, from the entry that comes first in the document back to itself."""
    found: list[tuple[str, ...]] = []
    done: set[str] = set()
    for start in known:
        path: list[str] = []
        name: object = start
        while isinstance(name, str) and name in known and name not in done and name not in path:
            path.append(name)
            name = known[name].get("depends_on")
        if isinstance(name, str) and name in path:
            found.append((*path[path.index(name) :], name))
        done.update(path)
    return found


def _links(
    entry: Mapping[str, Any], at: str, known: Mapping[str, Mapping[str, Any]], circular: set[str]
) -> Iterator[str]:
    parent, state, level = entry.get("depends_on"), entry.get("when_parent"), entry.get("level")
    if parent is None:
        if state is not None:
            yield f"{at}.when_parent: {state!r} is given without depends_on"
        if _is_number(level) and level != 1:
            yield f"{at}.level: a characteristic without depends_on has level 1, not {level}"
        return
    if not isinstance(parent, str) or parent not in known:
        yield f"{at}.depends_on: there is no characteristic {parent!r}"
        return
    above = known[parent]
    states = above.get("states")
    if state is None:
        yield f"{at}.when_parent: missing; it must be a state of {parent}"
    elif not isinstance(states, list) or state not in states:
        yield f"{at}.when_parent: {state!r} is not a state of {parent}"
    if entry.get("name") in circular:
        return
    if _is_number(level) and _is_number(above.get("level")) and level != above["level"] + 1:
        yield f"{at}.level: expected {above['level'] + 1}, one more than that of {parent}, got {level}"


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
