"""Whether the value of an expression is fixed in the source: made of literals, so that no code can change it.

What cannot be decided is not fixed: calls, constants of the project, variables that a block gets.
"""

from __future__ import annotations

from moot.packs.ruby.spec_nodes import method_name
from moot.packs.ruby.spec_words import CHAINS, MATCHERS
from moot.packs.ruby.syntax import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    Fixed = Callable[[str], bool]  # whether the value behind a name is fixed

CORE = frozenset(
    (
        *("Array", "BasicObject", "Class", "Comparable", "Complex", "Enumerable", "FalseClass", "Float", "Hash"),
        *("Integer", "Kernel", "Module", "NilClass", "Numeric", "Object", "Proc", "Range", "Rational", "Regexp"),
        *("String", "Symbol", "TrueClass"),
        *("Exception", "StandardError", "RuntimeError", "ArgumentError", "TypeError", "NameError", "NoMethodError"),
        *("KeyError", "IndexError", "ZeroDivisionError", "NotImplementedError"),
    )
)
_LITERALS = frozenset(
    (
        *("nil", "true", "false", "integer", "float", "rational", "complex", "character"),
        *("simple_symbol", "hash_key_symbol", "string_content", "escape_sequence", "comment"),
        "empty_statement",
    )
)
_MADE_OF_PARTS = frozenset(
    (
        *("string", "bare_string", "chained_string", "delimited_symbol", "bare_symbol", "string_array", "symbol_array"),
        *("array", "hash", "pair", "range", "regex", "interpolation", "unary", "binary", "parenthesized_statements"),
        *(
            "conditional",
            "if",
            "unless",
            "then",
            "else",
            "elsif",
            "argument_list",
            "splat_argument",
            "hash_splat_argument",
        ),
        *("body_statement", "block_body", "if_modifier", "unless_modifier"),
    )
)
_SAME = frozenset(("freeze", "dup", "clone", "itself"))


def is_fixed(root: Node, fixed: Fixed) -> bool:
    """Whether the value of an expression is fixed. `fixed` answers for the names in it."""
    return _only(root, fixed, matcher=False)


def is_fixed_matcher(root: Node, fixed: Fixed) -> bool:
    """Whether an expression has nothing but matchers of RSpec itself, with fixed arguments."""
    return _only(root, fixed, matcher=True)


def _only(root: Node, fixed: Fixed, *, matcher: bool) -> bool:
    stack = [root]
    while stack:
        node = stack.pop()
        kind = node.type
        if kind in _LITERALS:
            continue
        if kind in _MADE_OF_PARTS:
            stack.extend(node.named_children)
        elif kind == "identifier":
            name = text(node)
            if not fixed(name) and not (matcher and name in MATCHERS):
                return False
        elif kind == "constant":
            if text(node) not in CORE:
                return False
        elif kind == "call":
            parts = _parts_of_call(node, matcher=matcher)
            if parts is None:
                return False
            stack.extend(parts)
        else:
            return False
    return True


def _parts_of_call(node: Node, *, matcher: bool) -> list[Node] | None:
    """What must be fixed for a call to be fixed; None if it never is."""
    if node.child_by_field_name("block") is not None:
        return None
    name, receiver = method_name(node), node.child_by_field_name("receiver")
    arguments = node.child_by_field_name("arguments")
    given = [] if arguments is None else [arguments]
    if receiver is None:
        return given if matcher and name in MATCHERS else None
    if (matcher and name in CHAINS) or (name in _SAME and arguments is None):
        return [receiver, *given]
    created = name == "new" and receiver.type == "constant"
    return [receiver, *given] if created else None


def root_of_matcher(node: Node) -> str:
    """The word with which a matcher begins: `be_within` of `be_within(1).of(2)`; empty if there is none."""
    while True:
        if node.type == "call":
            receiver = node.child_by_field_name("receiver")
            if receiver is None:
                return method_name(node)
            node = receiver
        elif node.type == "binary":
            left = node.child_by_field_name("left")
            if left is None:
                return ""
            node = left
        else:
            return text(node) if node.type == "identifier" else ""


def truth(node: Node | None) -> bool | None:
    """Whether a condition always or never holds; None if that cannot be decided."""
    negated = False
    while node is not None:
        if node.type in ("true", "false", "nil"):
            return (node.type == "true") is not negated
        if node.type in ("integer", "float", "string", "simple_symbol") and not node.named_children:
            return not negated
        if node.type == "parenthesized_statements" and len(node.named_children) == 1:
            node = node.named_children[0]
        elif node.type == "unary" and text(node)[:1] in ("!", "n"):
            negated = not negated
            node = node.child_by_field_name("operand")
        else:
            return None
    return None
