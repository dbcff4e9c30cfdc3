"""Conditions in the words of the code: what a condition tests, of which type it is, and which values it tells apart.

The form of the condition decides the type, never a name. Words are those that the code has: `payment.status` gives
`payment_status`. Where the code has none, as for `a || b`, the name is empty, and the texts are `{CONDITION}`: a
placeholder for an agent or a person.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.packs.ruby.conditionals import Branch
    from moot.packs.ruby.expressions import Expression

    Meaning = tuple[bool | str | int | float, str]  # a value and its description

CONDITION = "{CONDITION}"
BOOLEAN, PRESENCE, ENUM, RANGE = "boolean", "presence", "enum", "range"
LITERALS = frozenset(("symbol", "string", "number", "nil", "true", "false"))
_PRESENCE = {"nil?": False, "blank?": False, "empty?": False, "present?": True}
_OBJECTS = frozenset(("name", "variable", "call", "index", "constant"))
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FAILING = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_LONGEST = 60


class Tested(Record):
    """What a condition tests. `values`: for which it holds, and for which it does not; the reverse if `inverted`."""

    kind: str
    name: str
    subject: Expression
    values: tuple[Meaning, ...]
    inverted: bool = False

    @property
    def text(self) -> str:
        """What the condition says where it holds."""
        return self.values[1 if self.inverted else 0][1]


def parts_of(condition: Expression) -> list[Tested]:
    """The parts of `a && b` in the order in which they are tested; of every other condition, the one that it is."""
    one, inverted = _bare(condition)
    if one.kind == "and" and not inverted:
        return [part for operand in one.operands for part in parts_of(operand)]
    return [_tested(one, inverted=inverted)]


def choice_of(subject: Expression, branches: Sequence[Branch], *, other: bool) -> Tested:
    """What a `case` tests: one value for each branch."""
    values: list[Meaning] = []
    for branch in branches:
        first = branch.values[0]
        given = [_literal(one) for one in branch.values]
        value, text = given[0] if len(given) == 1 else (" or ".join(str(value) for value, _ in given),) * 2
        text = " or ".join(text for _, text in given)
        if branch.condition is not None:
            value = text = f"{first.text} if {branch.condition.text}"
        _add(values, (value, text))
    if other:
        _add(values, ("other", "other"))
    return _named(ENUM, words_of(subject), subject, values)


def chain_of(conditions: Sequence[Expression], *, other: bool) -> Tested:
    """What `if … elsif …` tests: one value for each branch."""
    found = [parts_of(condition) for condition in conditions]
    firsts = [parts[0] for parts in found]
    subject = firsts[0].subject
    same = all(len(parts) == 1 and parts[0].subject.text == subject.text for parts in found)
    values: list[Meaning] = []
    name = ""
    if same and all(one.kind == RANGE for one in firsts):
        name = firsts[0].name
        for one in firsts:
            _add(values, one.values[1 if one.inverted else 0])
    elif same and (compared := [_compared(condition) for condition in conditions]) and all(compared):
        name = words_of(subject)
        for literal in compared:
            _add(values, _literal(literal) if literal is not None else ("", ""))
    else:
        for parts in found:
            text = parts[0].text if len(parts) == 1 else CONDITION
            _add(values, ("" if text == CONDITION else text.replace(" ", "_"), text))
    if other:
        _add(values, ("other", "other" if name else CONDITION))
    return Tested(ENUM, name, subject, tuple(values))


def _add(values: list[Meaning], meaning: Meaning) -> None:
    """Add a value. A long one, an empty one and one that is there already get a name by their place."""
    value, text = meaning
    known = [(type(one), one) for one, _ in values]
    if (isinstance(value, str) and not 0 < len(value) <= _LONGEST) or (type(value), value) in known:
        value = f"branch_{len(values) + 1}"
    values.append((value, text if len(text) <= _LONGEST else CONDITION))


def _bare(one: Expression) -> tuple[Expression, bool]:
    """A condition without negations and assignments; whether it is negated."""
    inverted = False
    while True:
        if one.kind == "not" and one.operands:
            one, inverted = one.operands[0], not inverted
        elif one.kind == "assignment" and one.operator == "=" and one.target is not None:
            one = one.target
        else:
            return one, inverted


def _tested(one: Expression, *, inverted: bool) -> Tested:
    if one.kind == "comparison" and len(one.operands) == 2:
        return _range(one, inverted=inverted)
    if one.kind == "equality" and len(one.operands) == 2:
        return _equality(one, inverted=inverted)
    if one.kind == "call" and one.name in _PRESENCE and one.receiver is not None:
        return _presence(one.receiver, inverted=inverted is _PRESENCE[one.name])
    if one.kind in _OBJECTS and not one.name.endswith("?"):
        return _presence(one, inverted=inverted)
    return _boolean(one, words_of(one), " ".join(filter(None, map(words_of, (one, *one.operands)))), inverted=inverted)


def _equality(one: Expression, *, inverted: bool) -> Tested:
    left, right = one.operands
    if left.kind in LITERALS:
        left, right = right, left
    inverted = inverted is not (one.operator == "!=")
    if right.kind == "nil":
        return _presence(left, inverted=not inverted)
    if right.kind in ("true", "false"):
        return _boolean(left, words_of(left), words_of(left), inverted=inverted is not (right.kind == "false"))
    said = f"{words_of(left)}_{words_of(right)}" if words_of(left) and words_of(right) else ""
    return _boolean(left, said if right.kind in LITERALS | {"constant"} else "", said, inverted=inverted)


def _compared(condition: Expression) -> Expression | None:
    """The literal with which a condition compares for equality."""
    one, inverted = _bare(condition)
    if inverted or one.operator not in ("==", "===") or len(one.operands) != 2:
        return None
    return next((side for side in one.operands if side.kind in LITERALS), None)


def _range(one: Expression, *, inverted: bool) -> Tested:
    left, right = one.operands
    operator = one.operator
    if left.kind in LITERALS:
        left, right, operator = right, left, _MIRRORED[operator]
    values: list[Meaning] = []
    for sign in (operator, _FAILING[operator]):
        _add(values, (f"{sign} {right.text}", f"{sign} {right.text}"))
    return _named(RANGE, words_of(left), left, values, inverted=inverted)


def _presence(subject: Expression, *, inverted: bool) -> Tested:
    name = words_of(subject)
    said = f"{name.replace('_', ' ')} present"
    values = (("present", said), ("absent", f"not {said}"))
    return _named(PRESENCE, name, subject, values, inverted=inverted is True)


def _boolean(subject: Expression, name: str, said: str, *, inverted: bool) -> Tested:
    said = said.replace("_", " ")
    values = ((True, said), (False, f"not {said}"))
    return _named(BOOLEAN, name, subject, values, inverted=inverted)


def _named(kind: str, name: str, subject: Expression, values: Sequence[Meaning], *, inverted: bool = False) -> Tested:
    if not name:
        values = [(value, CONDITION) for value, _ in values]
    return Tested(kind, name, subject, tuple(values), inverted)


def _literal(one: Expression) -> Meaning:
    """The value of a literal and what it is called; the source of everything else."""
    if one.kind in ("true", "false"):
        return one.kind == "true", one.kind
    if one.kind == "number":
        try:
            return (float(one.text) if "." in one.text else int(one.text)), one.text
        except ValueError:  # 1e3, 0x1f, 3r
            return one.text, one.text
    if one.kind in ("symbol", "string") and one.value is not None and any(map(str.isalnum, one.value)):
        return one.value, one.value.replace("_", " ")
    return one.text, one.text


def words_of(one: Expression | None) -> str:
    """What the code calls an expression, as an identifier; empty if it has no name for it."""
    if one is None or one.kind == "self":
        return ""
    if one.kind == "call":
        before = words_of(one.receiver)
        if one.receiver is not None and one.receiver.kind != "self" and not before:
            return ""
        return _joined(before, one.name)
    if one.kind == "index":
        keys = [words_of(key) for key in one.operands]
        return _joined(words_of(one.receiver), *keys) if all((words_of(one.receiver), *keys)) else ""
    if one.kind == "assignment":
        return words_of(one.target)
    if one.kind in ("symbol", "string"):
        return _joined(one.value or "")
    if one.kind in ("name", "variable", "constant"):
        return snake(one.name)
    return _joined(one.text) if one.kind in LITERALS else ""


def snake(name: str) -> str:
    """`Billing::PaymentGateway` as `billing_payment_gateway`."""
    import re

    return _joined(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name))


def _joined(*parts: str) -> str:
    """An identifier of small letters, digits and single underscores."""
    letters = "".join(char if char.isalnum() else "_" for char in "_".join(parts))
    return "_".join(part for part in letters.lower().split("_") if part)[: 2 * _LONGEST]
