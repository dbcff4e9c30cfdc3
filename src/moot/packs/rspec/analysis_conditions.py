"""Conditions: what a condition tests, by which name, of which type, and which two values it tells apart.

A condition with `&&` has several tests, one with `||` has one. `case` and chains of `elsif` are joined by the caller.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.analysis_words import words_of
from moot.packs.ruby.syntax import constant_name, literal_text, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node

BOOLEAN, PRESENCE, ENUM, RANGE, SEQUENTIAL = "boolean", "presence", "enum", "range", "sequential"
PRESENT, ABSENT, OTHER = "present", "absent", "other"
_PRESENCE_CALLS = {"nil?": False, "blank?": False, "empty?": False, "present?": True}
_COMPARISONS = {  # of the value for which it is true, and of the other
    "<": ("below", "at_least"),
    "<=": ("at_most", "above"),
    ">": ("above", "at_most"),
    ">=": ("at_least", "below"),
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EQUALITIES = {"==": True, "===": True, "!=": False, "eql?": True}


class Tested(Record):
    """A value that a condition tells apart."""

    value: bool | str | int | float
    description: str


class ConditionTest(Record):
    """What one condition tests. `values`: for which it holds, and for which it does not; the reverse if `inverted`."""

    kind: str
    name: str
    receiver: str  # the name before it, for a prefix; may be empty
    subject: Node  # the expression that is tested
    values: tuple[Tested, Tested]
    inverted: bool = False
    threshold: tuple[str, int | float | str] | None = None
    unclear: bool = False


def tests_of(condition: Node) -> list[ConditionTest]:
    """The tests of a condition, in the order in which they are made."""
    node, inverted = _bare(condition)
    if node.type == "binary" and _operator(node) in {"&&", "and"} and not inverted:
        found: list[ConditionTest] = []
        pending = [node]
        while pending:  # chains lean to the left and can be long
            one, flipped = _bare(pending.pop())
            if one.type == "binary" and _operator(one) in {"&&", "and"} and not flipped:
                pending += [one.named_children[-1], one.named_children[0]]
            else:
                found.append(_test(one, inverted=flipped))
        return found
    return [_test(node, inverted=inverted)]


def _bare(node: Node) -> tuple[Node, bool]:
    """Without parentheses and negations; whether it is negated."""
    inverted = False
    while True:
        if node.type == "parenthesized_statements" and len(node.named_children) == 1:
            node = node.named_children[0]
        elif node.type == "unary" and text(node).startswith(("!", "not")):
            node, inverted = node.named_children[-1], not inverted
        elif node.type == "assignment" and (left := node.child_by_field_name("left")) is not None:
            node = left  # `if (x = y)`
        else:
            return node, inverted


def _test(node: Node, *, inverted: bool) -> ConditionTest:
    if node.type == "binary":
        return _binary(node, inverted=inverted)
    if node.type == "call":
        method = _method(node)
        receiver = node.child_by_field_name("receiver")
        if method in _PRESENCE_CALLS and receiver is not None:
            return _presence(receiver, inverted=inverted != (not _PRESENCE_CALLS[method]))
        if method.endswith("?"):
            return _boolean(node, inverted=inverted)
    if node.type == "identifier" and text(node).endswith("?"):
        return _boolean(node, inverted=inverted)
    if node.type in {"identifier", "instance_variable", "global_variable", "call", "element_reference", "constant"}:
        return _presence(node, inverted=inverted)
    return _boolean(node, inverted=inverted).replace(unclear=node.type not in {"true", "false"})


def _binary(node: Node, *, inverted: bool) -> ConditionTest:
    left, right, operator = node.named_children[0], node.named_children[-1], _operator(node)
    if operator in _COMPARISONS:
        return _range(left, right, operator, inverted=inverted)
    if operator in _EQUALITIES:
        if is_literal(left) and not is_literal(right):
            left, right = right, left
        flipped = inverted != (not _EQUALITIES[operator])
        if right.type == "nil":
            return _presence(left, inverted=not flipped)
        if right.type in {"true", "false"}:
            return _boolean(left, inverted=flipped != (right.type == "false"))
        if is_literal(right):
            return equality(left, right, inverted=flipped)
    if operator in {"||", "or"}:
        return _either(left, right, inverted=inverted)
    return _boolean(node, inverted=inverted).replace(unclear=True)


def equality(subject: Node, literal: Node, *, inverted: bool = False) -> ConditionTest:
    given = value_of(literal)
    name, receiver = name_of(subject)
    shown = described(str(given))
    other = Tested(value=f"not_{given}", description=f"NOT {shown}")
    return ConditionTest(
        ENUM, name, receiver, subject, (Tested(value=given, description=shown), other), inverted=inverted
    )


def described(value: str) -> str:
    """A value in words. One without letters is quoted."""
    if any(letter.isalnum() for letter in value):
        return " ".join(words_of(value).split()) or value
    return f'"{ascii(value)[1:-1]}"' if value else "empty"


def _range(left: Node, right: Node, operator: str, *, inverted: bool) -> ConditionTest:
    if is_literal(left) and not is_literal(right):
        left, right, operator = right, left, _MIRRORED[operator]
    limit = value_of(right)
    label = str(limit) if is_literal(right) else name_of(right)[0]
    name, receiver = name_of(left)
    holds, fails = _COMPARISONS[operator]
    threshold = limit if isinstance(limit, (int, float)) and not isinstance(limit, bool) else text(right)[:200]
    return ConditionTest(
        RANGE,
        name,
        receiver,
        left,
        (
            Tested(value=f"{holds}_{label}", description=f"{words_of(holds)} {words_of(label)}"),
            Tested(value=f"{fails}_{label}", description=f"{words_of(fails)} {words_of(label)}"),
        ),
        inverted=inverted,
        threshold=(operator, threshold),
    )


def _presence(subject: Node, *, inverted: bool) -> ConditionTest:
    name, receiver = name_of(subject)
    there = Tested(value=PRESENT, description=f"{words_of(name)} present")
    missing = Tested(value=ABSENT, description=f"no {words_of(name)}")
    return ConditionTest(PRESENCE, name, receiver, subject, (there, missing), inverted=inverted)


def _boolean(subject: Node, *, inverted: bool) -> ConditionTest:
    name, receiver = name_of(subject)
    shown = words_of(name)
    values = (Tested(value=True, description=shown), Tested(value=False, description=f"NOT {shown}"))
    return ConditionTest(BOOLEAN, name, receiver, subject, values, inverted=inverted)


def _either(left: Node, right: Node, *, inverted: bool) -> ConditionTest:
    """`a || b` is one test."""
    first, second = (_test(one, inverted=flipped) for one, flipped in (_bare(left), _bare(right)))
    name = "_or_".join(dict.fromkeys((first.name, second.name)))[:80]
    shown = " or ".join(dict.fromkeys((_holding(first), _holding(second))))
    values = (Tested(value=True, description=shown), Tested(value=False, description=f"neither {shown}"))
    return ConditionTest(BOOLEAN, name, "", left, values, inverted=inverted)


def _holding(test: ConditionTest) -> str:
    return test.values[1 if test.inverted else 0].description


# --- names and values ------------------------------------------------------------------------------------------------


def name_of(node: Node) -> tuple[str, str]:
    """The name of what an expression means, and of what stands before it."""
    if node.type == "parenthesized_statements" and node.named_children:
        return name_of(node.named_children[0])
    if node.type == "call":
        receiver = node.child_by_field_name("receiver")
        return _label(_method(node)), "" if receiver is None else _own_name(receiver)
    if node.type == "element_reference":
        keys = [literal_text(one) or text(one) for one in node.named_children[1:]]
        return _label(f"{_own_name(node.named_children[0])}_{'_'.join(keys)}"), ""
    if node.type == "binary" and node.named_children:
        return name_of(node.named_children[0])
    return _own_name(node) or "condition", ""


def _own_name(node: Node) -> str:
    """The name of a receiver: of `order.payment` it is `payment`."""
    if node.type == "call":
        receiver, method = node.child_by_field_name("receiver"), _method(node)
        if method in {"new", "find", "find_by", "first", "last"} and receiver is not None:
            return _own_name(receiver)
        return _label(method)
    if node.type == "self":
        return ""
    if node.type == "element_reference" and node.named_children:
        return _own_name(node.named_children[0])
    name = constant_name(node)
    return _label(words_of(name)) if name is not None else _label(text(node))


def _label(raw: str) -> str:
    """A name with letters, digits and underscores only."""
    letters = (letter if letter.isalnum() or letter == "_" else "_" for letter in raw.strip("?!@$:="))
    return "_".join(part for part in "".join(letters).split("_") if part).lower()[:80]


def is_literal(node: Node) -> bool:
    return node.type in {"simple_symbol", "string", "integer", "float", "nil", "true", "false", "delimited_symbol"} or (
        node.type in {"constant", "scope_resolution"} and constant_name(node) is not None
    )


def value_of(node: Node) -> bool | str | int | float:
    """The value of a literal; the source of anything else."""
    raw = text(node)
    if node.type in {"true", "false"}:
        return node.type == "true"
    if node.type == "integer" and len(raw) < 40:
        try:
            return int(raw, 0)
        except ValueError:  # an octal such as 017, or a rational
            return raw
    if node.type == "float" and len(raw) < 40:
        return float(raw)
    found = literal_text(node)
    return (found if found is not None else raw)[:200]


def _method(call: Node) -> str:
    method = call.child_by_field_name("method")
    return "call" if method is None else text(method)


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return "" if operator is None else text(operator)
