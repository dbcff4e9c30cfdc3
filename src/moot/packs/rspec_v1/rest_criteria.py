"""What must hold outside the block of the target method: the tests there are a person's, and stay as they are."""

from __future__ import annotations

from moot.packs.rspec_v1.criteria import found_block, problem, target_of
from moot.packs.rspec_v1.method_block import header_of
from moot.packs.ruby.outside_blocks import changed_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.runs.contract import Problem, StageInput


def rest_is_kept(before: StageInput, after: StageInput) -> Iterator[Problem]:
    """Outside the method's block, every byte stays as it was."""
    old, new = found_block(before), found_block(after)
    if old is None or new is None:
        return
    line = changed_line(old.spec.data, [old.group], new.spec.data, [new.group])
    if line:
        yield problem(after, line, f"changed; only the block of {header_of(target_of(after))} may change")
