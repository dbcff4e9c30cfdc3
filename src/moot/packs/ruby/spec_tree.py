"""The tree of a spec file: groups, examples, definitions and hooks, with their lines and byte ranges.

A file with syntax errors has a tree, too; `SpecFile.problems` has the errors. Groups and examples inside other blocks,
such as a loop, belong to the group around them. What computed descriptions say is unknown: their `text` is None.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.ruby.calls import RubyCall, call_of, calls_in
from moot.packs.ruby.spec_nodes import body_of, expectation, is_example, is_part, own_nodes, spec_word
from moot.packs.ruby.spec_words import BRANCHES, DEFINITIONS, GROUPS, HOOKS, LOOPS, PENDING, SHARED, SHARED_GROUPS
from moot.packs.ruby.syntax import constant_name, first_line, last_line, literal_text, parse, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tree_sitter import Node

    from moot.packs.ruby.syntax import SyntaxProblem

DEEPEST = 60  # levels of groups
_LEAVES = ("next", "break", "return")
_FILTERS = (("if", "false"), ("if", "nil"), ("unless", "true"))  # with these, RSpec never runs an example


class SpecPart(Record):
    """A statement of the spec file and its place. `body` is the source of its block, without the delimiters."""

    kind: str  # the word: `describe`, `xit`, `let!`, `before`
    line: int
    last: int
    start: int
    end: int
    body_start: int
    body_end: int
    body: str


class Definition(SpecPart):
    """A `let` or `subject`."""

    name: str
    calls: tuple[RubyCall, ...] = ()


class Hook(SpecPart):
    """A `before`, `after` or `around`."""

    calls: tuple[RubyCall, ...] = ()
    expectations: tuple[Expectation, ...] = ()


class Expectation(Record):
    """`expect(TARGET).to MATCHER`. `target` is empty for `is_expected` and `should`; `block`: `expect { … }`."""

    line: int
    target: str
    matcher: str
    negated: bool = False
    block: bool = False


class Example(SpecPart):
    """One example. `pending`: why it does not run, or empty. `branches`: loops and conditionals, as (word, line)."""

    text: str | None
    pending: str = ""
    expectations: tuple[Expectation, ...] = ()
    shared: tuple[RubyCall, ...] = ()  # `it_behaves_like` and its like
    calls: tuple[RubyCall, ...] = ()
    branches: tuple[tuple[str, int], ...] = ()
    aggregated: bool = False  # by metadata or a block

    @property
    def expects(self) -> bool:
        """Whether it holds an expectation, a helper whose name begins so, or a shared example."""
        return bool(
            self.expectations
            or self.shared
            or any(one.name.startswith("expect") and one.name != "expect" for one in self.calls)
        )


class Group(SpecPart):
    """A describe, a context, or shared examples. `constant`: what `RSpec.describe` names."""

    text: str | None
    constant: str | None = None
    pending: str = ""
    aggregated: bool = False
    children: tuple[Group | Example, ...] = ()
    definitions: tuple[Definition, ...] = ()
    hooks: tuple[Hook, ...] = ()
    shared: tuple[RubyCall, ...] = ()
    calls: tuple[RubyCall, ...] = ()  # in its own body, outside of all the above

    @property
    def groups(self) -> tuple[Group, ...]:
        return tuple(one for one in self.children if isinstance(one, Group))

    @property
    def examples(self) -> tuple[Example, ...]:
        return tuple(one for one in self.children if isinstance(one, Example))

    def walk(self) -> Iterator[Group]:
        """This group and all groups in it, parents first."""
        yield self
        for one in self.groups:
            yield from one.walk()

    def all_examples(self) -> Iterator[Example]:
        """The examples of this group and of all groups in it, in the order of the source."""
        for one in self.children:
            if isinstance(one, Example):
                yield one
            else:
                yield from one.all_examples()


class SpecFile(Record):
    data: bytes
    problems: tuple[SyntaxProblem, ...]
    groups: tuple[Group, ...]

    def examples(self) -> Iterator[Example]:
        for group in self.groups:
            yield from group.all_examples()


def parse_spec(data: bytes) -> SpecFile:
    """The tree of a spec file."""
    source = parse(data)
    found = _Reader().children(source.root, 0, "")
    return SpecFile(data=data, problems=source.problems, groups=tuple(one for one in found if isinstance(one, Group)))


class _Reader:
    """Makes the records of the nodes in a body."""

    def children(self, body: Node, depth: int, pending: str) -> list[Group | Example]:
        found: list[Group | Example] = []
        left = next((one for one in body.named_children if one.type in _LEAVES), None)
        for node in own_nodes(body):
            word = spec_word(node)
            if left is not None and node.start_byte > left.start_byte:
                pending = pending or f"`{left.type}` comes before it"
            if word in GROUPS or word in SHARED_GROUPS:
                found.append(self._group(node, word, depth + 1, pending))
            elif is_example(node, word):
                found.append(self._example(node, word, pending))
        return found

    def _group(self, node: Node, word: str, depth: int, pending: str) -> Group:
        if depth > DEEPEST:
            raise Refused(
                "spec_too_deep",
                f"The spec file has groups nested more than {DEEPEST} levels deep (line {first_line(node)}).",
                "Use fewer levels of contexts.",
            )
        call = call_of(node)
        body = body_of(node)
        own = [] if body is None else [(one, spec_word(one)) for one in own_nodes(body)]
        hooks = tuple(self._hook(one, name) for one, name in own if name in HOOKS)
        skipped = _skipped(call, word) or pending
        skipped = skipped or next((f"{c.name} in {h.kind}" for h in hooks for c in h.calls if _is_skip(c)), "")
        arguments = node.child_by_field_name("arguments")
        first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
        return Group(
            **_part(node, word),
            text=None if first is None else literal_text(first),
            constant=None if first is None else constant_name(first),
            pending=skipped,
            aggregated=_has_metadata(call, "aggregate_failures"),
            children=tuple(() if body is None else self.children(body, depth, skipped)),
            definitions=tuple(_definition(one, name) for one, name in own if name in DEFINITIONS),
            hooks=hooks,
            shared=tuple(call_of(one) for one, name in own if name in SHARED),
            calls=() if body is None else tuple(one for one in calls_in(body, is_part) if one.name not in SHARED),
        )

    def _hook(self, node: Node, word: str) -> Hook:
        body = body_of(node)
        return Hook(
            **_part(node, word),
            calls=() if body is None else tuple(calls_in(body)),
            expectations=() if body is None else tuple(_expectations(body)),
        )

    def _example(self, node: Node, word: str, pending: str) -> Example:
        call = call_of(node)
        body = body_of(node)
        calls = () if body is None else tuple(calls_in(body))
        skipped = pending or _skipped(call, word) or ("" if call.block else "no block")
        skipped = skipped or next((one.name for one in calls if _is_skip(one)), "")
        described = next((one for one in call.positional if not one.symbol), None)
        aggregated = _has_metadata(call, "aggregate_failures") or any(one.name == "aggregate_failures" for one in calls)
        return Example(
            **_part(node, word),
            text=None if described is None else described.value,
            pending=skipped,
            expectations=() if body is None else tuple(_expectations(body)),
            shared=tuple(one for one in calls if one.name in SHARED),
            calls=calls,
            branches=() if body is None else tuple(_branches(body)),
            aggregated=aggregated,
        )


def _part(node: Node, word: str) -> dict[str, Any]:
    body = body_of(node)
    end = node.end_byte
    start_of_body, end_of_body = (end, end) if body is None else (body.start_byte, body.end_byte)
    return {
        "kind": word,
        "line": first_line(node),
        "last": last_line(node),
        "start": node.start_byte,
        "end": end,
        "body_start": start_of_body,
        "body_end": end_of_body,
        "body": "" if body is None else text(body),
    }


def _definition(node: Node, word: str) -> Definition:
    call = call_of(node)
    body = body_of(node)
    name = next((one.value for one in call.positional if one.value is not None), "subject" if "subject" in word else "")
    return Definition(**_part(node, word), name=name, calls=() if body is None else tuple(calls_in(body)))


def _skipped(call: RubyCall, word: str) -> str:
    if word.startswith("x") or word in PENDING:
        return word
    never = next(
        (f"{name}: {one}" for name, one in _FILTERS if name in call.pairs and call.pairs[name].source == one), ""
    )
    return never or next((f":{name}" for name in PENDING if _has_metadata(call, name)), "")


def _has_metadata(call: RubyCall, name: str) -> bool:
    pair = call.pairs.get(name)
    if pair is not None and pair.source not in ("false", "nil"):
        return True
    return any(one.symbol and one.value == name for one in call.positional)


def _is_skip(call: RubyCall) -> bool:
    return call.name in PENDING and not call.receiver


def _expectations(body: Node) -> Iterator[Expectation]:
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type == "call" and (found := _expectation(node)) is not None:
            yield found
        stack.extend(reversed(node.named_children))


def _expectation(node: Node) -> Expectation | None:
    found = expectation(node)
    if found is None:
        return None
    arguments = node.child_by_field_name("arguments")
    matcher = "" if arguments is None else text(arguments)
    return Expectation(
        line=first_line(node),
        target="" if found.target is None else text(found.target),
        matcher=matcher[1:-1] if matcher.startswith("(") else matcher,
        negated=found.negated,
        block=found.block,
    )


def _branches(body: Node) -> Iterator[tuple[str, int]]:
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type in BRANCHES:
            yield BRANCHES[node.type], first_line(node)
        elif node.type == "call":
            method = node.child_by_field_name("method")
            if method is not None and text(method) in LOOPS and node.child_by_field_name("block") is not None:
                yield text(method), first_line(method)
        stack.extend(reversed(node.named_children))
