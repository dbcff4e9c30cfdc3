"""What is checked after test-implementer: its claims against the real files. Only the blocks of its methods are judged.

Pure: gets bytes and the document, returns problems (the stage fails) and warnings.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.agents import selected_methods
from moot.packs.rspec.architect import spec_problems
from moot.packs.rspec.contexts import shown_name
from moot.packs.rspec.spec_blocks import blocks_of, planned_blocks
from moot.packs.rspec.spec_text import PLACEHOLDERS
from moot.packs.rspec.structure import examples_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.packs.rspec.spec_blocks import DescribeBlock, SpecBlocks
    from moot.packs.ruby.calls import RubyCall
    from moot.packs.ruby.spec_tree import Group

_CREATES = frozenset(("create", "create!", "create_list", "create_pair"))
_SELF = ("described_class", "subject")


class SpecProblem(Record):
    """What is wrong. What is not certain is only a warning."""

    text: str
    path: str = ""
    line: int = 0
    certain: bool = True


def spec_is_implemented(document: Mapping[str, Any], path: str, data: bytes) -> Iterator[SpecProblem]:
    """Whether the spec file has everything that the structure plans, filled in. Yields what is missing."""
    structure = document["structure"]
    for text, line in spec_problems(structure, data):
        yield SpecProblem(text, path, line)
    found = blocks_of(data, structure["describe"])
    if found.spec.problems:
        return
    own = planned_blocks(structure, data)
    configs = {shown_name(method): method.get("test_config") or {} for method in selected_methods(document)}
    for method in structure["methods"]:
        block = next(iter(own[method["name"]]), None)
        if block is None:
            continue
        planned, there = len(examples_of(method["contexts"])), len(block.examples)
        if planned != there:
            yield SpecProblem(f"{block.name}: {planned} examples are planned, found {there}", path, block.group.line)
        yield from _unfinished(found, block, path)
        isolation = (configs.get(block.name) or {}).get("isolation") or {}
        if isolation.get("db") in ("stubbed", "none"):
            yield from _created(block, document["class_name"], isolation["db"], path)


def placeholders(structure: Mapping[str, Any], path: str, data: bytes) -> Iterator[SpecProblem]:
    """The placeholders in the planned blocks of a spec file."""
    found = blocks_of(data, structure["describe"])
    for blocks in planned_blocks(structure, data).values():
        for block in blocks[:1]:
            yield from _placeholders(found, block, path)


def _placeholders(found: SpecBlocks, block: DescribeBlock, path: str) -> Iterator[SpecProblem]:
    for number, line in enumerate(found.source(block).decode("utf-8", "replace").splitlines()):
        for placeholder in PLACEHOLDERS:
            if placeholder in line:
                yield SpecProblem(f"{block.name}: {placeholder} is left", path, block.group.line + number)


def _unfinished(found: SpecBlocks, block: DescribeBlock, path: str) -> Iterator[SpecProblem]:
    yield from _placeholders(found, block, path)
    for example in block.examples:
        if not example.expects:
            yield SpecProblem(f"{example.text!r} has no expectation", path, example.line)


def _created(block: DescribeBlock, class_name: str, database: str, path: str) -> Iterator[SpecProblem]:
    """Records that are stored although the database is stubbed or unused."""
    for call in calls_of(block):
        if call.name not in _CREATES:
            continue
        tested = block.name[1:] == call.name and call.receiver in (*_SELF, class_name)
        stores = not call.receiver or call.receiver[0].isupper()
        if stores and not tested and not call.bare:
            shown = f"{call.receiver}.{call.name}" if call.receiver else call.name
            said = f"{block.name}: `{shown}` stores a record, and the database is {database}"
            yield SpecProblem(said, path, call.line, certain=False)


def calls_of(block: DescribeBlock) -> Iterator[RubyCall]:
    """All calls in a block: in its own body, its definitions, hooks and examples."""
    for group in block.group.walk():
        yield from group.calls
        yield from group_calls(group)
        for example in group.examples:
            yield from example.calls


def group_calls(group: Group) -> Iterator[RubyCall]:
    """The calls in the definitions and hooks of a group."""
    for definition in group.definitions:
        yield from definition.calls
    for hook in group.hooks:
        yield from hook.calls


def claims_hold(
    files: list[Mapping[str, Any]],
    document: Mapping[str, Any],
    contents: Mapping[str, bytes],
    traits: Mapping[str, Any],
) -> Iterator[SpecProblem]:
    """Whether the files that an agent lists exist and have what it says.

    `traits`: by path, a pair of sets: the traits in the file now, and those that were added.
    """
    for index, entry in enumerate(files):
        path, at = entry["path"], f"data.files_created[{index}]"
        if path not in contents:
            yield SpecProblem(f"{at}.path: there is no such file", path)
            continue
        if "examples_count" in entry:
            found = count_examples(document, contents[path])
            if found != entry["examples_count"]:
                said = f"{at}.examples_count: expected {entry['examples_count']} examples, found {found}"
                yield SpecProblem(said, path, certain=False)
        if "traits_added" in entry:
            yield from _trait_claims(entry, at, *traits.get(path, (set(), set())))


def _trait_claims(entry: Mapping[str, Any], at: str, now: set[str], added: set[str]) -> Iterator[SpecProblem]:
    stated = set(entry["traits_added"])
    if missing := sorted(stated - now):
        said = f"{at}.traits_added: expected {len(stated)} traits, found {len(stated) - len(missing)}"
        yield SpecProblem(f"{said}: {', '.join(missing)} missing", entry["path"], certain=False)
    if silent := sorted(added - stated):
        yield SpecProblem(f"{at}.traits_added: {', '.join(silent)} added and not stated", entry["path"], certain=False)


def count_examples(document: Mapping[str, Any], data: bytes) -> int:
    """The examples in the blocks of the methods that the structure has."""
    structure = document["structure"]
    found = blocks_of(data, structure["describe"])
    names = [method["name"] for method in structure["methods"]]
    return sum(len(block.examples) for block in found.blocks if block.name in names)
