"""Names of characteristics: short where that is clear, and unique in their method."""

from __future__ import annotations

from moot.packs.rspec.analysis_words import GENERIC_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.packs.rspec.analysis_flow import Branching


def unique_names(conditionals: Sequence[Branching]) -> list[str]:
    """A name for each. What stands before it is added to a generic name, and to names that would be equal."""
    short = [one.test.name or "condition" for one in conditionals]
    names = [
        _prefixed(one, name) if name in GENERIC_NAMES or short.count(name) > 1 else name
        for one, name in zip(conditionals, short, strict=True)
    ]
    used: set[str] = set()
    for place, name in enumerate(names):
        number, free = 1, name
        while free in used:
            number += 1
            free = f"{name}_{number}"
        used.add(free)
        names[place] = free
    return names


def _prefixed(one: Branching, name: str) -> str:
    return f"{one.test.receiver}_{name}" if one.test.receiver else name
