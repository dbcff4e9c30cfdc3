"""Names and states for conditions, made mechanically from the code: the same code always gives the same words.

`user.authenticated?` gives the name `user_authenticated` and the states `authenticated` and `not_authenticated`. A
person or an agent may rename them in the document; nothing else depends on them.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.packs.ruby.expressions import Expression

BINARY, RANGE = "binary", "range"
OTHER = "other"
_LONGEST = 60
_COMPARED = {
    ">=": ("sufficient", "insufficient"),
    ">": ("sufficient", "insufficient"),
    "<": ("below_threshold", "above_threshold"),
    "<=": ("below_threshold", "above_threshold"),
}
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_BOUNDS = {">=": "at_least", ">": "above", "<": "below", "<=": "at_most"}
_LITERALS = frozenset(("number", "string", "symbol", "nil", "true", "false"))


class NamedTest(Record):
    """What one condition tests. `states`: when it holds, and when it does not; both swapped if `negated`."""

    key: str  # equal for equal conditions, negated or not
    name: str
    states: tuple[str, str]
    compares: bool = False
    negated: bool = False
    bound: str = ""  # the state of this comparison in a chain: `above_100`
    subject: str = ""  # what an equality or comparison is about
    value: str = ""  # what it is compared with

    @property
    def held(self) -> str:
        """The state in the branch for which the condition holds."""
        return self.states[1 if self.negated else 0]

    @property
    def failed(self) -> str:
        return self.states[0 if self.negated else 1]


def tests_of(condition: Expression) -> list[NamedTest]:
    """One test, or one for each part of `a && b`."""
    one, negated = _positive(condition)
    if one.kind == "and" and not negated:
        return [found for part in one.operands for found in tests_of(part)]
    return [_test(one, negated=negated)]


def whole_test(condition: Expression) -> NamedTest:
    """The whole condition as one test."""
    one, negated = _positive(condition)
    return _test(one, negated=negated)


def words(expression: Expression | None) -> str:
    """An identifier for an expression: `user.account.balance` gives `user_account_balance`."""
    if expression is None:
        return ""
    kind = expression.kind
    if kind in {"name", "variable"}:
        return identifier(expression.name)
    if kind == "constant":
        return snake(expression.name)
    if kind == "call":
        before = "" if expression.receiver is None or expression.receiver.kind == "self" else words(expression.receiver)
        given = [words(one) for one in expression.operands if one.kind in {"symbol", "string", "constant", "number"}]
        return identifier("_".join(part for part in (before, expression.name, *given) if part))
    if kind == "index":
        return identifier("_".join([words(expression.receiver), *map(words, expression.operands)]))
    if kind in {"symbol", "string"} and expression.value is not None:
        return identifier(expression.value) or "empty"
    if kind == "range":
        return identifier(expression.text.replace("...", "_to_below_").replace("..", "_to_"))
    if kind == "number":
        return identifier(expression.text.replace("-", "minus_").replace(".", "_"))
    if kind == "assignment":
        return identifier(expression.name)
    return identifier(expression.text)


def identifier(text: str) -> str:
    """Letters, digits and single underscores of a text, at most 60."""
    kept = "".join(char if char.isalnum() else "_" for char in text)
    return "_".join(part for part in kept.split("_") if part)[:_LONGEST].rstrip("_")


def snake(name: str) -> str:
    """`Admin::PowerUser` gives `admin_power_user`."""
    parts = []
    for number, char in enumerate(name):
        after_lower = number and name[number - 1].islower()
        before_lower = number and name[number - 1].isalnum() and name[number + 1 : number + 2].islower()
        parts.append(f"_{char.lower()}" if char.isupper() and (after_lower or before_lower) else char.lower())
    return identifier("".join(parts))


def _positive(condition: Expression) -> tuple[Expression, bool]:
    """Without negations; whether it is negated."""
    negated = False
    while condition.kind == "not" and condition.operands:
        condition, negated = condition.operands[0], not negated
    return condition, negated


def _test(one: Expression, *, negated: bool) -> NamedTest:
    if one.kind == "comparison" and len(one.operands) == 2:
        return _comparison(one, negated=negated)
    if one.kind == "equality" and len(one.operands) == 2:
        return _equality(one, negated=negated)
    if one.kind in {"and", "or"}:
        parts = [whole_test(part) for part in one.operands]
        link = f"_{one.kind}_"
        return _plain(
            one, link.join(part.name for part in parts), link.join(part.held for part in parts), negated=negated
        )
    if one.kind == "match":
        name = f"{words(one.operands[0])}_matches"
        return _plain(one, name, "matches", negated=negated != (one.operator == "!~"))
    if one.kind == "call" and one.name.endswith("?"):
        state = words(_without_receiver(one))
        return _plain(one, words(one), state, negated=negated)
    name = words(one) or f"condition_on_line_{one.line}"
    return _plain(one, name, f"{name}_present" if one.kind in _OBJECTS else name, negated=negated)


_OBJECTS = frozenset(("name", "variable", "call", "index", "assignment", "constant"))


def _without_receiver(call: Expression) -> Expression:
    return type(call)(**{**call.__dict__, "receiver": None})


def _plain(one: Expression, name: str, state: str, *, negated: bool) -> NamedTest:
    name, state = identifier(name), identifier(state)
    if state.startswith("not_"):
        return NamedTest(key=one.text, name=name, states=(state.removeprefix("not_"), state), negated=not negated)
    return NamedTest(key=one.text, name=name, states=(state, f"not_{state}"), negated=negated)


def _comparison(one: Expression, *, negated: bool) -> NamedTest:
    left, right = one.operands
    operator = one.operator
    if left.kind in _LITERALS and right.kind not in _LITERALS:
        left, right, operator = right, left, _MIRRORED[operator]
    subject = words(left) or f"value_on_line_{one.line}"
    return NamedTest(
        key=one.text,
        name=subject,
        states=_COMPARED[operator],
        compares=True,
        negated=negated,
        bound=identifier(f"{_BOUNDS[operator]}_{words(right)}"),
        subject=left.text,
        value=words(right),
    )


def _equality(one: Expression, *, negated: bool) -> NamedTest:
    left, right = one.operands
    if left.kind in _LITERALS or (one.operator == "===" and right.kind not in _LITERALS):
        left, right = right, left
    value = words(right)
    key = one.text.replace("!=", "==", 1) if one.operator == "!=" else one.text
    found = _plain(one, f"{words(left)}_{value}", value or "equal", negated=negated != (one.operator == "!="))
    return type(found)(**{**found.__dict__, "key": key, "subject": left.text, "value": value})
