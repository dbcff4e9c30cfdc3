"""What must hold after the factory optimizer: only factory calls changed, and they use traits and no database."""

from __future__ import annotations

from moot.packs.rspec_v1.criteria import found_block, problem
from moot.packs.rspec_v1.factory_calls import factory_calls, must_be_stored, trait_for, traits_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.packs.rspec_v1.method_block import MethodBlock
    from moot.runs.contract import Problem, StageInput


def has_factory_calls(given: StageInput) -> bool:
    block = found_block(given)
    return block is not None and next(factory_calls(block.group), None) is not None


def only_factory_calls_changed(before: StageInput, after: StageInput) -> Iterator[Problem]:
    """Apart from method, traits and attributes of factory calls, the block reads as before."""
    old, new = found_block(before), found_block(after)
    if old is None or new is None:
        return
    was, now = _masked(old), _masked(new)
    if was == now:
        return
    number = next(
        (n for n, pair in enumerate(zip(was, now, strict=False)) if pair[0] != pair[1]), min(len(was), len(now))
    )
    shown = " ".join(now[number : number + 6])
    yield problem(after, _line(new, number), f"more than factory calls changed, at `{shown[:80] or 'the end'}`")


def _masked(block: MethodBlock) -> list[str]:
    """The words of the block, each factory call replaced by the name of its factory."""
    data, at, end = block.spec.data, block.group.start, block.group.end
    parts = []
    for call in sorted(factory_calls(block.group), key=lambda one: one.start):
        if call.start >= at:
            parts += [data[at : call.start].decode("utf-8", "replace"), f" factory:{call.factory} "]
            at = call.end
    parts.append(data[at:end].decode("utf-8", "replace"))
    return "".join(parts).split()


def _line(block: MethodBlock, number: int) -> int:
    """The line of the block with this word, about: words of factory calls are not counted."""
    words = 0
    for offset, line in enumerate(block.data.decode("utf-8", "replace").splitlines()):
        words += len(line.split())
        if words > number:
            return block.group.line + offset
    return block.group.last


def unit_tests_build(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """At unit level, each `create` is of a record that must be stored, or a warning of the agent names its line."""
    block = found_block(after)
    if block is None or (after.document or {}).get("test_level") != "unit":
        return
    warned = _warnings(after)
    for call in factory_calls(block.group):
        if call.stores and not must_be_stored(call, block.group) and not _names_line(warned, call.line):
            yield problem(
                after,
                call.line,
                f"`{call.method}(:{call.factory})` at unit level: use build_stubbed, or warn of line {call.line}",
            )


def _warnings(given: StageInput) -> list[str]:
    """The warnings in the answer of the stage."""
    return list(given.output.warnings) if given.output is not None else []


def _names_line(warnings: list[str], line: int) -> bool:
    return any(str(line) in "".join(c if c.isdigit() else " " for c in one).split() for one in warnings)


def traits_are_used(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """No attribute is given where the factory has a trait for it. A trait that does not exist is a warning."""
    block = found_block(after)
    if block is None:
        return
    document = after.document or {}
    known = document.get("factories_detected") or {}
    for call in factory_calls(block.group):
        traits = traits_of(document, call.factory)
        for key, value in call.overrides.items():
            trait = trait_for(key, value, traits)
            if trait is not None:
                yield problem(
                    after,
                    call.line,
                    f"`{key}: {value.source}` of the factory {call.factory}: use its trait :{trait}",
                )
        if call.factory in known:
            yield from (
                problem(after, call.line, f"Factory trait :{trait} not found").replace(blocks=False)
                for trait in call.traits
                if trait not in traits
            )
