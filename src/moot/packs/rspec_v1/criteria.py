"""What must hold on the real spec file after a stage. Each criterion gets the inputs before and after it.

A marker is a claim until these hold. They judge the block of the target method, except that no test of the file may
vanish, no matter who wrote it. The rest of the file has criteria of its own (`rest_criteria`).
"""

from __future__ import annotations

from moot.packs.rspec_v1.context_tree import (
    contexts_of,
    leaves,
    matched,
    shape_of_group,
    shape_of_nodes,
    tree_of,
)
from moot.packs.rspec_v1.method_block import MethodBlock, NoBlock, find_block, lines_with
from moot.packs.rspec_v1.wording import context_problems, example_doubts, example_problems, order_problems
from moot.packs.ruby.spec_tree import Group
from moot.runs.contract import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.rspec_v1.context_tree import StateNode
    from moot.runs.contract import StageInput

SPEC = "spec"


def block_of(given: StageInput) -> MethodBlock:
    """The block of the target in the spec file. Raises `NoBlock`."""
    data = given.file(SPEC)
    if data is None:
        raise NoBlock("the spec file does not exist")
    return find_block(data, target_of(given))


def target_of(given: StageInput) -> Mapping[str, Any]:
    """The target, from the document; a stage that does not get the document knows it from the request."""
    found: Mapping[str, Any] = (given.document or {}).get("target") or given.parameters
    return found


def characteristics_of(given: StageInput) -> list[Mapping[str, Any]]:
    return list((given.document or {}).get("characteristics") or [])


def problem(given: StageInput, line: int, text: str) -> Problem:
    return Problem(text, path=given.path(SPEC), line=line)


