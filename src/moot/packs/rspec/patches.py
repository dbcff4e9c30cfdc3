"""Reads what `git diff` prints: the list of changed files (`--raw -z`) and the changed lines (`--unified=0`).

Pure. File names are bytes and may contain anything but NUL.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ESCAPES = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_TWO_PATHS = "RC"


class Entry(Record):
    """A changed file. `status` is git's letter: A, M, D, R, T, U. `blob`: the name of its old content."""

    status: str
    path: bytes
    old_path: bytes
    mode: str  # after the change; 000000 if it was deleted
    blob: str


class Hunk(Record):
    """Changed lines of the new file: `count` lines from `first`. With count 0, lines after `first` were deleted."""

    first: int
    count: int

    def touches(self, first: int, last: int) -> bool:
        """Whether it changes something between these lines, both included."""
        if self.count:
            return self.first <= last and self.first + self.count - 1 >= first
        return first <= self.first < last


def entries(parts: Sequence[bytes]) -> Iterator[Entry]:
    """The files of `git diff --raw -z --no-abbrev`, split at NUL."""
    rest = iter(parts)
    for head in rest:
        words = head.decode("ascii").removeprefix(":").split(" ")
        status = words[4][:1]
        old = next(rest)
        new = next(rest) if status in _TWO_PATHS else old
        yield Entry(status=status, path=new, old_path=old, mode=words[1], blob=words[2])


def hunks(patch: bytes) -> Mapping[bytes, tuple[Hunk, ...]]:
    """The hunks of each file of a patch with `--unified=0`, quoted names and the prefixes `a/`, `b/`."""
    found: dict[bytes, list[Hunk]] = {}
    current: list[Hunk] = []
    skip = 0  # lines of content that follow the head of a hunk
    for line in patch.split(b"\n"):
        if skip and line[:1] in (b"+", b"-"):
            skip -= 1
        elif line.startswith(b"+++ "):
            current = found.setdefault(_name(line[4:]), [])
        elif line.startswith(b"@@ "):
            old, new = (_span(word) for word in line.split(b" ")[1:3])
            current.append(Hunk(first=new[0], count=new[1]))
            skip = old[1] + new[1]
    return {name: tuple(all_of_it) for name, all_of_it in found.items()}


def _span(word: bytes) -> tuple[int, int]:
    """`+12,3` as (12, 3); `+12` as (12, 1)."""
    first, comma, count = word[1:].partition(b",")
    return int(first), int(count) if comma else 1


def _name(word: bytes) -> bytes:
    """The name after `+++ `, without its prefix. Git quotes names with special characters as C does."""
    word = word.removesuffix(b"\t")
    return (_unquoted(word) if word.startswith(b'"') else word).removeprefix(b"b/")


def _unquoted(word: bytes) -> bytes:
    plain, at, end = bytearray(), 1, len(word) - 1
    while at < end:
        letter = word[at]
        if letter != ord("\\"):
            plain.append(letter)
            at += 1
        elif word[at + 1] in _ESCAPES:
            plain.append(_ESCAPES[word[at + 1]])
            at += 2
        else:
            plain.append(int(word[at + 1 : at + 4], 8))
            at += 4
    return bytes(plain)
