"""Factories and traits of FactoryBot, from the files that define them.

A factory inside another is a factory of its own, and has the traits of the outer one, too. Aliases, transient blocks,
callbacks, sequences and traits outside of any factory are left out, and so are names that are computed.
"""

from __future__ import annotations

from moot.core.errors import MootError
from moot.core.record import Record
from moot.packs.ruby.calls import call_of
from moot.packs.ruby.syntax import constant_name, first_line, last_line, parse, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tree_sitter import Node

    from moot.packs.ruby.syntax import SyntaxProblem

LIBRARIES = frozenset(("FactoryBot", "FactoryGirl"))
_OPENING = frozenset(("define", "modify"))


class Trait(Record):
    name: str
    first_line: int
    last_line: int
    start: int
    end: int


class Factory(Record):
    """One factory. `parent`: the factory around it, or the one that `parent:` names."""

    name: str
    parent: str | None
    aliases: tuple[str, ...]
    class_name: str | None
    traits: tuple[Trait, ...]  # its own, without those of the parent
    first_line: int
    last_line: int
    start: int
    end: int
    body_end: int  # where a trait can be added: before the `end`, or at the end of a factory without a block


class FactoryFile(Record):
    factories: tuple[Factory, ...]
    problems: tuple[SyntaxProblem, ...]


class Detected(Record):
    """`found` has the form of `factories_detected` in a document: name to `file` and `traits`."""

    found: dict[str, dict[str, Any]]
    warnings: tuple[str, ...]


def factories(data: bytes) -> FactoryFile:
    """The factories of a file, in the order of the source."""
    source = parse(data)
    found: list[Factory] = []
    stack: list[tuple[Node, str | None]] = [(body, None) for body in reversed(list(_opened(source.root)))]
    while stack:
        node, around = stack.pop()
        inside = around
        if call_word(node) == "factory" and (one := _factory(node, around)) is not None:
            found.append(one)
            inside = one.name
        stack.extend((child, inside) for child in reversed(node.named_children))
    return FactoryFile(factories=tuple(found), problems=source.problems)


def detect_factories(files: Mapping[str, bytes] | None) -> Detected:
    """All factories of a project. `files`: the contents by path; None if there is no directory with factories."""
    if files is None:
        return Detected(found={}, warnings=("No factories: neither spec/factories nor test/factories exists",))
    known: dict[str, tuple[str, Factory]] = {}
    warnings: list[str] = []
    for path in sorted(files):
        try:
            read = factories(files[path])
        except MootError as refused:
            warnings.append(f"{path} was left out: {refused.message}")
            continue
        if read.problems:
            first = read.problems[0]
            warnings.append(f"{path} was left out: it does not parse: line {first.line}: {first.message}")
            continue
        for one in read.factories:
            if one.name in known:
                other = known.pop(one.name)[0]
                places = f"in {path}" if other == path else f"in {other} and in {path}"
                warnings.append(f"Factory :{one.name} is defined twice, {places}; the last definition is used")
            known[one.name] = (path, one)
    found = {name: {"file": path, "traits": _all_traits(one, known)} for name, (path, one) in known.items()}
    return Detected(found=found, warnings=tuple(warnings))


def _all_traits(factory: Factory, known: Mapping[str, tuple[str, Factory]]) -> list[str]:
    """Its own traits, then those of its parents."""
    names: dict[str, None] = {}
    seen: set[str] = set()
    one: Factory | None = factory
    while one is not None and one.name not in seen:
        seen.add(one.name)
        names |= dict.fromkeys(trait.name for trait in one.traits)
        above = known.get(one.parent) if one.parent is not None else None
        one = None if above is None else above[1]
    return list(names)


def _opened(root: Node) -> Iterator[Node]:
    """The bodies of `FactoryBot.define do`."""
    stack = [root]
    while stack:
        node = stack.pop()
        receiver = node.child_by_field_name("receiver") if node.type == "call" else None
        name = None if receiver is None else constant_name(receiver)
        if name is not None and name.removeprefix("::") in LIBRARIES and _method(node) in _OPENING:
            block = node.child_by_field_name("block")
            if block is not None:
                yield block
        else:
            stack.extend(reversed(node.named_children))


def _method(node: Node) -> str:
    method = node.child_by_field_name("method")
    return "" if method is None else text(method)


def call_word(node: Node) -> str:
    """The name of a call without a receiver, such as `factory` or `trait`; empty for anything else."""
    if node.type != "call" or node.child_by_field_name("receiver") is not None:
        return ""
    return _method(node)


def given_name(node: Node) -> str | None:
    """The name that a call of `trait`, `factory` or `sequence` gives; None if it is computed."""
    call = call_of(node)
    return call.positional[0].value if call.positional else None


def _factory(node: Node, around: str | None) -> Factory | None:
    call = call_of(node)
    name = call.positional[0].value if call.positional else None
    if name is None:
        return None
    parent, made = call.pairs.get("parent"), call.pairs.get("class")
    block = node.child_by_field_name("block")
    body = None if block is None else block.child_by_field_name("body")
    return Factory(
        name=name,
        parent=around if parent is None else parent.value or around,
        aliases=_aliases(node),
        class_name=None if made is None else made.value or made.source,
        traits=() if body is None else tuple(_traits(body)),
        first_line=first_line(node),
        last_line=last_line(node),
        start=node.start_byte,
        end=node.end_byte,
        body_end=node.end_byte if body is None else body.end_byte,
    )


def _aliases(node: Node) -> tuple[str, ...]:
    given = call_of(node).pairs.get("aliases")
    if given is None:
        return ()
    words = given.source.removeprefix("%i").strip("[]()").replace(",", " ").split()
    return tuple(word.strip(":\"'") for word in words)


def _traits(body: Node) -> Iterator[Trait]:
    """The traits of a factory, without those of the factories in it."""
    stack = list(reversed(body.named_children))
    while stack:
        node = stack.pop()
        word = call_word(node)
        if word == "trait":
            name = given_name(node)
            if name is not None:
                yield Trait(
                    name=name,
                    first_line=first_line(node),
                    last_line=last_line(node),
                    start=node.start_byte,
                    end=node.end_byte,
                )
        elif word not in {"factory", "transient", "sequence"}:
            stack.extend(reversed(node.named_children))
