"""Computes what two patterns with stars both match: the characters of a segment, or the segments of a path.

The algorithm is exact and does not backtrack: see `moot.core.paths`, which also parses patterns and checks limits.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    CharSet = tuple[bool, frozenset[str]]  # (negated, characters)
    Atom = str | CharSet | None  # one character, one of a set, or a star
    Segment = str | tuple[Atom, ...] | None  # a literal, a pattern, or a double star
    Common = Callable[[Any, Any], Any]  # something that both match, or None

STAR = None
ANY_CHAR: CharSet = (True, frozenset())
ANY_NAME: Segment = (STAR,)
NO_NAMES = (".", "..")
CLASS_LIMIT = 1024  # characters of one class

_ENDLESS = 1 << 30
_FILLERS = "xyzabcdefghijklmnopqrstuvw0123456789"


def common_sequence(a: Sequence[Any], b: Sequence[Any], common: Common, free: Any) -> list[Any] | None:
    """Something that both sequences match, element by element, or None. `free` is the element that matches anything."""
    one, other = _parted(a), _parted(b)
    if len(one) > 1 and len(other) > 1:
        head = _along(*_padded(one[0], other[0], free), common)
        tail = _along(*_padded(one[-1][::-1], other[-1][::-1], free), common)
        if head is None or tail is None:
            return None
        between = [common(element, free) for part in one[1:-1] + other[1:-1] for element in part]
        return [*head, common(free, free), *between, *tail[::-1]]
    if len(one) > 1:
        return _place(one, b, common, free)
    return _place(other, a, common, free) if len(other) > 1 else _along(a, b, common)


def _parted(sequence: Sequence[Any]) -> list[list[Any]]:
    """The parts before, between and after the stars; a single part if there are no stars."""
    parts: list[list[Any]] = [[]]
    for element in sequence:
        if element is STAR:
            parts.append([])
        else:
            parts[-1].append(element)
    return parts


def _padded(a: list[Any], b: list[Any], free: Any) -> tuple[list[Any], list[Any]]:
    return a + [free] * (len(b) - len(a)), b + [free] * (len(a) - len(b))


def _along(a: Sequence[Any], b: Sequence[Any], common: Common) -> list[Any] | None:
    """What two sequences without stars have in common."""
    if len(a) != len(b):
        return None
    found = []
    for one, other in zip(a, b, strict=True):
        both = common(one, other)
        if both is None:
            return None
        found.append(both)
    return found


def _place(parts: list[list[Any]], fixed: Sequence[Any], common: Common, free: Any) -> list[Any] | None:
    """What a sequence with stars has in common with one without: each part is placed where it first fits."""
    head, *middle, tail = parts
    at, end = len(head), len(fixed) - len(tail)
    if at > end:
        return None
    found = _along(head, fixed[:at], common)
    last = _along(tail, fixed[end:], common)
    if found is None or last is None:
        return None
    for part in middle:
        while (placed := _along(part, fixed[at : min(at + len(part), end)], common)) is None:
            if at + len(part) >= end:
                return None
            found.append(common(fixed[at], free))
            at += 1
        found += placed
        at += len(part)
    return [*found, *(common(element, free) for element in fixed[at:end]), *last]


def common_name(a: str | tuple[Atom, ...], b: str | tuple[Atom, ...]) -> str | None:
    """A name that both match. Names of one or two characters are tried one by one: `.` and `..` are not names."""
    if isinstance(a, str) and (isinstance(b, str) or b is ANY_NAME):
        return a if a == b or b is ANY_NAME else None
    one, other = tuple(a), tuple(b)
    shortest = min((len(atoms) for atoms in (one, other) if STAR not in atoms), default=_ENDLESS)
    if shortest > len(".."):
        found = common_sequence(one, other, _common, ANY_CHAR)
        return None if found is None else "".join(found)
    for left in _spelled(one, shortest):
        for right in _spelled(other, shortest):
            found = _along(left, right, _common)
            if found is not None and (name := "".join(found)) not in NO_NAMES:
                return name
    return None


def _spelled(atoms: tuple[Atom, ...], length: int) -> Iterator[tuple[Atom, ...]]:
    """Every way to read the atoms as exactly this many characters."""
    if not atoms:
        if length == 0:
            yield ()
    elif atoms[0] is STAR:
        for taken in range(length + 1):
            for rest in _spelled(atoms[1:], length - taken):
                yield (*[ANY_CHAR] * taken, *rest)
    elif length:
        for rest in _spelled(atoms[1:], length - 1):
            yield (atoms[0], *rest)


def _common(a: str | CharSet, b: str | CharSet) -> str | None:
    """A character that both match, the dot only if there is no other."""
    if isinstance(b, str):
        a, b = b, a
    if isinstance(a, str):
        if isinstance(b, str):
            return a if a == b else None
        return a if (a in b[1]) is not b[0] else None
    assert not isinstance(b, str)  # swapped above
    if a[0] and b[0]:
        taken = a[1] | b[1]
        return next(char for char in _fillers() if char not in taken)
    if a[0]:
        a, b = b, a
    both = a[1] - b[1] if b[0] else a[1] & b[1]
    return min(both, key=lambda char: (char == ".", not char.isalnum(), char), default=None)


def _fillers() -> Iterator[str]:
    """Letters and digits, then more ideographs than any two classes can exclude; none has another case."""
    yield from _FILLERS
    yield from map(chr, range(0x4E00, 0x4E00 + 2 * CLASS_LIMIT + 1))
