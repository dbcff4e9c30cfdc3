"""The constants that methods name, and what they assign to variables.

What other packages know of a method's code comes from here or from `conditionals`: they never see a syntax tree.
"""

from __future__ import annotations

from moot.packs.ruby.conditionals import body_of
from moot.packs.ruby.expressions import expression
from moot.packs.ruby.syntax import constant_name, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from moot.packs.ruby.expressions import Expression
    from moot.packs.ruby.methods import Method

_INNER = frozenset(("method", "singleton_method", "class", "module", "singleton_class"))


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


def last_of(method: Method) -> Expression | None:
    """The last statement of a method; none of one with `rescue` or `ensure`."""
    body = body_of(method.node)
    while body is not None and body.type in ("body_statement", "block_body"):
        body = next((one for one in reversed(body.named_children) if one.type != "comment"), None)
    return None if body is None else expression(body)


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
