"""Expressions and statements as plain values: what a condition tests, what a branch does.

Only the outer levels of an expression are described; what lies deeper than `DEEPEST` has the kind `other` and its text.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.syntax import constant_name, first_line, last_line, literal_text, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node

DEEPEST = 12
_LONGEST = 2000  # characters of `text`
_LEAVING_CALLS = {"raise": "raise", "fail": "raise", "throw": "throw", "exit": "exit", "exit!": "exit", "abort": "exit"}
_LEAVING = {"return": "return", "next": "next", "break": "break", "redo": "redo", "retry": "retry"}
_OPERATORS = {
    **dict.fromkeys(("&&", "and"), "and"),
    **dict.fromkeys(("||", "or"), "or"),
    **dict.fromkeys(("<", "<=", ">", ">="), "comparison"),
    **dict.fromkeys(("==", "!=", "==="), "equality"),
    **dict.fromkeys(("=~", "!~"), "match"),
}
_VARIABLES = frozenset(("instance_variable", "class_variable", "global_variable"))
_PLAIN = {
    "nil": "nil",
    "true": "true",
    "false": "false",
    "self": "self",
    "integer": "number",
    "float": "number",
    "rational": "number",
    "complex": "number",
    "simple_symbol": "symbol",
    "delimited_symbol": "symbol",
    "string": "string",
    "chained_string": "string",
    "range": "range",
    "regex": "regex",
    "lambda": "lambda",
    "if": "conditional",
    "unless": "conditional",
    "case": "conditional",
    "case_match": "conditional",
    "conditional": "conditional",
    "if_modifier": "conditional",
    "unless_modifier": "conditional",
}


class Expression(Record):
    """One expression.

    `kind` is one of: name (a local variable or a call without receiver and arguments), variable (`@a`, `@@a`, `$a`),
    constant, call, index (`a[b]`), and, or, not, comparison, equality, match, binary, assignment, nil, true, false,
    self, number, symbol, string, array, hash, range, regex, lambda, conditional, return, next, break, raise, throw,
    exit, redo, retry, other.
    """

    kind: str
    text: str  # the source, with every run of white space as one blank, cut if very long
    line: int
    last_line: int
    start: int
    end: int
    name: str = ""  # of a name, variable, constant or call, and of what an assignment assigns to
    operator: str = ""
    value: str | None = None  # of a symbol or string without interpolation
    receiver: Expression | None = None
    target: Expression | None = None  # what an assignment assigns to
    operands: tuple[Expression, ...] = ()  # both sides, the arguments, what is returned; the first item of an array

    def __repr__(self) -> str:
        return f"Expression({self.kind} `{self.text}`)"


def expression(node: Node, depth: int = 0) -> Expression:
    node = without_parentheses(node)
    kind = node.type
    if depth > DEEPEST:
        return _make("other", node)
    if kind in _PLAIN:
        return _make(_PLAIN[kind], node, value=literal_text(node))
    if kind == "identifier":
        return _make(_LEAVING_CALLS.get(text(node), "name"), node, name=text(node))
    if kind in _VARIABLES:
        return _make("variable", node, name=text(node))
    if kind in {"constant", "scope_resolution"} and (name := constant_name(node)) is not None:
        return _make("constant", node, name=name)
    if kind in _LEAVING:
        return _make(_LEAVING[kind], node, operands=_listed(node, depth))
    if kind in _COMPOUND:
        return _COMPOUND[kind](node, depth)
    return _make("other", node)


def without_parentheses(node: Node) -> Node:
    while node.type in {"parenthesized_statements", "then", "pattern", "begin"}:
        inner = [one for one in node.named_children if one.type != "comment"]
        if len(inner) != 1:
            break
        node = inner[0]
    return node


def leaves_by(node: Node) -> str:
    """How a statement leaves the method or block for certain: `return`, `raise`, `next`, …; empty if it does not."""
    node = without_parentheses(node)
    if node.type in _LEAVING:
        return _LEAVING[node.type]
    if node.type == "identifier":
        return _LEAVING_CALLS.get(text(node), "")
    if node.type == "call" and node.child_by_field_name("receiver") is None:
        method = node.child_by_field_name("method")
        return "" if method is None else _LEAVING_CALLS.get(text(method), "")
    return ""


def _make(kind: str, node: Node, **fields: Any) -> Expression:
    return Expression(
        kind=kind,
        text=" ".join(text(node).split())[:_LONGEST],
        line=first_line(node),
        last_line=last_line(node),
        start=node.start_byte,
        end=node.end_byte,
        **fields,
    )


def _listed(node: Node, depth: int) -> tuple[Expression, ...]:
    """The arguments of `return a, b` and its relatives."""
    return tuple(
        expression(one, depth + 1)
        for listed in node.named_children
        for one in (listed.named_children if listed.type == "argument_list" else (listed,))
        if one.type != "comment"
    )


def _call(node: Node, depth: int) -> Expression:
    receiver, method = node.child_by_field_name("receiver"), node.child_by_field_name("method")
    name = "call" if method is None else text(method)
    given = node.child_by_field_name("arguments")
    arguments = [] if given is None else [one for one in given.named_children if one.type != "comment"]
    return _make(
        _LEAVING_CALLS.get(name, "call") if receiver is None else "call",
        node,
        name=name,
        receiver=None if receiver is None else expression(receiver, depth + 1),
        operands=tuple(expression(one, depth + 1) for one in arguments if one.type != "pair"),
    )


def _collection(node: Node, depth: int) -> Expression:
    """An array with its first item, or a hash: a long one is a table of data."""
    if node.type == "hash":
        return _make("hash", node)
    return _make("array", node, operands=tuple(expression(one, depth + 1) for one in node.named_children[:1]))


def _binary(node: Node, depth: int) -> Expression:
    operator = node.child_by_field_name("operator")
    word = "" if operator is None else text(operator)
    kind = _OPERATORS.get(word, "binary")
    return _make(kind, node, operator=word, operands=tuple(expression(one, depth + 1) for one in _sides(node, kind)))


def _sides(node: Node, kind: str) -> list[Node]:
    """Both sides; of `a && b && c`, which leans to the left and can be long, all three parts."""
    found: list[Node] = []
    left: Node | None = node
    while left is not None and left.type == "binary":
        operator = left.child_by_field_name("operator")
        if found and (kind not in {"and", "or"} or operator is None or _OPERATORS.get(text(operator)) != kind):
            break
        right = left.child_by_field_name("right")
        found += [] if right is None else [right]
        left = left.child_by_field_name("left")
    return [*([] if left is None else [left]), *reversed(found)]


def _unary(node: Node, depth: int) -> Expression:
    operator, operand = node.child_by_field_name("operator"), node.child_by_field_name("operand")
    word = "" if operator is None else text(operator)
    inner = () if operand is None else (expression(operand, depth + 1),)
    if word in {"!", "not"}:
        return _make("not", node, operator=word, operands=inner)
    if word == "-" and inner and inner[0].kind == "number":
        return _make("number", node)
    return _make("other", node, operator=word, operands=inner)


def _assignment(node: Node, depth: int) -> Expression:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    return _make(
        "assignment",
        node,
        name="" if left is None else text(left),
        operator="=" if operator is None else text(operator),
        target=None if left is None else expression(left, depth + 1),
        operands=() if right is None else (expression(right, depth + 1),),
    )


def _index(node: Node, depth: int) -> Expression:
    parts = [one for one in node.named_children if one.type != "comment"]
    inner = tuple(expression(one, depth + 1) for one in parts)
    return _make("index", node, receiver=inner[0] if inner else None, operands=inner[1:])


_COMPOUND = {
    "call": _call,
    "binary": _binary,
    "unary": _unary,
    "element_reference": _index,
    **dict.fromkeys(("assignment", "operator_assignment"), _assignment),
    **dict.fromkeys(("array", "string_array", "symbol_array", "hash"), _collection),
}
