"""What must hold outside the block of the target method: the tests there are a person's, and stay as they are."""

from __future__ import annotations

from moot.packs.rspec_v1.criteria import found_block, problem, target_of
from moot.packs.rspec_v1.method_block import NoBlock, find_block, header_of
from moot.packs.ruby.outside_blocks import SpecWithBlocks, changes_outside, with_earlier_blocks, with_later_edits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.packs.rspec_v1.method_block import MethodBlock
    from moot.packs.ruby.spec_tree import Group
    from moot.pipelines.contract import Problem, StageInput


def rest_is_kept(before: StageInput, after: StageInput) -> Iterator[Problem]:
    """Outside the method's block nothing was changed, and nothing was added where other tests would meet it."""
    old, new = found_block(before), found_block(after)
    if old is None or new is None:
        return
    alone = not _has_other_tests(old)
    was = SpecWithBlocks(old.spec, (old.group,), _blocks(old))
    for change in changes_outside(was, SpecWithBlocks(new.spec, (new.group,))):
        if not (alone and change.added):
            said = f"{change.text}; only the block of {header_of(target_of(after))} may change"
            yield problem(after, change.line, said).replace(blocks=change.matters)


def kept_rest(target: Mapping[str, Any], before: bytes, now: bytes) -> bytes:
    """The file as it was before, but with what is outside the method's block as it is now."""
    try:
        old, new = find_block(before, target), find_block(now, target)
    except NoBlock:  # the stage says which is missing
        return before
    made = with_earlier_blocks(SpecWithBlocks(new.spec, (new.group,)), SpecWithBlocks(old.spec, (old.group,)))
    return before if made is None else made


def repaired_rest(target: Mapping[str, Any], before: bytes, left: bytes, now: bytes) -> bytes:
    """The file as it was before, with what a person edited outside the block after a failed attempt left it so."""
    try:
        files = [find_block(data, target) for data in (before, left, now)]
    except NoBlock:
        return before
    made = with_later_edits(*(SpecWithBlocks(one.spec, (one.group,)) for one in files))
    return before if made is None else made


def _has_other_tests(block: MethodBlock) -> bool:
    inside = {one.start for one in block.group.walk()}
    others = (one for top in block.spec.groups for one in top.walk() if one.start not in inside)
    return any(one.examples or one.shared for one in others)


def _blocks(block: MethodBlock) -> tuple[Group, ...]:
    """The blocks of all methods."""
    groups = (one for top in block.spec.groups for one in top.walk())
    return tuple(one for one in groups if one.kind.endswith("describe") and (one.text or "")[:1] in ("#", "."))
