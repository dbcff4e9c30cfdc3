"""The tree of a spec file: groups, examples, definitions and hooks, with their lines and byte ranges.

A file with syntax errors has a tree, too; `SpecFile.problems` has the errors. Groups and examples inside other blocks,
such as a loop, belong to the group around them. What computed descriptions say is unknown: their `text` is None.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.ruby.calls import RubyCall, call_of, calls_in
from moot.packs.ruby.spec_words import (
    BRANCHES,
    DEFINITIONS,
    EXAMPLES,
    GROUPS,
    HOOKS,
    LOOPS,
    PENDING,
    SHARED,
    SHARED_GROUPS,
    VERDICTS,
)
from moot.packs.ruby.syntax import constant_name, first_line, last_line, literal_text, parse, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tree_sitter import Node

    from moot.packs.ruby.syntax import SyntaxProblem

DEEPEST = 60  # groups in each other


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
        for node in _own(body):
            word = _word(node)
            if word in GROUPS or word in SHARED_GROUPS:
                found.append(self._group(node, word, depth + 1, pending))
            elif _is_example(node, word):
                found.append(self._example(node, word, pending))
        return found

    def _group(self, node: Node, word: str, depth: int, pending: str) -> Group:
        if depth > DEEPEST:
            raise Refused(
                "spec_too_deep",
                f"The spec file has more than {DEEPEST} groups in each other (line {first_line(node)}).",
                "Use fewer levels of contexts.",
            )
        call = call_of(node)
        body = _body(node)
        own = [] if body is None else [(one, _word(one)) for one in _own(body)]
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
            calls=() if body is None else tuple(one for one in calls_in(body, _is_part) if one.name not in SHARED),
        )

    def _hook(self, node: Node, word: str) -> Hook:
        body = _body(node)
        return Hook(
            **_part(node, word),
            calls=() if body is None else tuple(calls_in(body)),
            expectations=() if body is None else tuple(_expectations(body)),
        )

    def _example(self, node: Node, word: str, pending: str) -> Example:
        call = call_of(node)
        body = _body(node)
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


def _own(body: Node) -> Iterator[Node]:
    """The nodes below a body, but nothing below a part of the spec."""
    stack = list(reversed(body.named_children))
    while stack:
        node = stack.pop()
        yield node
        if not _is_part(node) and node.type not in ("method", "singleton_method"):
            stack.extend(reversed(node.named_children))


def _is_part(node: Node) -> bool:
    word = _word(node)
    return bool(word) and (
        word in GROUPS or word in SHARED_GROUPS or word in DEFINITIONS or word in HOOKS or _is_example(node, word)
    )


def _word(node: Node) -> str:
    """The method of a call that can be a part of a spec: without a receiver, or with `RSpec` or `config`."""
    if node.type != "call":
        return ""
    receiver, method = node.child_by_field_name("receiver"), node.child_by_field_name("method")
    if method is None or (receiver is not None and text(receiver) not in ("RSpec", "::RSpec")):
        return ""
    return text(method)


def _is_example(node: Node, word: str) -> bool:
    if word not in EXAMPLES:
        return False
    # `skip "why"` and `pending "why"` without a block are statements of an example or a hook.
    return word not in PENDING or node.child_by_field_name("block") is not None


def _body(node: Node) -> Node | None:
    block = node.child_by_field_name("block")
    return None if block is None else block.child_by_field_name("body")


def _part(node: Node, word: str) -> dict[str, Any]:
    body = _body(node)
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
    body = _body(node)
    name = next((one.value for one in call.positional if one.value is not None), "subject" if "subject" in word else "")
    return Definition(**_part(node, word), name=name, calls=() if body is None else tuple(calls_in(body)))


def _skipped(call: RubyCall, word: str) -> str:
    if word.startswith("x") or word in PENDING:
        return word
    return next((f":{name}" for name in PENDING if _has_metadata(call, name)), "")


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
    method, receiver = node.child_by_field_name("method"), node.child_by_field_name("receiver")
    word = "" if method is None else text(method)
    if word not in VERDICTS:
        return None
    arguments = node.child_by_field_name("arguments")
    matcher = "" if arguments is None else text(arguments)
    matcher = matcher[1:-1] if matcher.startswith("(") else matcher
    target, block = "", False
    if word.startswith("should"):
        target = "" if receiver is None else text(receiver)
    else:
        opening = _opening(receiver)
        if opening is None:
            return None
        target, block = opening
    return Expectation(
        line=first_line(node),
        target=target,
        matcher=matcher,
        negated=word in ("not_to", "to_not", "should_not"),
        block=block,
    )


def _opening(receiver: Node | None) -> tuple[str, bool] | None:
    """What `expect` is given, and whether as a block; None if this does not begin an expectation."""
    if receiver is None:
        return None
    if receiver.type == "identifier":
        return ("", False) if text(receiver) in ("is_expected", "are_expected") else None
    if receiver.type != "call" or receiver.child_by_field_name("receiver") is not None:
        return None
    call = call_of(receiver)
    if call.name in ("is_expected", "are_expected"):
        return "", False
    if not call.name.startswith("expect"):
        return None
    if call.arguments:
        return call.arguments[0].source, False
    inner = _body(receiver)
    return ("" if inner is None else text(inner)), True


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
