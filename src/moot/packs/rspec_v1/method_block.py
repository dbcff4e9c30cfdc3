"""Finds the block of the target method in a spec file. Criteria judge this block only, never the rest of the file."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.spec_tree import Group, parse_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.packs.ruby.spec_tree import SpecFile


class NoBlock(Exception):
    """The file has no such block, or several. `line` is where, or 0."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class MethodBlock(Record):
    """The describe block of a method, inside the group of its class."""

    spec: SpecFile
    outer: tuple[Group, ...]  # the groups around it, from the outside
    group: Group

    @property
    def data(self) -> bytes:
        return self.spec.data[self.group.start : self.group.end]


def header_of(target: Mapping[str, Any]) -> str:
    """How RSpec names the method: `#pay` for an instance method, `.pay` for a class method."""
    return f"{'.' if target.get('method_type') == 'class' else '#'}{target.get('method')}"


def find_block(data: bytes, target: Mapping[str, Any]) -> MethodBlock:
    """The block of the target. Raises `NoBlock`, also for a file with syntax errors."""
    spec = parse_spec(data)
    if spec.problems:
        first = spec.problems[0]
        raise NoBlock(f"not valid Ruby: {first.message}", first.line)
    name, header = str(target.get("class", "")).removeprefix("::"), header_of(target)
    found = [
        MethodBlock(spec=spec, outer=outer, group=group)
        for top in spec.groups
        if (top.constant or "").removeprefix("::") == name
        for outer, group in _described(top, (top,))
        if group.text == header
    ]
    if not found:
        if any((top.constant or "").removeprefix("::") == name for top in spec.groups):
            raise NoBlock(f"no `describe '{header}'` in `RSpec.describe {name}`")
        raise NoBlock(f"no `RSpec.describe {name}`")
    if len(found) > 1:
        raise NoBlock(f"{len(found)} blocks `describe '{header}'`; there must be one", found[1].group.line)
    return found[0]


def _described(group: Group, outer: tuple[Group, ...]) -> Iterator[tuple[tuple[Group, ...], Group]]:
    for one in group.groups:
        if one.kind.endswith("describe"):
            yield outer, one
        else:
            yield from _described(one, (*outer, one))


def lines_with(block: MethodBlock, *words: str) -> list[tuple[int, str]]:
    """The lines of the block that contain one of these placeholders."""
    found = []
    for number, line in enumerate(block.data.decode("utf-8", "replace").splitlines(), block.group.line):
        found += [(number, word) for word in words if word in line]
    return found
