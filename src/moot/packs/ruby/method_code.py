"""The code of a method as plain values: its statements, conditionals, calls, constants and assignments.

What other packages know of a method's code comes from here or from `conditionals`: they never see a syntax tree.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.conditionals import body_of, conditionals_in
from moot.packs.ruby.expressions import DEEPEST, expression
from moot.packs.ruby.syntax import constant_name, parse, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node

    from moot.packs.ruby.conditionals import Conditional
    from moot.packs.ruby.expressions import Expression
    from moot.packs.ruby.methods import Method
    from moot.packs.ruby.syntax import RubySource

_INNER = frozenset(("method", "singleton_method", "class", "module", "singleton_class"))
_METHODS = frozenset(("method", "singleton_method"))
_NO_STATEMENT = frozenset(("rescue", "ensure", "comment", "heredoc_body"))
_LISTS = frozenset(("then", "else", "body_statement", "block_body", "begin", "parenthesized_statements"))
_NAMES = frozenset(("identifier", "constant", "instance_variable"))
_NEAR = DEEPEST - 1  # of a call, only the receiver and the arguments are described


class PlacedConditional(Record):
    """A conditional of a method. `top`: it is a statement of its own."""

    conditional: Conditional
    top: bool


def statements_of(method: Method) -> tuple[Expression, ...]:
    """The statements of a method, without `rescue` and `ensure`."""
    return tuple(map(expression, _statements(method)))


def conditionals_of(method: Method) -> tuple[PlacedConditional, ...]:
    """The conditionals in the statements of a method, in the order of the source."""
    statements = _statements(method)
    starts = {one.start_byte for one in statements}
    found = (one for statement in statements for one in conditionals_in(statement))
    return tuple(PlacedConditional(one, one.start in starts) for one in found)


def _statements(method: Method) -> tuple[Node, ...]:
    body = body_of(method.node)
    if body is None:
        return ()
    if body.type in _LISTS:
        return tuple(child for child in body.named_children if child.type not in _NO_STATEMENT)
    return (body,)


def calls_of(methods: Iterable[Method]) -> Iterator[Expression]:
    """All calls in the methods, each with its receiver and its arguments."""
    for method in methods:
        yield from (expression(one, _NEAR) for one in walk(method.node, _INNER) if one.type == "call")


def constants_of(methods: Iterable[Method]) -> list[str]:
    """The constants that the methods name, each once, without a leading `::`."""
    found: dict[str, None] = {}
    for method in methods:
        stack = [method.node]
        while stack:
            one = stack.pop()
            name = constant_name(one) if one.type in {"constant", "scope_resolution"} else None
            if name is not None:
                found[name.removeprefix("::")] = None
            elif one is method.node or one.type not in _INNER:
                stack.extend(reversed(one.named_children))
    return list(found)


def assigned_values(method: Method) -> dict[str, Expression]:
    """What a method assigns to each of its variables; the last value, if there are several."""
    found: dict[str, Expression] = {}
    for one in walk(method.node, _INNER):
        if one.type != "assignment":
            continue
        left, right = (one.child_by_field_name(side) for side in ("left", "right"))
        if left is not None and right is not None:
            found[text(left)] = expression(right)
    return found


def names_in(one: Expression) -> frozenset[str]:
    """The names of variables, methods and constants in an expression. Its source is parsed for that."""
    return frozenset(text(node) for node in walk(parse(one.text.encode()).root) if node.type in _NAMES)


def calls_of_classes(source: RubySource) -> frozenset[str]:
    """The methods that are called outside of methods without a receiver, such as `belongs_to`."""
    calls = (one for one in walk(source.root, _METHODS) if one.type == "call")
    names = (one.child_by_field_name("method") for one in calls if one.child_by_field_name("receiver") is None)
    return frozenset(text(name) for name in names if name is not None)