def spec_has_one_block(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """The file is valid Ruby with exactly one block of the target method in the group of its class."""
    try:
        block_of(after)
    except NoBlock as missing:
        yield problem(after, missing.line, str(missing))


# --- skeleton --------------------------------------------------------------------------------------------------------


def tree_matches_document(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """The contexts are those of the characteristics."""
    block = found_block(after)
    if block is not None and shape_of_group(block.group) != shape_of_nodes(tree_of(characteristics_of(after))):
        yield problem(after, block.group.line, "the contexts are not those of the characteristics")


def contexts_are_missing(given: StageInput) -> Iterator[Problem]:
    """The block has fewer contexts than the characteristics. Those that a person has added do not matter."""
    block, nodes = found_block(given), tree_of(characteristics_of(given))
    if block is not None and len(matched(block.group, nodes)) < len(list(_all(nodes))):
        yield problem(given, block.group.line, "the contexts are not those of the characteristics")


def _all(nodes: Sequence[StateNode]) -> Iterator[StateNode]:
    for node in nodes:
        yield node
        yield from _all(node.children)


def placeholders_in_place(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """Every leaf context begins with {CONTEXT_WORD}, no other one does, and every example has its placeholders."""
    block = found_block(after)
    if block is None:
        return
    lowest = {one.start for one in leaves(block.group)}
    for group in block.group.walk():
        marked = (group.text or "").startswith("{CONTEXT_WORD} ")
        if group is not block.group and marked != (group.start in lowest):
            wanted = "begins without {CONTEXT_WORD}, although it is a leaf" if not marked else "is not a leaf"
            yield problem(after, group.line, f"the context '{group.text}' {wanted}")
    for example in block.group.all_examples():
        if example.text != "{BEHAVIOR_DESCRIPTION}" or "{EXPECTATION}" not in example.body or not example.pending:
            yield problem(after, example.line, "the example is without its placeholders")


# --- architect -------------------------------------------------------------------------------------------------------


def words_are_chosen(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """No {CONTEXT_WORD} and no {BEHAVIOR_DESCRIPTION} is left, and every context has an example."""
    block = found_block(after)
    if block is None:
        return
    for line, word in lines_with(block, "{CONTEXT_WORD}", "{BEHAVIOR_DESCRIPTION}"):
        yield problem(after, line, f"{word} is left")
    for group in block.group.walk():
        if not group.kind.startswith("shared") and next(group.all_examples(), None) is None and not group.shared:
            yield problem(after, group.line, f"'{group.text}' has no example")


def positive_contexts_first(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    block = found_block(after)
    if block is not None:
        for group in block.group.walk():
            yield from (problem(after, line, text) for line, text in order_problems(group))


def language_rules_hold(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """The mechanical part of the rules 17 to 20. Doubts are warnings."""
    block = found_block(after)
    if block is None:
        return
    for root in contexts_of(block.group):
        for group in root.walk():
            if not group.kind.startswith("shared"):
                yield from (problem(after, group.line, text) for text in context_problems(group, root=group is root))
    for example in block.group.all_examples():
        yield from (problem(after, example.line, text) for text in example_problems(example))
        yield from (
            problem(after, example.line, f"{text}; it may belong in a context").replace(blocks=False)
            for text in example_doubts(example)
        )


def tree_is_kept(before: StageInput, after: StageInput) -> Iterator[Problem]:
    """The contexts are the same as before, apart from order and wording."""
    old, new = found_block(before), found_block(after)
    if old is None or new is None or shape_of_group(old.group) == shape_of_group(new.group):
        return
    counts = [len(list(leaves(one.group))) for one in (old, new)]
    yield problem(
        after, new.group.line, f"the context tree has changed: {counts[0]} leaf contexts before, {counts[1]} now"
    )


def other_tests_are_kept(before: StageInput, after: StageInput) -> Iterator[Problem]:
    """The tests outside the block of the method are the same as before."""
    old, new = found_block(before), found_block(after)
    if old is not None and new is not None:
        gone = _outside(old) - _outside(new)
        yield from (
            problem(after, 0, f"the example '{name}' outside of the method's block is gone") for name in sorted(gone)
        )


def _outside(block: MethodBlock) -> set[str]:
    inside = {id(one) for one in block.group.all_examples()}
    return {one.text or one.body for one in block.spec.examples() if id(one) not in inside}


# --- from implementer on ---------------------------------------------------------------------------------------------


def descriptions_are_kept(before: StageInput, after: StageInput) -> Iterator[Problem]:
    """Contexts and examples have the texts that they had, in the same order."""
    old, new = found_block(before), found_block(after)
    if old is None or new is None:
        return
    was, now = list(_texts(old.group, ())), list(_texts(new.group, ()))
    if [path for path, _ in was] == [path for path, _ in now]:
        return
    known = {path for path, _ in was}
    added = next(((path, line) for path, line in now if path not in known), None)
    if added is not None:
        yield problem(after, added[1], f"'{_path(added[0])}' is new; texts and contexts stay as architect left them")
    present = {path for path, _ in now}
    yield from (problem(after, 0, f"'{_path(path)}' is gone") for path, _ in was if path not in present)
    if added is None and present == known:
        yield problem(after, new.group.line, "contexts or examples are in another order, or repeated")


def _path(path: tuple[str, ...]) -> str:
    return " > ".join(path)


def _texts(group: Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    for one in group.children:
        here = (*path, one.text or "")
        if one.kind.startswith("shared"):
            continue
        yield here, one.line
        if isinstance(one, Group):
            yield from _texts(one, here)


# --- helpers for other criteria --------------------------------------------------------------------------------------


def found_block(given: StageInput) -> MethodBlock | None:
    """The block; None where `spec_has_one_block` reports why there is none."""
    try:
        return block_of(given)
    except NoBlock:
        return None


def default_contexts(given: StageInput, block: MethodBlock) -> set[int]:
    """The offsets of the contexts for default states, which need no setup of their own."""
    nodes = matched(block.group, tree_of(characteristics_of(given)))
    return {start for start, node in nodes.items() if node.is_default}
