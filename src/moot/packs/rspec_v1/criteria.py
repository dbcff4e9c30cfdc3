"""What must hold on the real spec file after a stage. Each criterion gets the inputs before and after it.

A marker is a claim until these hold. They judge the block of the target method, except that no test of the file may
vanish, no matter who wrote it. The rest of the file has criteria of its own (`rest_criteria`).
"""

from __future__ import annotations

from moot.packs.rspec.spec_text import SETUP, WORDING
from moot.packs.rspec_v1.context_tree import (
    contexts_of,
    leaves,
    matched,
    shape_of_group,
    shape_of_nodes,
    tree_of,
)
from moot.packs.rspec_v1.method_block import MethodBlock, NoBlock, find_block, lines_with
from moot.packs.rspec_v1.wording import WORDS
from moot.packs.ruby.spec_tree import Group
from moot.runs.contract import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

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
    """No placeholder for words is left, and every context has an example."""
    block = found_block(after)
    if block is None:
        return
    for line, word in lines_with(block, *WORDING):
        yield problem(after, line, f"{word} is left")
    for group in block.group.walk():
        if not group.kind.startswith("shared") and next(group.all_examples(), None) is None and not group.shared:
            yield problem(after, group.line, f"'{group.text}' has no example")


def first_states_first(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """The context of a characteristic's first state stands before its others. Comments tell which context is which."""
    block = found_block(after)
    data = block.spec.data if block is not None else b""
    first = {entry["name"]: f"{entry['name']}: {entry['states'][0]}" for entry in characteristics_of(after)}
    for group in block.group.walk() if block is not None else ():
        told: set[str] = set()
        for one in contexts_of(group):
            text = data[one.start : one.end].decode("utf-8", "replace")
            state = text.partition(f"# {SETUP} ")[2].partition("\n")[0].strip()
            name = next((name for name in first if state.startswith(f"{name}: ")), "")
            if name and name not in told and state != first[name]:
                yield problem(after, one.line, f"'{one.text}' stands before the context of {first[name]}")
            told.add(name)


def language_rules_hold(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """Every context begins with one of the words, a root with `when`, and every example has a text."""
    block = found_block(after)
    if block is None:
        return
    for root in contexts_of(block.group):
        for group in root.walk():
            allowed = ("when",) if group is root else WORDS
            if not group.kind.startswith("shared") and (group.text or "").split(" ", 1)[0] not in allowed:
                yield problem(after, group.line, f"'{group.text}' does not begin with {' or '.join(allowed)}")
    for example in block.group.all_examples():
        if not (example.text or "").strip():
            yield problem(after, example.line, "this example has no description")


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
