"""The conditionals of a method as a tree: each has branches, and a branch has the conditionals inside it.

Found are `if`/`elsif`/`else`, `unless`, both as modifiers, `case` with `when` or `in`, and the ternary. A conditional
in a condition stands beside the one that it belongs to. Blocks belong to the branch around them. Methods and classes
inside the method are left out. Code in `#{}` counts, the text around it does not.
"""

from __future__ import annotations

from bisect import bisect_left

from moot.core.record import Record
from moot.packs.ruby.expressions import Expression, expression, leaves_by
from moot.packs.ruby.syntax import first_line, last_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tree_sitter import Node

    from moot.packs.ruby.methods import Method

_WORDS = rb"\b(?:if|unless|case)\b|\?"  # without one of them there is no conditional
_FORMS = {
    "if": "if",
    "unless": "unless",
    "if_modifier": "if",
    "unless_modifier": "unless",
    "conditional": "ternary",
    "case": "case",
    "case_match": "case_in",
}
_MODIFIERS = frozenset(("if_modifier", "unless_modifier"))
_OTHER_SCOPES = frozenset(("method", "singleton_method", "class", "module", "singleton_class"))
_NO_STATEMENT = frozenset(("comment", "heredoc_body"))
_LISTS = frozenset(("body_statement", "block_body", "then", "else", "begin", "parenthesized_statements"))
_LOOPS = ("while", "until", "for", "while_modifier", "until_modifier")
_SCOPES = frozenset(("block", "do_block", "lambda", "rescue", *_LOOPS))


class Branch(Record):
    """One way through a conditional.

    `role`: `then` (the condition holds; of an `unless`, it does not hold), `elsif`, `else`, `when`, `in`. An `else`
    that the source does not have is there too, with `implicit` set and no statements.
    """

    role: str
    first_line: int
    last_line: int
    condition: Expression | None = None  # of an elsif, and of an `in … if guard`
    values: tuple[Expression, ...] = ()  # of a when or in
    statements: tuple[Expression, ...] = ()
    leaves: str = ""  # return, raise, next, break, throw, exit, redo, retry; empty if it goes on
    implicit: bool = False
    nested: tuple[Conditional, ...] = ()


class Conditional(Record):
    """`condition` is what `if`, `unless` or the ternary tests, or the value of a `case`; None for a `case` without."""

    form: str  # if, unless, ternary, case, case_in
    scope: tuple[int, int] | None  # the bytes of the innermost block, loop or rescue around it: it may not be run
    last: bool  # the method does nothing after it
    condition: Expression | None
    branches: tuple[Branch, ...]
    first_line: int
    last_line: int
    start: int
    end: int

    def walk(self) -> Iterator[Conditional]:
        """This conditional and all inside it, in the order of the source."""
        stack = [self]
        while stack:
            one = stack.pop()
            yield one
            stack.extend(inner for branch in reversed(one.branches) for inner in reversed(branch.nested))


class _Place(Record):
    """Where a node stands."""

    sink: list[_Open]
    last: bool
    scope: tuple[int, int] | None = None


class _Open:
    """A conditional whose nested ones are still being collected."""

    def __init__(self, node: Node, place: _Place) -> None:
        self.node = node
        self.place = place
        self.branches: list[tuple[dict[str, Any], list[_Open]]] = []
        self.closed: Conditional | None = None


def conditionals(method: Method) -> tuple[Conditional, ...]:
    """The conditionals of a method, in the order of the source: of its parameters' defaults, then of its body."""
    block = _block_of(method.node) or method.node
    parts = (block.child_by_field_name("parameters"), body_of(method.node))
    return tuple(one for part in parts if part is not None for one in conditionals_in(part))


def body_of(node: Node) -> Node | None:
    """The body of a `def`, or of the block that `define_method` got."""
    block = _block_of(node)
    if block is None:
        return node.child_by_field_name("body")
    body = block.child_by_field_name("body")
    if block.type == "lambda" and body is not None:  # the body of a lambda is a block
        return body.child_by_field_name("body")
    return body


def _block_of(node: Node) -> Node | None:
    if node.type != "call":
        return None
    block, given = node.child_by_field_name("block"), node.child_by_field_name("arguments")
    if block is None and given is not None:
        return next((one for one in given.named_children if one.type == "lambda"), None)
    return block


def conditionals_in(root: Node) -> tuple[Conditional, ...]:
    import re

    opened: list[_Open] = []
    found: list[_Open] = []
    words = [root.start_byte + one.start() for one in re.finditer(_WORDS, root.text or b"")]
    stack: list[tuple[Node, _Place]] = [(root, _Place(sink=found, last=True))]
    while stack:
        node, place = stack.pop()
        first = bisect_left(words, node.start_byte)
        if first == len(words) or words[first] >= node.end_byte or node.type in _OTHER_SCOPES:
            continue  # most of a method has no conditional, and need not be entered
        if node.type in _FORMS and node.is_named:
            one = _Open(node, place)
            opened.append(one)
            place.sink.append(one)
            stack.extend(reversed(list(_branches(one))))
        else:
            stack.extend(reversed(list(_children(node, place))))
    for one in reversed(opened):  # the inner ones come later, so they are complete first
        one.closed = _close(one)
    return tuple(one.closed for one in found if one.closed is not None)


