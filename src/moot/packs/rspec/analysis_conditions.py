"""Conditions: what a condition tests, by which name, of which type, and which two values it tells apart.

A condition with `&&` has several tests, one with `||` has one. `case` and chains of `elsif` are joined by the caller.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.analysis_words import words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.packs.ruby.expressions import Expression

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
_OPERATIONS = frozenset(("and", "or", "comparison", "equality", "match", "binary"))
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
    subject: Expression  # what is tested
    values: tuple[Tested, Tested]
    inverted: bool = False
    threshold: tuple[str, int | float | str] | None = None
    unclear: bool = False


def tests_of(condition: Expression) -> list[ConditionTest]:
    """The tests of a condition, in the order in which they are made."""
    one, inverted = _bare(condition)
    if one.kind == "and" and not inverted:
        return [test for part in one.operands for test in tests_of(part)]
    return [_test(one, inverted=inverted)]


def _bare(one: Expression) -> tuple[Expression, bool]:
    """Without negations; whether it is negated."""
    inverted = False
    while True:
        if one.kind == "not" and one.operands:
            one, inverted = one.operands[0], not inverted
        elif one.kind == "assignment" and one.operator == "=" and one.target is not None:
            one = one.target  # `if (x = y)`
        else:
            return one, inverted


def _test(one: Expression, *, inverted: bool) -> ConditionTest:
    if len(one.operands) > 1 and one.kind in _OPERATIONS:
        return _operation(one, inverted=inverted)
    if one.kind == "call" and one.name in _PRESENCE_CALLS and one.receiver is not None:
        return _presence(one.receiver, inverted=inverted != (not _PRESENCE_CALLS[one.name]))
    if one.kind in {"call", "name"} and one.name.endswith("?"):
        return _boolean(one, inverted=inverted)
    if one.kind in {"name", "variable", "call", "index", "constant"} and not one.name.startswith("@@"):
        return _presence(one, inverted=inverted)
    return _boolean(one, inverted=inverted).replace(unclear=one.kind not in {"true", "false"})


def _operation(one: Expression, *, inverted: bool) -> ConditionTest:
    left, right, operator = one.operands[0], one.operands[-1], one.operator
    if operator in _COMPARISONS:
        return _range(left, right, operator, inverted=inverted)
    if operator in _EQUALITIES:
        if is_literal(left) and not is_literal(right):
            left, right = right, left
        flipped = inverted != (not _EQUALITIES[operator])
        if right.kind == "nil":
            return _presence(left, inverted=not flipped)
        if right.kind in {"true", "false"}:
            return _boolean(left, inverted=flipped != (right.kind == "false"))
        if is_literal(right):
            return equality(left, right, inverted=flipped)
    if one.kind == "or":
        return _either(one, inverted=inverted)
    return _boolean(one, inverted=inverted).replace(unclear=True)


def equality(subject: Expression, literal: Expression, *, inverted: bool = False) -> ConditionTest:
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


def _range(left: Expression, right: Expression, operator: str, *, inverted: bool) -> ConditionTest:
    if is_literal(left) and not is_literal(right):
        left, right, operator = right, left, _MIRRORED[operator]
    limit = value_of(right)
    label = str(limit) if is_literal(right) else name_of(right)[0]
    name, receiver = name_of(left)
    holds, fails = _COMPARISONS[operator]
    threshold = limit if isinstance(limit, (int, float)) and not isinstance(limit, bool) else right.text[:200]
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


def _presence(subject: Expression, *, inverted: bool) -> ConditionTest:
    name, receiver = name_of(subject)
    there = Tested(value=PRESENT, description=f"{words_of(name)} present")
    missing = Tested(value=ABSENT, description=f"no {words_of(name)}")
    return ConditionTest(PRESENCE, name, receiver, subject, (there, missing), inverted=inverted)


def _boolean(subject: Expression, *, inverted: bool) -> ConditionTest:
    name, receiver = name_of(subject)
    shown = words_of(name)
    values = (Tested(value=True, description=shown), Tested(value=False, description=f"NOT {shown}"))
    return ConditionTest(BOOLEAN, name, receiver, subject, values, inverted=inverted)


def _either(one: Expression, *, inverted: bool) -> ConditionTest:
    """`a || b` is one test."""
    found, *others = [_test(bare, inverted=flipped) for bare, flipped in map(_bare, one.operands)]
    for second in others:
        name = "_or_".join(dict.fromkeys((found.name, second.name)))[:80]
        shown = " or ".join(dict.fromkeys((_holding(found), _holding(second))))
        values = (Tested(value=True, description=shown), Tested(value=False, description=f"neither {shown}"))
        found = ConditionTest(BOOLEAN, name, "", one.operands[0], values)
    return found.replace(subject=all_but_last(one), inverted=inverted)


def all_but_last(one: Expression) -> Expression:
    """What stands before the last operator of `a || b || c`, or of `a && b && c`."""
    *before, _ = one.operands
    if len(before) == 1:
        return before[0]
    shown = f" {one.operator} ".join(part.text for part in before)
    return one.replace(operands=tuple(before), text=shown, end=before[-1].end, last_line=before[-1].last_line)


def _holding(test: ConditionTest) -> str:
    return test.values[1 if test.inverted else 0].description


# --- names and values ------------------------------------------------------------------------------------------------


def name_of(one: Expression) -> tuple[str, str]:
    """The name of what an expression means, and of what stands before it."""
    if one.kind == "call":
        return _label(one.name), "" if one.receiver is None else _own_name(one.receiver)
    if one.kind == "index" and one.receiver is not None:
        keys = [key.value or key.text for key in one.operands]
        return _label(f"{_own_name(one.receiver)}_{'_'.join(keys)}"), ""
    if one.kind in _OPERATIONS and one.operands:
        return name_of(one.operands[0])
    return _own_name(one) or "condition", ""


def _own_name(one: Expression) -> str:
    """The name of a receiver: of `order.payment` it is `payment`."""
    if one.kind == "call":
        found = one.name in {"new", "find", "find_by", "first", "last"}
        return _own_name(one.receiver) if found and one.receiver is not None else _label(one.name)
    if one.kind == "self":
        return ""
    if one.kind == "index" and one.receiver is not None:
        return _own_name(one.receiver)
    return _label(words_of(one.name)) if one.kind == "constant" else _label(one.text)


def _label(raw: str) -> str:
    """A name with letters, digits and underscores only."""
    letters = (letter if letter.isalnum() or letter == "_" else "_" for letter in raw.strip("?!@$:="))
    return "_".join(part for part in "".join(letters).split("_") if part).lower()[:80]


def is_literal(one: Expression) -> bool:
    return one.kind in {"symbol", "string", "number", "nil", "true", "false", "constant"}


def value_of(one: Expression) -> bool | str | int | float:
    """The value of a literal; the source of anything else."""
    if one.kind in {"true", "false"}:
        return one.kind == "true"
    if one.kind == "number" and len(one.text) < 40:
        return _number(one.text)
    return (one.value if one.value is not None else one.text)[:200]


def _number(raw: str) -> str | int | float:
    is_float = "." in raw or ("e" in raw.lower() and not raw.lower().lstrip("-").startswith("0x"))
    try:
        return float(raw) if is_float else int(raw, 0)
    except ValueError:  # an octal such as 017, a rational, or a complex number
        return raw
