"""Whether a file is the same around the blocks that may change. Pure: compares bytes."""

from __future__ import annotations

from itertools import zip_longest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from moot.packs.ruby.spec_tree import Group


def changed_line(before: bytes, old: Iterable[Group], after: bytes, new: Iterable[Group]) -> int:
    """The first line that differs outside of these blocks; 0 if there is none."""
    rest = _around(before, old), _around(after, new)
    if b"".join(rest[0]) == b"".join(rest[1]):
        return 0
    line = 1
    for one, other, group in zip_longest(*rest, sorted(new, key=lambda one: one.start)):
        if one != other:
            return line + _equal_lines(one or b"", other or b"")
        line = group.last if group is not None else line
    return line


def _around(data: bytes, groups: Iterable[Group]) -> list[bytes]:
    """What stands before, between and behind the groups."""
    found, at = [], 0
    for group in sorted(groups, key=lambda one: one.start):
        found.append(data[at : group.start])
        at = group.end
    return [*found, data[at:]]


def _equal_lines(one: bytes, other: bytes) -> int:
    pairs = zip(one.split(b"\n"), other.split(b"\n"), strict=False)
    return next((number for number, pair in enumerate(pairs) if pair[0] != pair[1]), 0)
