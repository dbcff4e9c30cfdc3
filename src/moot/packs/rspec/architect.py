"""test-architect: plans the contexts of the selected methods, and writes them into the spec file.

A method without a block gets one; any other block is written again. All other bytes of the file stay. A block that moot
did not write, or that somebody edited since moot's last stage, is replaced only if a person says so.

Pure: gets bytes, returns bytes.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.agents import selected_methods
from moot.packs.rspec.contexts import bank_of, contexts_of, shown_name
from moot.packs.rspec.isolation import check_mode
from moot.packs.rspec.spec_blocks import blocks_of, contexts_in, difference, shape, without_kinds
from moot.packs.rspec.spec_text import describe_block, group, whole_file
from moot.packs.ruby.spec_tree import parse_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.rspec.contexts import Context
    from moot.packs.ruby.spec_tree import Group, SpecPart

    Wanted = dict[str, tuple[Mapping[str, Any], list[Context]]]  # by name: the method and its contexts

WORDED = ("{CONDITION}", "{BEHAVIOR_DESCRIPTION}")  # what is left where the code has no words
_STEP = "  "


class PlannedSpec(Record):
    """The new content of the spec file and its structure. `conflicts`: blocks that only a person may replace."""

    data: bytes
    structure: Mapping[str, Any]
    conflicts: tuple[tuple[str, int], ...] = ()  # method and line


class _Edit(Record):
    start: int
    end: int
    text: str


def plan_spec(
    document: Mapping[str, Any],
    existing: bytes | None,
    own: Container[bytes] = (),
    *,
    overwrite: bool = False,
    corrected: bool = False,
    helper: str = "",
    done: Container[str] = (),
) -> PlannedSpec:
    """Plan the spec file of a document.

    `own`: the texts of blocks that moot may replace; with `overwrite`, all. `corrected`: the last attempt failed, so a
    block of which only the texts are others stays as it is. `done`: methods of earlier waves, with finished blocks.
    """
    name, bank = document["class_name"], bank_of(document)
    wanted: Wanted = {}
    for index, method in enumerate(selected_methods(document)):
        check_mode(method, index)
        wanted[shown_name(method)] = method, contexts_of(method, bank)
    structure = _structure(name, wanted)
    if existing is None or not existing.strip():
        blocks = [describe_block(title, contexts) for title, (_, contexts) in wanted.items()]
        return PlannedSpec(whole_file(name, blocks, helper).encode(), structure)
    found = blocks_of(existing, name)
    edits: list[_Edit] = []
    conflicts: list[tuple[str, int]] = []
    added: dict[str, list[Context]] = {}
    for title, (one, contexts) in wanted.items():
        block = found.block(title)
        if block is None:
            added[title] = contexts
            continue
        start, end = block.group.start, block.group.end
        text = describe_block(title, contexts, " " * (start - (existing.rfind(b"\n", 0, start) + 1)))
        if one["name"] in done:
            continue
        if corrected and _code(existing[start:end]) == _code(text.encode()):
            (own_part,) = (part for part in structure["methods"] if part["name"] == title)
            own_part["contexts"] = _reworded(own_part["contexts"], contexts_in(block.group))
            continue
        if overwrite or existing[start:end] in own:
            edits.append(_Edit(start, end, text))
        else:
            conflicts.append((title, block.group.line))
    return PlannedSpec(_with_added(_applied(existing, edits), name, added), structure, tuple(conflicts))


def _reworded(planned: Sequence[dict[str, Any]], found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The planned contexts with the texts that they have in the file."""
    return [
        {**one, "name": other["name"], "children": _reworded(one["children"], other["children"])}
        if "children" in one
        else {**one, "name": other["name"], "examples": list(other["examples"])}
        for one, other in zip(planned, found, strict=True)
    ]


def _structure(name: str, wanted: Wanted) -> dict[str, Any]:
    methods = [
        {"name": title, "contexts": [one.plain() for one in contexts if not one.skipped]}
        for title, (_, contexts) in wanted.items()
    ]
    return {"describe": name, "methods": methods}


