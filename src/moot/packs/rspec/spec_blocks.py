"""The blocks of methods in a spec file: found, counted, and compared with `structure`."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.spec_tree import Group, parse_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from moot.packs.ruby.spec_tree import Example, SpecFile


class DescribeBlock(Record):
    """The `describe "#method"` of one method."""

    name: str
    group: Group

    @property
    def examples(self) -> list[Example]:
        return list(self.group.all_examples())


class SpecBlocks(Record):
    """A spec file. `group`: that of the class, if it has one. `blocks`: of its methods; a name may have several."""

    spec: SpecFile
    group: Group | None
    blocks: tuple[DescribeBlock, ...]

    def block(self, name: str) -> DescribeBlock | None:
        return next((block for block in self.blocks if block.name == name), None)

    def source(self, block: DescribeBlock) -> bytes:
        return self.spec.data[block.group.start : block.group.end]


def blocks_of(data: bytes, class_name: str) -> SpecBlocks:
    """The blocks of the methods of a class."""
    spec = parse_spec(data)
    group = next((one for one in _groups(spec.groups) if _names(one, class_name)), None)
    inner = group.groups if group else ()
    blocks = [DescribeBlock(one.text, one) for one in inner if one.text and one.text[0] in "#."]
    return SpecBlocks(spec, group, tuple(blocks))


def _groups(groups: Iterable[Group]) -> Iterable[Group]:
    """Groups, outer before inner: the class may be described inside another group."""
    for group in groups:
        yield group
    for group in groups:
        yield from _groups(group.groups)


def _names(group: Group, class_name: str) -> bool:
    plain = class_name.removeprefix("::")
    return plain in ((group.constant or "").removeprefix("::"), group.text)


def contexts_in(group: Group) -> list[dict[str, Any]]:
    """The contexts of a block as plain data: `name`, and `children` or `examples`, in the order of the file."""
    return [_plain(one) for one in _contexts(group)]


def _contexts(group: Group) -> list[Group]:
    """Its groups without shared ones, which run only where they are included."""
    return [one for one in group.groups if not one.kind.startswith("shared")]


def _plain(group: Group) -> dict[str, Any]:
    made: dict[str, Any] = {"name": group.text}
    inner = _contexts(group)
    if inner:
        made["children"] = [_plain(one) for one in inner]
    if group.examples or not inner:
        made["examples"] = [one.text for one in group.examples]
    return made


def without_kinds(contexts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Contexts of `structure` without `leaf` and `terminal`, which a spec file does not show."""
    return [
        {"name": one["name"], "children": without_kinds(one["children"])}
        if "children" in one
        else {"name": one["name"], "examples": list(one["examples"])}
        for one in contexts
    ]


def difference(expected: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]], path: str = "") -> str:
    """The first difference between two trees, in words; empty if they are equal."""
    for number in range(max(len(expected), len(found))):
        if number >= len(found):
            return f"{path}the context {expected[number]['name']!r} is missing"
        if number >= len(expected):
            return f"{path}the context {found[number]['name']!r} does not belong here"
        one, other = expected[number], found[number]
        if one["name"] != other["name"]:
            return f"{path}expected the context {one['name']!r}, found {other['name']!r}"
        inner = f"{path}{one['name']}: "
        if list(one.get("examples", ())) != list(other.get("examples", ())):
            return f"{inner}expected the examples {one.get('examples', [])}, found {other.get('examples', [])}"
        if deeper := difference(one.get("children", ()), other.get("children", ()), inner):
            return deeper
    return ""


def planned_blocks(structure: Mapping[str, Any], data: bytes) -> dict[str, list[DescribeBlock]]:
    """The blocks of each method of `structure`: the one that shows its contexts, else all that have its name."""
    found = blocks_of(data, structure["describe"])
    chosen = {}
    for method in structure["methods"]:
        same = [block for block in found.blocks if block.name == method["name"]]
        tree = without_kinds(method["contexts"])
        own = [block for block in same if not difference(tree, contexts_in(block.group))]
        chosen[method["name"]] = own[-1:] or same  # the last one: it may stand behind a person's own block
    return chosen
