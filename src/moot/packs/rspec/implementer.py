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
from moot.packs.ruby.replaced_methods import replacements
from moot.packs.ruby.spec_overrides import added, overrides
from moot.packs.ruby.spec_words import PENDING
from moot.packs.ruby.vacuity import vacuous_examples

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.packs.rspec.spec_blocks import DescribeBlock, SpecBlocks
    from moot.packs.ruby.calls import RubyCall
    from moot.packs.ruby.spec_overrides import Override
    from moot.packs.ruby.spec_tree import Group
    from moot.packs.ruby.vacuity import Vacuity

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
    doubts = {one.start: one for one in vacuous_examples(data)}
    configs = {shown_name(method): method.get("test_config") or {} for method in selected_methods(document)}
    for method in structure["methods"]:
        block = next(iter(own[method["name"]]), None)
        if block is None:
            continue
        planned, there = len(examples_of(method["contexts"])), len(block.examples)
        if planned != there:
            yield SpecProblem(f"{block.name}: {planned} examples are planned, found {there}", path, block.group.line)
        yield from _unfinished(found, block, path, doubts)
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


def _unfinished(
    found: SpecBlocks, block: DescribeBlock, path: str, doubts: Mapping[int, Vacuity]
) -> Iterator[SpecProblem]:
    yield from _placeholders(found, block, path)
    for example in block.examples:
        doubt = doubts.get(example.start)
        maybe = doubt is not None and not doubt.certain and example.pending in PENDING and example.kind not in PENDING
        if example.pending and not maybe:
            yield SpecProblem(f"{example.text!r} does not run: {example.pending}", path, example.line)
        elif not example.body.strip():
            yield SpecProblem(f"{example.text!r} is empty", path, example.line)
        elif doubt is not None:
            says = "tests nothing" if doubt.certain else "may test nothing"
            yield SpecProblem(f"{example.text!r} {says}: {doubt.reason}", path, example.line, doubt.certain)


def _created(block: DescribeBlock, class_name: str, database: str, path: str) -> Iterator[SpecProblem]:
    """Records that are stored although the database is stubbed or unused."""
    for call in calls_of(block):
        if call.name not in _CREATES:
            continue
        tested = block.name[1:] == call.name and call.receiver in (*_SELF, class_name)
        stores = not call.receiver or call.receiver[0].isupper()
        if stores and not tested and not call.bare:
            shown = f"{call.receiver}.{call.name}" if call.receiver else call.name
            yield SpecProblem(
                f"{block.name}: `{shown}` stores a record, and the database is {database}", path, call.line
            )


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


def nothing_is_lost(before: bytes, after: bytes, class_name: str, path: str) -> Iterator[SpecProblem]:
    """Examples that a stage dropped, emptied or made pending, in any block of the file."""
    old, new = blocks_of(before, class_name), blocks_of(after, class_name)
    left_of = {name: [one for one in new.blocks if one.name == name] for name in {one.name for one in old.blocks}}
    for block in old.blocks:  # of several with one name, the first is compared with the first
        now = left_of[block.name].pop(0) if left_of[block.name] else None
        if now is None:
            yield SpecProblem(f"the block of {block.name} was removed", path)
            continue
        there = {example.text: example for example in now.examples}
        for example in block.examples:
            left = there.get(example.text)
            if left is None:
                yield SpecProblem(f"{block.name}: the example {example.text!r} was removed", path, now.group.line)
            elif left.pending and not example.pending:
                yield SpecProblem(f"{block.name}: {example.text!r} was made pending: {left.pending}", path, left.line)
            elif not left.body.strip():
                yield SpecProblem(f"{block.name}: {example.text!r} was emptied", path, left.line)


def overridden(before: bytes, after: bytes, path: str) -> Iterator[SpecProblem]:
    """What a stage added to the file that takes effect on the examples from outside, such as a hook that skips them."""
    yield from _added(overrides(before), overrides(after), path)


def replaced(document: Mapping[str, Any], before: bytes, after: bytes, path: str) -> Iterator[SpecProblem]:
    """What a stage added to the file that replaces the class under test, or a method that a block tests."""
    names = [one["name"] for one in document["structure"]["methods"]]
    old, new = (replacements(data, document["class_name"], names) for data in (before, after))
    yield from _added(old, new, path)


def _added(before: list[Override], after: list[Override], path: str) -> Iterator[SpecProblem]:
    for one in added(before, after):
        yield SpecProblem(one.reason, path, one.line, one.certain)


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
                yield SpecProblem(said, path)
        if "traits_added" in entry:
            yield from _trait_claims(entry, at, *traits.get(path, (set(), set())))


def _trait_claims(entry: Mapping[str, Any], at: str, now: set[str], added: set[str]) -> Iterator[SpecProblem]:
    stated = set(entry["traits_added"])
    if missing := sorted(stated - now):
        said = f"{at}.traits_added: expected {len(stated)} traits, found {len(stated) - len(missing)}"
        yield SpecProblem(f"{said}: {', '.join(missing)} missing", entry["path"])
    if silent := sorted(added - stated):
        yield SpecProblem(f"{at}.traits_added: {', '.join(silent)} added and not stated", entry["path"])


def count_examples(document: Mapping[str, Any], data: bytes) -> int:
    """The examples in the blocks of the methods that the structure has."""
    structure = document["structure"]
    found = blocks_of(data, structure["describe"])
    names = [method["name"] for method in structure["methods"]]
    return sum(len(block.examples) for block in found.blocks if block.name in names)


def unstubbed(document: Mapping[str, Any], data: bytes) -> list[str]:
    """Classes whose results decide a branch, and that the spec neither stubs nor builds."""
    found = blocks_of(data, document["structure"]["describe"])
    calls = [call for block in found.blocks for call in calls_of(block)]
    if found.group is not None:
        calls += (*found.group.calls, *group_calls(found.group))
    words = {word for call in calls for word in (call.receiver, *(one.source.strip("\"'") for one in call.arguments))}
    missing: dict[str, None] = {}
    for method in selected_methods(document):
        for one in method.get("characteristics") or ():
            source = one.get("source") or {}
            name = source.get("class")
            if source.get("kind") == "external" and name and not any(_mentions(word, name) for word in words):
                missing[name] = None
    return list(missing)


def _mentions(word: str, name: str) -> bool:
    return word == name or word.removeprefix("::").startswith((f"{name}.", f"{name}::")) or word == f":{_snake(name)}"


def _snake(name: str) -> str:
    import re

    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("::", "_")).lower()
