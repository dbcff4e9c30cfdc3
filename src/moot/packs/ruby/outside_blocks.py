"""What was changed in a spec file outside some of its blocks. There, every byte belongs to a person.

Blank lines around a block do not count. Comments that were added do not matter: a person may have written them
meanwhile, and no test depends on them. Pure: gets trees of files, returns changes.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.core.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from difflib import Match

    from moot.packs.ruby.spec_tree import Group, SpecFile

_GAP = b"\0"  # stands for a block
_SHOWN = 80  # characters of a line


class Change(Record):
    """One part of the file that was changed. `line`: where it is now."""

    text: str
    line: int
    added: bool  # nothing that was there before was changed
    matters: bool


class SpecWithBlocks(Record):
    """A spec file, the blocks that may change, and all blocks of methods, by which changes are named."""

    spec: SpecFile
    own: Sequence[Group]
    blocks: Sequence[Group] = ()


class _Line(Record):
    number: int
    text: bytes


def changes_outside(before: SpecWithBlocks, after: SpecWithBlocks) -> Iterator[Change]:
    """Compare what is around as many blocks before and after, and name each part that was changed once."""
    from difflib import SequenceMatcher

    old, new = _around(before), _around(after)
    texts = [one.text for one in old], [one.text for one in new]
    if texts[0] == texts[1]:
        return
    said: dict[str, Change] = {}
    for what, first, last, at, end in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if what != "equal":
            line = new[min(at, len(new) - 1)].number if new else 1
            added = what == "insert"
            matters = not added or not all(_is_comment(one.text) for one in new[at:end])
            parts = [_named(before, one.number) for one in old[first:last] if one.text.strip(b" \t\r\0")]
            for name in parts or [_beside(before, old, first, new[at:end])]:
                known = said.get(name, Change(name, line, added=True, matters=False))
                said[name] = Change(name, line, added=added and known.added, matters=matters or known.matters)
    yield from said.values()


def with_earlier_blocks(now: SpecWithBlocks, before: SpecWithBlocks) -> bytes | None:
    """The file as it is now, with its blocks as they were before; None if there are not as many."""
    if len(now.own) != len(before.own):
        return None
    data = now.spec.data
    for block, earlier in reversed([*zip(now.own, before.own, strict=True)]):
        data = data[: block.start] + before.spec.data[earlier.start : earlier.end] + data[block.end :]
    return data


def with_later_edits(before: SpecWithBlocks, left: SpecWithBlocks, now: SpecWithBlocks) -> bytes | None:
    """The file before a change, with what was edited outside the blocks after it; None if there are not as many blocks.

    `left`: as the change left the file. What nobody has touched since then is as it was before the change.
    """
    from difflib import SequenceMatcher

    if not len(before.own) == len(left.own) == len(now.own):
        return None
    old, changed, new = (_masked(one).splitlines(keepends=True) for one in (before, left, now))
    same = SequenceMatcher(None, changed, new, autojunk=False).get_matching_blocks()
    ends = len(changed), len(new)
    for what, first, last, at, end in reversed(SequenceMatcher(None, old, changed, autojunk=False).get_opcodes()):
        place = _place_of(at, end, same, ends) if what != "equal" else None
        if place is not None:
            new[place : place + end - at] = old[first:last]
    parts = b"".join(new).split(_GAP)
    blocks = [before.spec.data[one.start : one.end] for one in before.own]
    return b"".join(part + block for part, block in zip(parts, [*blocks, b""], strict=True))


def _masked(file: SpecWithBlocks) -> bytes:
    data = file.spec.data
    for one in reversed(file.own):
        data = data[: one.start] + _GAP + data[one.end :]
    return data


def _place_of(at: int, end: int, same: Sequence[Match], ends: tuple[int, int]) -> int | None:
    """Where lines of a file are in a later version; None if somebody has changed them, or something right beside."""
    for block in same:
        first, last = block.a, block.a + block.size
        inside = first <= at and end <= last if at < end else first < at < last
        begins = at == end == 0 == block.a == block.b
        finishes = (at, block.b + block.size) == ends and at == end == last
        if inside or begins or finishes:
            return block.b + at - first
    return None


def _is_comment(text: bytes) -> bool:
    """Whether a line has no code, and nothing that tells Ruby how to read the file."""
    plain = text.strip(b" \t\r")
    return not plain or (plain.startswith(b"#") and b":" not in plain)


def _around(file: SpecWithBlocks) -> list[_Line]:
    """The lines around the blocks, each with its number, and one in the place of each block."""
    found: list[_Line] = []
    data, at = file.spec.data, 0
    for start, end in [*((one.start, one.end) for one in file.own), (len(data), len(data))]:
        part = data[at:start]
        lead = len(part) - len(part.lstrip())
        first = data.count(b"\n", 0, at + lead) + 1
        lines = part.strip().split(b"\n") if part.strip() else []
        found += [_Line(first + number, text) for number, text in enumerate(lines)]
        found += [_Line(data.count(b"\n", 0, start) + 1, _GAP)] if start < len(data) else []
        at = end
    return found


def _named(file: SpecWithBlocks, line: int) -> str:
    """What was changed, by a line before the change."""
    for block in file.blocks:
        if block.line <= line <= block.last:
            return f"the block of {block.text} (line {block.line}) was changed"
    for example in file.spec.examples():
        if example.line <= line <= example.last:
            return f"the example {example.text!r} (line {example.line}) was changed"
    return f"line {line} was changed"


def _beside(file: SpecWithBlocks, old: Sequence[_Line], index: int, added: Sequence[_Line]) -> str:
    """What was changed if lines were added there: what is around them, if that is one block or example."""
    around = [_named(file, old[at].number) for at in (index - 1, index) if 0 <= at < len(old)]
    if len(set(around)) == 1 and len(around) > 1:
        return around[0]
    text = next((one.text.strip() for one in added if one.text.strip(b" \t\r\0")), b"")
    return f"`{one_line(text.decode('utf-8', 'replace'), _SHOWN)}` was added" if text else "blank lines were changed"
