"""Examples that cannot fail, because they test nothing: found in the source of a spec file, without running it.

What is certain: no expectation at all, only expectations of fixed values (`expect(true).to be(true)`), or none that is
reached, because a `next`, `return` or `skip` comes first, a condition never holds, or its failure is rescued. What
cannot be decided from the source, such as a helper of another file that may have expectations, is reported as not
certain. Shared examples, expectations in hooks, and helpers of the same file that have expectations are tests.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.example_flow import Reached, reached_in
from moot.packs.ruby.fixed_values import is_fixed, is_fixed_matcher, root_of_matcher
from moot.packs.ruby.spec_nodes import (
    body_of,
    expectation,
    first_argument,
    is_example,
    method_name,
    own_nodes,
    spec_word,
)
from moot.packs.ruby.spec_words import DEFINITIONS, GROUPS, HARMLESS, HOOKS, MATCHERS, SHARED, SHARED_GROUPS
from moot.packs.ruby.syntax import first_line, literal_text, parse, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from moot.packs.ruby.spec_nodes import ExpectationNode

_DEEPEST = 8  # names that stand for each other
_SAME = frozenset(("eq", "eql", "equal", "be", "match"))
_ASSERTS = ("assert", "refute", "verify", "expect", "should", "must", "ensure", "check", "validate")
_CONDITIONS = frozenset(("if_modifier", "unless_modifier", "then"))
_ONLY_RAISES = frozenset(("raise", "fail", "throw"))


class Vacuity(Record):
    """An example that tests nothing, or may test nothing. `start` is its first byte.

    out_of_sight: something that is not in the example may verify a result without an expectation.
    """

    start: int
    line: int
    reason: str
    certain: bool
    out_of_sight: bool = False


class Surround(Record):
    """What the groups around an example give it."""

    definitions: Mapping[str, Node | None] = {}  # bodies of `let` and `subject`, by name
    methods: Mapping[str, Node] = {}  # those that are defined with `def`
    tested: bool = False  # a hook has an expectation
    mixed: bool = False  # definitions may come from elsewhere, too


def vacuous_examples(data: bytes) -> list[Vacuity]:
    """The examples of a spec file that test nothing, or may test nothing."""
    root = parse(data).root
    found = []
    stack: list[tuple[Node, Surround]] = [(root, _with(root, Surround()))]
    while stack:
        body, around = stack.pop()
        for node in own_nodes(body):
            word, inner = spec_word(node), body_of(node)
            if word in GROUPS or word in SHARED_GROUPS:
                if inner is not None:
                    outer = around.replace(mixed=True) if word in SHARED_GROUPS else around
                    stack.append((inner, _with(inner, outer)))
            elif is_example(node, word):
                example = _Example(inner, around) if inner is not None else None
                judged = example.verdict() if example is not None else ("it is empty", True)
                if judged is not None:
                    hidden = example is not None and bool(example.unknown_helper())
                    found.append(Vacuity(node.start_byte, first_line(node), *judged, out_of_sight=hidden))
    return sorted(found, key=lambda one: one.start)


def _with(body: Node, around: Surround) -> Surround:
    """What a group adds."""
    definitions, methods = dict(around.definitions), dict(around.methods)
    tested, mixed = around.tested, around.mixed
    for node in own_nodes(body):
        word = spec_word(node)
        if word in DEFINITIONS:
            named = first_argument(node)
            names = {literal_text(named) or ""} if named is not None else set()
            for name in names | ({"subject"} if "subject" in word else set()):
                definitions[name] = body_of(node)
        elif word in SHARED or word in ("include", "extend", "instance_exec", "class_eval"):
            mixed = True
        elif word in HOOKS and (inner := body_of(node)) is not None:
            tested = tested or any(expectation(one) is not None for one in walk(inner))
        elif node.type == "method" and (called := node.child_by_field_name("name")) is not None:
            methods[text(called)] = node
    return Surround(definitions, methods, tested, mixed)


class _Example:
    """The body of one example, and what its groups give it."""

    def __init__(self, body: Node, around: Surround) -> None:
        self.body, self.around = body, around
        self.assigned, self.given = _variables(body)

    def verdict(self) -> tuple[str, bool] | None:
        """Why the example tests nothing, and whether that is certain; None if it tests something."""
        reasons: list[tuple[str, bool]] = []
        for one in reached_in(self.body):
            if one.leaves:
                if one.leaves in ("skip", "pending"):
                    return f"`{one.leaves}` ends it", one.certain
                continue
            why = self._void(one)
            if why is None:
                return None
            reasons.append(why)
        if self.around.tested or any(word in SHARED for word in self._words()):
            return None
        if not reasons:
            return self._without_expectations()
        unclear = next((one for one in reasons if not one[1]), None)
        if unclear is None and (helper := self.unknown_helper()):
            return f"{reasons[0][0]}, and {helper}", False
        return unclear or reasons[0]

    def _void(self, one: Reached) -> tuple[str, bool] | None:
        """Why an expectation tests nothing; None if it does."""
        wanted = expectation(one.node)
        assert wanted is not None
        if one.dead and one.certain:
            return one.dead, True
        if why := self._same_for_all_code(wanted):
            return why
        return (one.dead, False) if one.dead else None

    def _same_for_all_code(self, wanted: ExpectationNode) -> tuple[str, bool] | None:
        target, matcher = wanted.target, wanted.matcher
        known = matcher is None or is_fixed_matcher(matcher, self._fixed)
        builtin = matcher is None or root_of_matcher(matcher) in MATCHERS
        said = f"`{_short(wanted.node)}`"
        if wanted.block:
            if target is not None and not is_fixed(target, self._fixed) and not _raises_only(target):
                return None
            return f"{said} runs no code", builtin or root_of_matcher(matcher) == "change" if matcher else True
        fixed = self._fixed("subject") if target is None else is_fixed(target, self._fixed)
        if fixed:
            if known:
                return f"{said} compares fixed values", True
            return None if builtin else (f"{said} is about a fixed value", False)
        if target is not None and matcher is not None and not wanted.negated and target.type == "identifier":
            value = first_argument(matcher) if matcher.type == "call" else None
            if value is not None and method_name(matcher) in _SAME and text(value) == text(target):
                return f"{said} compares a value with itself", False
        return None

    def _fixed(self, name: str, depth: int = 0) -> bool:
        """Whether a name stands for a fixed value."""
        if depth > _DEEPEST or name in self.given:
            return False

        def inner(other: str) -> bool:
            return other != name and self._fixed(other, depth + 1)

        if name in self.assigned:
            return all(one is not None and is_fixed(one, inner) for one in self.assigned[name])
        if self.around.mixed or name not in self.around.definitions:
            return False
        body = self.around.definitions[name]
        return body is None or is_fixed(body, inner)

    def _words(self) -> Iterator[str]:
        """The calls without a receiver, and the words that may be such calls."""
        for node in walk(self.body):
            if node.type == "call" and node.child_by_field_name("receiver") is None:
                yield method_name(node)
            elif node.type == "identifier" and not _is_name(node):
                yield text(node)

    def _without_expectations(self) -> tuple[str, bool] | None:
        for name in self._words():
            helper = self.around.methods.get(name)
            if helper is not None and any(expectation(one) is not None for one in walk(helper)):
                return None
        why = self.unknown_helper()
        return (f"it has no expectation{why and ' of its own: '}{why}", not why)

    def unknown_helper(self) -> str:
        """A call that may verify something out of sight, in words; empty if there is none."""
        for node in walk(self.body):
            received = node.type == "call" and node.child_by_field_name("receiver") is not None
            if received and expectation(node) is None and method_name(node).lower().startswith(_ASSERTS):
                return f"`{method_name(node)}` may verify something"
            if node.type in _CONDITIONS and any(_raises(one) for one in node.named_children):
                return f"`{_short(node)}` may verify something"
        for name in self._words():
            if name in HARMLESS or name in self.assigned or name in self.given:
                continue
            defined = name in self.around.definitions
            body = self.around.definitions[name] if defined else self.around.methods.get(name)
            if (body is None and not defined) or (body is not None and _verifies(body)):
                return f"`{name}` may verify something"
        return ""


def _verifies(body: Node) -> bool:
    """Whether a helper may verify something by itself."""
    return any(node.type == "call" and (_raises(node) or spec_word(node).startswith(_ASSERTS)) for node in walk(body))


def _raises(node: Node) -> bool:
    return node.type == "call" and spec_word(node) in ("raise", "fail")


def _raises_only(body: Node) -> bool:
    """Whether a block does nothing but raise."""
    statements = [one for one in body.named_children if one.type != "comment"]
    return len(statements) == 1 and (
        (statements[0].type == "call" and spec_word(statements[0]) in _ONLY_RAISES)
        or (statements[0].type == "identifier" and text(statements[0]) in _ONLY_RAISES)
    )


def _variables(body: Node) -> tuple[dict[str, list[Node | None]], set[str]]:
    """The values that are assigned to each local variable, None for one that is computed; and names that blocks get."""
    assigned: dict[str, list[Node | None]] = {}
    given: set[str] = set()
    for node in walk(body):
        if node.type in ("assignment", "operator_assignment"):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None:
                continue
            plain = left.type == "identifier" and node.type == "assignment"
            names = [text(one) for one in walk(left) if one.type == "identifier"]
            for name in names:
                assigned.setdefault(name, []).append(right if plain else None)
        elif node.type in ("block_parameters", "exception_variable", "for"):
            given |= {text(one) for one in node.named_children if one.type == "identifier"}
    return assigned, given


def _is_name(node: Node) -> bool:
    """Whether an identifier only names something: a method that is called, a parameter."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "call":
        method = parent.child_by_field_name("method")
        return method is not None and method.start_byte == node.start_byte
    return parent.type in ("block_parameters", "exception_variable", "left_assignment_list", "method")


def _short(node: Node) -> str:
    said = " ".join(text(node).split())
    return said if len(said) <= 60 else said[:57] + "…"
