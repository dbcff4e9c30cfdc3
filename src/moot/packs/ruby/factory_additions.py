"""What was changed in files of factories, apart from what may be added to them.

Every statement and comment that was there must still be there, with the same bytes, in the same place and order. New
are only `FactoryBot.define` blocks, factories in them, and traits and factories directly in a factory that was there,
with names that change the meaning of nothing else. Pure: gets the contents of files, returns findings.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.core.text import one_line
from moot.packs.ruby.calls import call_of
from moot.packs.ruby.factories import LIBRARIES, call_word, factories, given_name
from moot.packs.ruby.factory_names import KnownNames
from moot.packs.ruby.spec_nodes import method_name
from moot.packs.ruby.syntax import constant_name, first_line, parse, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

_SHOWN = 60  # characters of a statement
_FILE, _DEFINE, _FACTORY, _TRAIT = "file", "define", "factory", "trait"
_RULES = {
    _FILE: "only `FactoryBot.define` blocks may be added to the file",
    _DEFINE: "only factories may be added to the `FactoryBot.define` block",
    _FACTORY: "only traits and factories may be added to a factory",
}
_REQUIRES = frozenset(("require", "require_relative"))
_READING = ("coding", "frozen_string_literal", "shareable_constant_value", "warn_indent")  # how Ruby reads the file
_SILENT = frozenset(("comment", "heredoc_body"))
_BODIES = frozenset(("body_statement", "block_body"))
_AROUND = frozenset(("block_parameters", *_BODIES))
_DEFINITIONS = frozenset(
    ("class", "module", "singleton_class", "method", "singleton_method", "begin_block", "end_block")
)
_BUILDS = frozenset(
    (
        *("generate", "generate_list"),
        *(
            f"{how}{many}"
            for how in ("create", "build", "build_stubbed", "attributes_for")
            for many in ("", "_list", "_pair")
        ),
    )
)
_NO_ATTRIBUTES = frozenset(
    ("send", "__send__", "instance_eval", "extend", "method", "raise")
)  # Ruby's, in a factory, too
_LITERALS = frozenset(
    (
        *("argument_list", "pair", "array", "hash", "constant", "scope_resolution", "true", "false", "nil", "comment"),
        *("simple_symbol", "hash_key_symbol", "delimited_symbol", "symbol_array", "bare_symbol"),
        *("string", "string_content", "escape_sequence", "string_array", "bare_string"),
    )
)


class FactoryFinding(Record):
    """What is wrong. `line`: where it is now, or 0 if it is gone."""

    path: str
    line: int
    text: str


def factory_findings(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[FactoryFinding]:
    """What is wrong in files that were changed or added, all of which parse."""
    known = KnownNames(before)
    for path, data in after.items():
        if data != before.get(path):
            files = _Comparison(parse(before.get(path, b"")).root, parse(data).root)
            for line, said in files.findings():
                yield FactoryFinding(path, line, said)
            for line, said in _names(known, data, files):
                yield FactoryFinding(path, line, said)


def _names(known: KnownNames, data: bytes, files: _Comparison) -> Iterator[tuple[int, str]]:
    """Names of new factories and traits that mean something already."""
    ranges = [(node.start_byte, node.end_byte) for node in files.added]
    for one in factories(data).factories:
        if any(start <= one.start < end for start, end in ranges):
            for name in (one.name, *one.aliases):
                if said := known.add_factory(name):
                    yield one.first_line, said
    for factory, node in files.traits:
        if said := known.add_trait(factory, given_name(node) or ""):
            yield first_line(node), said


class _Comparison:
    """Two versions of one file. After `findings`, it also knows what was added."""

    def __init__(self, old: Node, new: Node) -> None:
        self.old, self.new = old, new
        self.added: list[Node] = []
        self.traits: list[tuple[str, Node]] = []  # new ones in factories that were there, with the factory
        words = [call_word(one) for one in old.named_children]
        self.requires = not _REQUIRES.isdisjoint(words)
        comments = [text(one) for one in old.named_children if one.type == "comment"]
        self.reads = any(_is_magic(one) for one in comments)

    def findings(self) -> Iterator[tuple[int, str]]:
        levels = [(_Level(_FILE, "", 0), self.old.named_children, self.new.named_children)]
        while levels:
            level, old, new = levels.pop()
            places, at = _Places(new, level), 0
            for one in old:
                found = places.find(one, at)
                if found is None:
                    yield level.line, self._lost(one, level)
                    continue
                yield from self._additions(new[at:found], level)
                same, at = new[found], found + 1
                yield from _changes(one, same, level)
                inside = level.inside(same)
                if inside is not None:
                    levels.append((inside, _items(one), _items(same)))
            yield from self._additions(new[at:], level)

    def _lost(self, node: Node, level: _Level) -> str:
        counts = [(root.text or b"").count(node.text or b"") for root in (self.old, self.new)]
        whole = counts[1] >= counts[0]  # all of its text is still somewhere
        name, kind = level.name_of(node), level.kind_of(node)
        shown = level.shown(kind, name) if kind in (_FACTORY, _TRAIT) else f"`{_short(node)}`"
        how = "is no longer code, or not in its place" if whole else "was removed" if name else "was changed or removed"
        return f"{shown} {how} (line {first_line(node)} before)"

    def _additions(self, nodes: Sequence[Node], level: _Level) -> Iterator[tuple[int, str]]:
        """What may not be added here. A new `define` block has a level of its own."""
        for node in nodes:
            kind = level.kind_of(node)
            if kind in (_FACTORY, _TRAIT) and (level.kind, kind) != (_DEFINE, _TRAIT):
                self.added.append(node)
                if kind == _TRAIT:
                    self.traits.append((level.factory, node))
                yield from _own_code(node)
            elif kind == _DEFINE and _is_plain(node):
                yield from self._additions(_items(node), _Level(_DEFINE, "", first_line(node)))
            elif not self._is_allowed(node, level):
                yield first_line(node), f"`{_short(node)}` was added: {_RULES[level.kind]}"

    def _is_allowed(self, node: Node, level: _Level) -> bool:
        if node.type == "comment" and level.kind == _FILE and _is_magic(text(node)):
            return not self.reads
        if node.type in _SILENT:
            return True
        given = call_of(node).arguments if level.kind == _FILE and call_word(node) in _REQUIRES else ()
        return not self.requires and len(given) == 1 and given[0].value is not None


class _Level(Record):
    """Where statements are: in the file, in a `define` block, or in a factory, which begins at `line` now."""

    kind: str
    factory: str
    line: int

    def kind_of(self, node: Node) -> str:
        """What a statement is here; empty if it is something else, or its name is computed."""
        if self.kind == _FILE:
            return _DEFINE if _is_define(node) else ""
        word = call_word(node)
        return word if word in (_FACTORY, _TRAIT) and given_name(node) is not None else ""

    def name_of(self, node: Node) -> str:
        return (given_name(node) or "") if self.kind_of(node) in (_FACTORY, _TRAIT) else ""

    def shown(self, kind: str, name: str) -> str:
        of = f" of the factory {self.factory}" if kind == _TRAIT and self.factory else ""
        return f"the {kind} {name}{of}"

    def inside(self, node: Node) -> _Level | None:
        """The level in a statement; None if everything in it must stay."""
        kind = self.kind_of(node)
        if kind == _DEFINE:
            return _Level(_DEFINE, "", first_line(node))
        return _Level(_FACTORY, self.name_of(node), first_line(node)) if kind == _FACTORY else None


class _Places:
    """Where statements are among the new ones of a level."""

    def __init__(self, new: Sequence[Node], level: _Level) -> None:
        self._new, self._level = new, level
        self._numbers: dict[tuple[object, ...], list[int]] = {}
        for number, one in enumerate(new):
            self._numbers.setdefault(_key(one, level), []).append(number)

    def find(self, old: Node, at: int) -> int | None:
        """The first place of an old statement from `at` on; for a `define` block, the first that has all of it."""
        from bisect import bisect_left

        numbers = self._numbers.get(_key(old, self._level), [])
        there = numbers[bisect_left(numbers, at) :]
        if self._level.kind_of(old) == _DEFINE and len(there) > 1:
            return next((n for n in there if _has_all(_items(old), _items(self._new[n]))), there[0])
        return there[0] if there else None


def _key(node: Node, level: _Level) -> tuple[object, ...]:
    """By what a statement is found again: factories and traits by their names, `define` blocks by how they begin."""
    kind = level.kind_of(node)
    if kind == _DEFINE:
        return kind, _head(node)
    return (kind, level.name_of(node)) if kind else (kind, node.text)


def _has_all(old: Sequence[Node], new: Sequence[Node]) -> bool:
    """Whether a `define` block has everything of an older one, without looking into factories."""
    places, at = _Places(new, _Level(_DEFINE, "", 0)), 0
    for one in old:
        found = places.find(one, at)
        if found is None:
            return False
        at = found + 1
    return True


def _changes(old: Node, new: Node, level: _Level) -> Iterator[tuple[int, str]]:
    kind, name = level.kind_of(old), level.name_of(old)
    if kind == _TRAIT and old.text != new.text:
        yield first_line(new), f"{level.shown(kind, name)} was changed"
    elif kind == _FACTORY:
        head, now = _head(old), _head(new)
        opened = old.child_by_field_name("block") is None and now in ((*head[:1], b"do"), (*head[:1], b"{"))
        if head != now and not opened:
            yield first_line(new), f"{level.shown(kind, name)} was changed; {_RULES[_FACTORY]}"


def _own_code(root: Node) -> Iterator[tuple[int, str]]:
    """What does not belong into a new factory or trait: code that has an effect outside of it."""
    stack = [root]
    while stack:
        node = stack.pop()
        given = node.child_by_field_name("arguments")
        if given is not None and call_word(node) == _FACTORY and any(one.type not in _LITERALS for one in walk(given)):
            yield first_line(node), f"`{_short(node)}`: the arguments of a new factory must be literals"
        for one in _items(node):
            word = call_word(one)
            if one.type not in ("identifier", *_SILENT) and (not word or word in _NO_ATTRIBUTES):
                yield first_line(one), f"`{_short(one)}` is not part of a factory"
            elif word in (_FACTORY, _TRAIT, "transient"):
                stack.append(one)
    for node in walk(root):
        receiver = node.child_by_field_name("receiver") if node.type == "call" else None
        library = receiver is not None and (constant_name(receiver) or "").removeprefix("::") in LIBRARIES
        if node.type in _DEFINITIONS or (library and method_name(node) not in _BUILDS):
            yield first_line(node), f"`{_short(node)}` has effects outside of the factory"


def _is_define(node: Node) -> bool:
    receiver = node.child_by_field_name("receiver") if node.type == "call" else None
    name = "" if receiver is None else constant_name(receiver) or ""
    opened = name.removeprefix("::") in LIBRARIES and method_name(node) == "define"
    return opened and node.child_by_field_name("block") is not None


def _is_plain(define: Node) -> bool:
    """Whether a `define` block has neither arguments nor parameters."""
    block = define.child_by_field_name("block")
    parts = () if block is None else block.named_children
    return define.child_by_field_name("arguments") is None and all(one.type != "block_parameters" for one in parts)


def _items(node: Node) -> list[Node]:
    """The statements and comments in the block of a call."""
    block = node.child_by_field_name("block")
    found: list[Node] = []
    for one in () if block is None else block.named_children:
        if one.type in _BODIES:
            found += one.named_children
        elif one.type not in _AROUND:
            found.append(one)
    return found


def _head(node: Node) -> tuple[bytes, ...]:
    """What a call says before the statements in its block: itself, how the block opens, its parameters."""
    block = node.child_by_field_name("block")
    if block is None:
        return (node.text or b"",)
    call = (node.text or b"")[: block.start_byte - node.start_byte].rstrip()
    opening = [one.text or b"" for one in block.children[:1]]
    return (call, *opening, *(one.text or b"" for one in block.named_children if one.type == "block_parameters"))


def _is_magic(comment: str) -> bool:
    return any(word in comment for word in _READING) and ":" in comment


def _short(node: Node) -> str:
    source = "__END__" if node.type == "uninterpreted" else text(node)
    return one_line(source.split("\n", 1)[0], _SHOWN)
