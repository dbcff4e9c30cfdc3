"""How complex a source file is: its lines of code, its methods, and the zone that follows from them."""

from __future__ import annotations

from moot.core.record import Record

GREEN, YELLOW, RED = "green", "yellow", "red"
ZONES = (GREEN, YELLOW, RED)
_FEW_LINES, _MANY_LINES = 150, 300
_FEW_METHODS, _MANY_METHODS = 7, 12


class Complexity(Record):
    """As the metadata document has it."""

    zone: str
    loc: int
    methods: int


def complexity(source: bytes, methods: int) -> Complexity:
    loc = lines_of_code(source)
    return Complexity(zone=zone(loc, methods), loc=loc, methods=methods)


def zone(loc: int, methods: int) -> str:
    """Green below 150 lines and 7 methods, red above 300 lines or 12 methods. The worse number decides."""
    if loc > _MANY_LINES or methods > _MANY_METHODS:
        return RED
    return GREEN if loc < _FEW_LINES and methods < _FEW_METHODS else YELLOW


def lines_of_code(source: bytes) -> int:
    """Lines that are neither blank nor only a comment. What follows `__END__` is data."""
    count, inside = 0, False
    for line in source.removeprefix(b"\xef\xbb\xbf").splitlines():
        if line == b"__END__" and not inside:
            break
        if inside or line.startswith(b"=begin"):
            inside = not line.startswith(b"=end")
            continue
        text = line.strip()
        count += bool(text) and not text.startswith(b"#")
    return count
