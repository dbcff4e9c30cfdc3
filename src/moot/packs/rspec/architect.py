"""test-architect: plans the contexts of the selected methods, and puts their blocks into the spec file.

A method without a block gets one; every other block is written again. All other bytes of the file stay. A block that
moot did not write, or that somebody edited since moot's last stage, is replaced only if a person says so.

Pure: gets bytes, returns bytes.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.rspec.agents import selected_methods
from moot.packs.rspec.contexts import bank_of, contexts_of, shown_name
from moot.packs.rspec.isolation import check_mode
from moot.packs.rspec.spec_blocks import blocks_of, contexts_in, difference, without_kinds
from moot.packs.rspec.spec_text import WORDING, describe_block, group, whole_file
from moot.packs.ruby.spec_tree import parse_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.rspec.spec_blocks import SpecBlocks
    from moot.packs.ruby.spec_tree import SpecPart

    Block = Callable[[str], str]  # the text of a block with this indentation

THEIRS = "moot did not write the block of {}, or somebody edited it since; only you may replace it"
OVERWRITE = "To replace it, add --overwrite."
_STEP = "  "


class Placed(Record):
    """The new content of a spec file; or the blocks that only a person may replace, and the file as it was."""

    data: bytes
    conflicts: tuple[tuple[str, int], ...] = ()  # method and line


class PlannedSpec(Placed):
    structure: Mapping[str, Any] = {}


def plan_spec(
    document: Mapping[str, Any],
    existing: bytes | None,
    own: Container[bytes] | None = (),
    *,
    corrected: bool = False,
    helper: str = "",
    done: Container[str] = (),
) -> PlannedSpec:
    """Plan the spec file of a document. For `own`, see `placed`.

    `corrected`: the last attempt failed, so a block of which only the texts are others stays as it is. `done`: methods
    of earlier waves, with finished blocks.
    """
    name, bank = document["class_name"], bank_of(document)
    methods, blocks = [], {}
    found = blocks_of(existing or b"", name)
    for index, method in enumerate(selected_methods(document)):
        check_mode(method, index)
        title, contexts = shown_name(method), contexts_of(method, bank)
        methods.append({"name": title, "contexts": [one.plain() for one in contexts]})
        block = found.block(title)
        if block is not None and method["name"] in done:
            continue
        if corrected and block is not None:
            planned = describe_block(title, contexts, _STEP)
            if _code(found.source(block)) == _code(planned.encode()):
                continue
        blocks[title] = lambda indent, title=title, contexts=contexts: describe_block(title, contexts, indent)
    made = placed(existing, name, blocks, own, helper)
    return PlannedSpec(made.data, made.conflicts, reworded({"describe": name, "methods": methods}, made.data))


def placed(
    existing: bytes | None,
    name: str,
    blocks: Mapping[str, Block],
    own: Container[bytes] | None = (),
    helper: str = "",
) -> Placed:
    """Put blocks of methods into the spec file of a class. `own`: the texts of what may be replaced; None: all."""
    if existing is None or not existing.strip():
        return Placed(whole_file(name, [block(_STEP) for block in blocks.values()], helper).encode())
    found = blocks_of(existing, name)
    for problem in found.spec.problems:
        raise Refused(
            "spec_does_not_parse",
            f"The spec file does not parse: {problem.message} (line {problem.line}).",
            "Correct it, then start the stage again.",
        )
    conflicts, edits = [], []
    for title, text in blocks.items():
        block = found.block(title)
        if block is None:
            continue
        start, end = block.group.start, block.group.end
        new = text(" " * (start - (existing.rfind(b"\n", 0, start) + 1)))
        if own is None or existing[start:end] in own or existing[start:end] == _ends(existing, new):
            edits.append((start, end, new))
        else:
            conflicts.append((title, block.group.line))
    if conflicts:
        return Placed(existing, tuple(conflicts))
    data = existing
    for start, end, new in sorted(edits, reverse=True):
        data = data[:start] + _ends(data, new) + data[end:]
    return Placed(_with_added(data, name, [text for title, text in blocks.items() if found.block(title) is None]))


def _ends(data: bytes, text: str) -> bytes:
    """The text with the line ends of the file."""
    return text.encode().replace(b"\n", b"\r\n") if b"\r\n" in data else text.encode()


def _with_added(data: bytes, name: str, added: Sequence[Block]) -> bytes:
    """The file with new blocks at the end of the group of the class; with a new group if there is none."""
    if not added:
        return data
    found = blocks_of(data, name)
    if found.group is None:
        gap = "" if data.endswith(b"\n\n") else "\n" if data.endswith(b"\n") else "\n\n"
        return data + _ends(data, gap + group(name, [block(_STEP) for block in added]))
    indent = " " * (found.group.start - (data.rfind(b"\n", 0, found.group.start) + 1)) + _STEP
    text = "\n\n".join(f"{indent}{block(indent)}" for block in added)
    if data[found.group.body_start : found.group.body_end].strip():
        at, text = len(data[: found.group.end - len(b"end")].rstrip()), f"\n\n{text}"
    else:
        at, text = data.rfind(b"\n", 0, found.group.end) + 1, f"{text}\n"
    return data[:at] + _ends(data, text) + data[at:]


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
        block = found.block(method["name"])
        if block is None:
            yield f"there is no block for {method['name']}", found.group.line
        elif text := difference(without_kinds(method["contexts"]), contexts_in(block.group)):
            yield f"{method['name']}: {text}", block.group.line


def reworded(structure: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """The structure with the texts of the spec file, as far as that has the same tree."""
    found = blocks_of(data, structure["describe"])

    def texts(planned: Sequence[Mapping[str, Any]], there: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        if len(planned) != len(there):
            return list(planned)
        return [
            {**one, "name": other["name"], "children": texts(one["children"], other.get("children", ()))}
            if "children" in one
            else {**one, "name": other["name"], "examples": list(other.get("examples", ()))}
            for one, other in zip(planned, there, strict=True)
        ]

    methods = []
    for method in structure["methods"]:
        block = found.block(method["name"])
        there = [] if block is None else contexts_in(block.group)
        methods.append({**method, "contexts": texts(method["contexts"], there)})
    return {**structure, "methods": methods}


def kinds(structure: Mapping[str, Any]) -> list[Any]:
    """The contexts of a structure without their words."""

    def of(contexts: Sequence[Mapping[str, Any]]) -> list[Any]:
        return [
            [sorted(one.keys() - {"name"}), of(one.get("children", ())), len(one.get("examples", ()))]
            for one in contexts
        ]

    return [(method["name"], of(method["contexts"])) for method in structure["methods"]]


def unworded(structure: Mapping[str, Any], data: bytes) -> Iterator[tuple[str, int]]:
    """The placeholders in the blocks of the structure that still stand for words."""
    found = blocks_of(data, structure["describe"])
    for block in filter(None, (found.block(method["name"]) for method in structure["methods"])):
        for number, line in enumerate(found.source(block).decode("utf-8", "replace").splitlines(), block.group.line):
            yield from ((f"{block.name}: {word} is left", number) for word in WORDING if word in line)


def wording_problems(before: bytes, after: bytes, class_name: str, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """What a rewording changed besides the texts of contexts and examples in the blocks of these methods."""
    from itertools import zip_longest

    old, new = blocks_of(before, class_name), blocks_of(after, class_name)
    for problem in new.spec.problems:
        yield f"the file does not parse: {problem.message}", problem.line
    missing = [name for name in names if new.block(name) is None]
    if missing or _outside(old, names) != _outside(new, names):
        yield f"{', '.join(missing) or 'something outside the blocks'} was changed", 1
        return
    for one, other in ((old.block(name), new.block(name)) for name in names):
        if one is not None and other is not None and not new.spec.problems:
            pairs = zip_longest(_code(old.source(one)), _code(new.source(other)))
            line = next((number for number, (left, right) in enumerate(pairs) if left != right), None)
            if line is not None:
                yield f"{one.name}: more was changed than the texts of contexts and examples", other.group.line + line


def _outside(found: SpecBlocks, names: Sequence[str]) -> bytes:
    """The file without the blocks of these methods."""
    data = found.spec.data
    for block in reversed(found.blocks):
        if block.name in names:
            data = data[: block.group.start] + data[block.group.end :]
    return data


def _code(block: bytes) -> list[bytes]:
    """A block without the texts of contexts and examples, line by line. The comments tell which context is which."""
    import re

    spec = parse_spec(block)
    parts: list[SpecPart] = [one for group in spec.groups for one in group.walk() if "context" in one.kind]
    parts += spec.examples()
    for part in sorted(parts, key=lambda one: one.start, reverse=True):
        head = block[part.start : part.body_start]
        block = block[: part.start] + re.sub(_STRING, b"", head, count=1) + block[part.body_start :]
    return [line.strip() for line in block.splitlines()]


_STRING = rb""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
