"""test-architect: plans the contexts of the selected methods, and writes them into the spec file.

A method that is new gets a block; the block of any other method is written again. All other bytes of the file stay. A
block that somebody changed since moot wrote it, or that a new method already has, is replaced only if a person says so:

    overwrite   the block is written again; the text before is kept in the log
    keep        the block stays as it is, and the method is not part of the structure
    append      the new block is written behind the one that is there

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
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.rspec.contexts import Context
    from moot.packs.rspec.spec_blocks import DescribeBlock, SpecBlocks
    from moot.packs.ruby.spec_tree import Group, SpecPart

    Wanted = dict[str, tuple[Mapping[str, Any], list[Context]]]  # by name: the method and its contexts

CHOICES = ("overwrite", "keep", "append")
NEW_CHOICES = ("overwrite", "keep")  # for a method that is new: overwrite its block, or skip the method
KEPT = ": its block was kept, and is not part of the structure"  # the end of a warning
_STEP = "  "


class BlockConflict(Record):
    """A block that only a person may replace. `choices` are what the person can choose."""

    method: str
    why: str
    line: int
    choices: tuple[str, ...] = CHOICES

    @property
    def sentence(self) -> str:
        return f"{self.method} (line {self.line}): {self.why}"


class PlannedSpec(Record):
    """The new content of the spec file and its structure; or the conflicts that must be settled first."""

    data: bytes
    structure: Mapping[str, Any]
    conflicts: tuple[BlockConflict, ...] = ()
    kept: tuple[str, ...] = ()
    replaced: Mapping[str, bytes] = {}  # blocks that a person let moot overwrite, as they were


class _Edit(Record):
    start: int
    end: int
    text: str


def plan_spec(
    document: Mapping[str, Any],
    existing: bytes | None,
    written: bytes | None = None,
    choices: Mapping[str, str] | None = None,
    helper: str = "",
    done: frozenset[str] = frozenset(),
) -> PlannedSpec:
    """Plan the spec file of a document.

    `written`: the file as moot last accepted it, without blocks that moot did not write. `choices`: what a person chose
    for a method, or for all under `*`.
    `done`: methods of earlier waves, whose blocks are finished and stay as they are.
    """
    name, bank = document["class_name"], bank_of(document)
    wanted: Wanted = {}
    for index, method in enumerate(selected_methods(document)):
        check_mode(method, index)
        wanted[shown_name(method)] = method, contexts_of(method, bank)
    if existing is None or not existing.strip():
        blocks = [describe_block(title, contexts) for title, (_, contexts) in wanted.items()]
        return PlannedSpec(whole_file(name, blocks, helper).encode(), _structure(name, wanted, ()))
    plan = _Plan(blocks_of(existing, name), None if written is None else blocks_of(written, name))
    for title, (wanting, contexts) in wanted.items():
        if wanting["name"] not in done or plan.lacks(title):
            plan.place(title, wanting, contexts, choices or {})
    added = {title: wanted[title][1] for title in plan.added}
    data = _with_added(_applied(existing, plan.edits), name, added)
    return PlannedSpec(
        data, _structure(name, wanted, plan.kept), tuple(plan.conflicts), tuple(plan.kept), plan.replaced
    )


class _Plan:
    """What happens to the blocks of an existing file."""

    def __init__(self, found: SpecBlocks, accepted: SpecBlocks | None) -> None:
        self._found, self._accepted = found, accepted
        self.edits: list[_Edit] = []
        self.conflicts: list[BlockConflict] = []
        self.kept: list[str] = []
        self.added: list[str] = []
        self.replaced: dict[str, bytes] = {}

    def lacks(self, title: str) -> bool:
        return self._found.block(title) is None

    def place(self, title: str, method: Mapping[str, Any], contexts: list[Context], choices: Mapping[str, str]) -> None:
        """Decide where the block of one method goes."""
        block = self._found.block(title)
        if block is None:
            self.added.append(title)
            return
        start, end, data = block.group.start, block.group.end, self._found.spec.data
        indent = " " * (start - (data.rfind(b"\n", 0, start) + 1))
        text = describe_block(title, contexts, indent)
        conflict = self._conflict(title, method, block)
        choice = choices.get(title, choices.get(method["name"], choices.get("*", "")))
        if conflict is None or choice == "overwrite":
            self.edits.append(_Edit(start, end, text))
            if conflict is not None:
                self.replaced[title] = data[start:end]
        elif choice == "append" and choice in conflict.choices:
            self.edits.append(_Edit(end, end, f"\n\n{indent}{text}"))
        elif choice == "keep":
            self.kept.append(title)
        else:
            self.conflicts.append(conflict)

    def _conflict(self, title: str, method: Mapping[str, Any], block: DescribeBlock) -> BlockConflict | None:
        """None: the block is exactly as moot last wrote it."""
        old = None if self._accepted is None else self._accepted.block(title)
        if self._accepted is not None and old is not None and self._accepted.source(old) == self._found.source(block):
            return None
        return _conflict(title, method, block.group.line, known=old is not None)


def _conflict(title: str, method: Mapping[str, Any], line: int, *, known: bool) -> BlockConflict:
    if method["method_mode"] == "new":
        return BlockConflict(
            title, "the method is new, and the spec file already has a block for it", line, NEW_CHOICES
        )
    why = "its block was changed since moot wrote it" if known else "moot did not write its block"
    return BlockConflict(title, why, line)


def _structure(name: str, wanted: Wanted, kept: Sequence[str]) -> dict[str, Any]:
    methods = [
        {"name": title, "contexts": [one.plain() for one in contexts if not one.skipped]}
        for title, (_, contexts) in wanted.items()
        if title not in kept
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