def _children(node: Node, place: _Place) -> Iterator[tuple[Node, _Place]]:
    children = node.named_children
    inner = place
    if node.type in _SCOPES:
        inner = _Place(place.sink, last=False, scope=(node.start_byte, node.end_byte))
    statements = [one for one in children if one.type not in _NO_STATEMENT]
    final = statements[-1] if statements and node.type in _LISTS else None
    for child in children:
        last = inner.last and final is not None and child.id == final.id
        yield child, inner if last == inner.last else inner.replace(last=last)


def _branches(one: _Open) -> Iterator[tuple[Node, _Place]]:
    """Add the branches of a conditional, and return what has to be searched: conditions first, then the bodies."""
    outside = one.place.replace(last=False)
    if one.node.type in {"case", "case_match"}:
        parts = _of_case(one.node)
    elif one.node.type in _MODIFIERS:
        parts = _of_modifier(one.node)
    else:
        parts = _of_if(one.node)
    for fields, conditions, body in parts:
        nested: list[_Open] = []
        statements = _statements(body)
        leaving = next((word for word in map(leaves_by, statements) if word), "")
        placed = statements or [body if body is not None else one.node]
        one.branches.append(
            (
                {
                    "first_line": first_line(placed[0]),
                    "last_line": last_line(placed[-1]),
                    "statements": tuple(map(expression, statements)),
                    "leaves": leaving,
                    **fields,
                },
                nested,
            )
        )
        for condition in conditions:
            yield condition, outside
        if body is not None:
            yield body, one.place.replace(sink=nested)


_Part = tuple["dict[str, Any]", "list[Node]", "Node | None"]


def _of_modifier(node: Node) -> Iterator[_Part]:
    condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
    yield {"role": "then"}, _tested(node, condition), body
    yield {"role": "else", "implicit": True}, [], None


def _of_if(node: Node) -> Iterator[_Part]:
    role = "then"
    current: Node | None = node
    while current is not None:
        if current.type not in {"if", "unless", "conditional", "elsif"}:  # an else, or the other side of a ternary
            yield {"role": "else"}, [], current
            return
        condition, body = current.child_by_field_name("condition"), current.child_by_field_name("consequence")
        fields: dict[str, Any] = {"role": role}
        if role == "elsif" and condition is not None:
            fields["condition"] = expression(condition)
        yield fields, _tested(current, condition), body
        after = current.child_by_field_name("alternative")
        if after is not None and (node.type == "conditional" or after.type == "else"):
            yield {"role": "else"}, [], after
            return
        role, current = "elsif", after
    yield {"role": "else", "implicit": True}, [], None


def _of_case(node: Node) -> Iterator[_Part]:
    value = node.child_by_field_name("value")
    conditions = _tested(node, value)
    for part in node.named_children:
        if part.type in {"when", "in_clause"}:
            patterns = part.children_by_field_name("pattern")
            guard = part.child_by_field_name("guard")
            fields: dict[str, Any] = {
                "role": "when" if part.type == "when" else "in",
                "values": tuple(map(expression, patterns)),
            }
            tested = guard.child_by_field_name("condition") if guard is not None else None
            if tested is not None:
                fields["condition"] = expression(tested)
            inside = [*conditions, *patterns, *_tested(part, tested)]
            yield fields, inside, part.child_by_field_name("body")
            conditions = []
        elif part.type == "else":
            yield {"role": "else"}, [], part
            return
    yield {"role": "else", "implicit": True}, conditions, None


def _tested(node: Node, condition: Node | None) -> list[Node]:
    """The condition, and the texts of heredocs that begin in it: they stand beside it in the tree."""
    texts = [one for one in node.named_children if one.type == "heredoc_body"]
    return texts if condition is None else [condition, *texts]


def _statements(body: Node | None) -> list[Node]:
    if body is None:
        return []
    while body.type in _LISTS:
        inner = [one for one in body.named_children if one.type not in _NO_STATEMENT]
        if len(inner) != 1 or inner[0].type not in _LISTS:
            return inner
        body = inner[0]
    return [body]


def _close(one: _Open) -> Conditional:
    node = one.node
    branches = tuple(
        Branch(**fields, nested=tuple(inner.closed for inner in nested if inner.closed is not None))
        for fields, nested in one.branches
    )
    form = _FORMS[node.type]
    tested = node.child_by_field_name("value" if form in {"case", "case_in"} else "condition")
    return Conditional(
        form=form,
        scope=one.place.scope,
        last=one.place.last,
        condition=None if tested is None else expression(tested),
        branches=branches,
        first_line=first_line(node),
        last_line=last_line(node),
        start=node.start_byte,
        end=node.end_byte,
    )
