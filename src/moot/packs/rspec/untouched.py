"""What a stage changed in a spec file outside the blocks of its methods. There, every byte belongs to a person.

Comments that were added are only a warning. Pure: gets bytes, returns problems.
"""

from __future__ import annotations

from moot.packs.rspec.implementer import SpecProblem
from moot.packs.rspec.spec_blocks import blocks_of, planned_blocks
from moot.packs.rspec.spec_text import PLACEHOLDERS
from moot.packs.ruby.outside_blocks import SpecWithBlocks, changes_outside, with_earlier_blocks, with_later_edits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.rspec.spec_blocks import DescribeBlock, SpecBlocks
    from moot.packs.ruby.spec_tree import Group


def changed_outside(structure: Mapping[str, Any], before: bytes, after: bytes, path: str) -> Iterator[SpecProblem]:
    """What was changed outside the blocks of the structure's methods. Their own trees are judged elsewhere."""
    old, new = blocks_of(before, structure["describe"]), blocks_of(after, structure["describe"])
    own = _to_fill(old, structure)
    yield from _changed(old, own, new, _at_their_places(old, own, new), structure, path)


def reworded_outside(structure: Mapping[str, Any], before: bytes, after: bytes, path: str) -> Iterator[SpecProblem]:
    """The same for a stage that changes texts in its blocks: the structure already has the new ones."""
    old, new = blocks_of(before, structure["describe"]), blocks_of(after, structure["describe"])
    now = _to_fill(new, structure)
    yield from _changed(old, _at_their_places(new, now, old), new, now, structure, path)


def kept_outside(structure: Mapping[str, Any], before: bytes, now: bytes) -> bytes:
    """The file as it was before, but with what is outside the blocks of the structure's methods as it is now."""
    old, new = blocks_of(before, structure["describe"]), blocks_of(now, structure["describe"])
    own = _to_fill(old, structure)
    there = _at_their_places(old, own, new)
    made = with_earlier_blocks(SpecWithBlocks(new.spec, _groups(there)), SpecWithBlocks(old.spec, _groups(own)))
    return before if made is None or new.spec.problems else made


def kept_beside(document: Mapping[str, Any], names: Collection[str], before: bytes, now: bytes) -> bytes:
    """The file as it is now, with the blocks of these methods as they were before; those that are new are left out."""
    old, new = (blocks_of(data, document["class_name"]) for data in (before, now))
    if new.spec.problems:
        return before
    earlier = {name: [old.source(one) for one in old.blocks if one.name == name] for name in names}
    data = now
    for block in reversed([one for one in new.blocks if one.name in names]):
        number = [one.group.start for one in new.blocks if one.name == block.name].index(block.group.start)
        head, tail = data[: block.group.start], data[block.group.end :]
        if number < len(earlier[block.name]):
            data = head + earlier[block.name][number] + tail
        else:
            head, tail = head.rstrip(b" \t"), tail.removeprefix(b"\n")
            data = (head[:-1] if head.endswith(b"\n\n") else head) + tail
    return data


def repaired_outside(structure: Mapping[str, Any], before: bytes, left: bytes, now: bytes) -> bytes:
    """The file as it was before, with what a person edited outside the blocks after a failed attempt left it so."""
    old, failed, new = (blocks_of(data, structure["describe"]) for data in (before, left, now))
    own = _to_fill(old, structure)
    files = [SpecWithBlocks(one.spec, _groups(_at_their_places(old, own, one))) for one in (failed, new)]
    made = with_later_edits(SpecWithBlocks(old.spec, _groups(own)), *files)
    return before if made is None or new.spec.problems else made


def _to_fill(found: SpecBlocks, structure: Mapping[str, Any]) -> list[DescribeBlock]:
    """The blocks that test-architect planned: those with placeholders, if a person has others of the same name."""
    chosen: list[DescribeBlock] = []
    for method, planned in planned_blocks(structure, found.spec.data).items():
        same = [block for block in found.blocks if block.name == method]
        unfilled = [one for one in same if any(word.encode() in found.source(one) for word in PLACEHOLDERS)]
        starts = {one.group.start for one in unfilled or planned}
        chosen += [block for block in same if block.group.start in starts]
    return sorted(chosen, key=lambda block: block.group.start)


def _at_their_places(found: SpecBlocks, chosen: Sequence[DescribeBlock], other: SpecBlocks) -> list[DescribeBlock]:
    """The blocks of another version of the file that are at the places of these: the second `#sell` is the second."""

    def named(spec: SpecBlocks, name: str) -> list[DescribeBlock]:
        return [block for block in spec.blocks if block.name == name]

    places = [(block.name, named(found, block.name).index(block)) for block in chosen]
    there = [(named(other, name), place) for name, place in places]
    blocks = [same[place] for same, place in there if place < len(same)]
    return sorted(blocks, key=lambda block: block.group.start)


def _changed(
    spec: SpecBlocks,
    own: Sequence[DescribeBlock],
    after: SpecBlocks,
    now: Sequence[DescribeBlock],
    structure: Mapping[str, Any],
    path: str,
) -> Iterator[SpecProblem]:
    """Compare what is around the blocks; a file that cannot be parsed is reported elsewhere."""
    if after.spec.problems:
        return
    names = ", ".join(method["name"] for method in structure["methods"])
    if len(own) != len(now):
        yield SpecProblem(f"blocks are gone: there were {len(own)} of {names} to work on, found {len(now)}", path)
        return
    old = SpecWithBlocks(spec.spec, _groups(own), _groups(spec.blocks))
    for change in changes_outside(old, SpecWithBlocks(after.spec, _groups(now))):
        said = f"{change.text}; only the blocks of {names} may change"
        yield SpecProblem(said, path, change.line, certain=change.matters)


def _groups(blocks: Sequence[DescribeBlock]) -> tuple[Group, ...]:
    return tuple(block.group for block in blocks)