def _applied(data: bytes, edits: Sequence[_Edit]) -> bytes:
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        text = edit.text.encode()
        if b"\r\n" in data:
            text = text.replace(b"\n", b"\r\n")
        data = data[: edit.start] + text + data[edit.end :]
    return data


def _with_added(data: bytes, name: str, added: Mapping[str, list[Context]]) -> bytes:
    """The file with new blocks at the end of the group of the class; with a new group if there is none."""
    if not added:
        return data
    found = blocks_of(data, name)
    if found.group is None:
        gap = "" if data.endswith(b"\n\n") else "\n" if data.endswith(b"\n") else "\n\n"
        blocks = [describe_block(title, contexts) for title, contexts in added.items()]
        return _applied(data, [_Edit(len(data), len(data), gap + group(name, blocks))])
    outer = " " * (found.group.start - (data.rfind(b"\n", 0, found.group.start) + 1))
    indent = outer + _STEP
    texts = [f"{indent}{describe_block(title, contexts, indent)}" for title, contexts in added.items()]
    empty = not data[found.group.body_start : found.group.body_end].strip()
    text = "\n\n".join(texts)
    if empty:
        at = data.rfind(b"\n", 0, found.group.end) + 1
        return _applied(data, [_Edit(at, at, f"{text}\n")])
    at = len(data[: found.group.end - len(b"end")].rstrip())
    return _applied(data, [_Edit(at, at, f"\n\n{text}")])


# --- checks ----------------------------------------------------------------------------------------------------------


def spec_problems(structure: Mapping[str, Any], data: bytes) -> Iterator[tuple[str, int]]:
    """Where the spec file and the structure differ: texts with lines. None means that they describe the same trees."""
    found = blocks_of(data, structure["describe"])
    for problem in found.spec.problems:
        yield f"the file does not parse: {problem.message}", problem.line
    if found.group is None:
        yield f"there is no group for {structure['describe']}", 1
        return
    for method in structure["methods"]:
        same = [block for block in found.blocks if block.name == method["name"]]
        if not same:
            yield f"there is no block for {method['name']}", found.group.line
        elif text := min((_differs(method, block.group) for block in same), key=len):
            yield f"{method['name']}: {text}", same[0].group.line


def _differs(method: Mapping[str, Any], block: Group) -> str:
    return difference(without_kinds(method["contexts"]), contexts_in(block))


def wording_problems(before: bytes, after: bytes, class_name: str) -> Iterator[tuple[str, int]]:
    """What a rewording changed besides texts of contexts and examples."""
    old, new = blocks_of(before, class_name), blocks_of(after, class_name)
    for problem in new.spec.problems:
        yield f"the file does not parse: {problem.message}", problem.line
    if [block.name for block in old.blocks] != [block.name for block in new.blocks]:
        yield "the methods or their order were changed", 1
        return
    for other, word in ((block, word) for block in new.blocks for word in WORDED if word.encode() in new.source(block)):
        yield f"{other.name}: {word} is left", other.group.line
    for one, other in zip(old.blocks, new.blocks, strict=True):
        if shape(contexts_in(one.group)) != shape(contexts_in(other.group)):
            yield f"{one.name}: the tree of contexts and examples was changed", other.group.line
        elif _order(one.group) != _order(other.group):
            yield f"{one.name}: the order of the contexts was changed", other.group.line
    if not new.spec.problems and _code(old.spec.data) != _code(new.spec.data):
        yield "code was changed, not only the texts of contexts and examples", 1


def _order(found: Group) -> list[Any]:
    """What identifies the contexts of a block without their texts: the values that they set."""
    return [[(one.name, one.body.strip()) for one in each.definitions] for each in found.walk()]


def _code(data: bytes) -> list[bytes]:
    """The file without the texts of contexts and examples, line by line."""
    import re

    spec = parse_spec(data)
    parts: list[SpecPart] = [one for group in spec.groups for one in group.walk() if "context" in one.kind]
    parts += spec.examples()
    for part in sorted(parts, key=lambda one: one.start, reverse=True):
        head = data[part.start : part.body_start]
        data = data[: part.start] + re.sub(_STRING, b"", head, count=1) + data[part.body_start :]
    return [line.strip() for line in data.splitlines() if line.strip()]


_STRING = rb""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
