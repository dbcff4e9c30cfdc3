"""Validation against a small, exact subset of JSON Schema 2020-12.

The rules:
- Supported keywords mean what the standard says. `check_schema` refuses all others, so no keyword is silently ignored.
  `format` is checked and can only be `date-time` (see `timestamps`). `pattern` is the subset in `patterns`. `$ref` is
  local (`#/$defs/name`), and no schema refers to itself, so the schema limits the depth, not the value.
- All defects are reported at once, one for each place: the most specific one.
- A defect is a phrase for people. For keywords that make a poor phrase (`pattern`, `not`, `anyOf`), the `description`
  next to them is used. It should continue the word "expected".

Values come from a JSON parser. NaN and the infinities are not numbers. Loading a full validator would take a
short-lived command longer than all its other work (docs/decisions).
"""

from __future__ import annotations

from moot.core.record import Record
from moot.core.schema.phrases import NOTHING, describe, pointed, shown, target, when

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from moot.core.schema.phrases import Place, Schema

    Fault = tuple[Place, Schema, Any, str]  # what is wrong where: the schema, the value, a condition in words

MOST = 1000  # defects that are reported; if there are more, one more defect says so

_ENDLESS = float("inf")
_ABSENT = object()


class Defect(Record):
    """One thing that is wrong: the place (`result.status`, `files[2]`), what is expected there, what was found."""

    path: str
    expected: str
    found: str

    @property
    def sentence(self) -> str:
        return f"{self.path or 'the whole'}: expected {self.expected}, found {self.found}"


def defects(schema: Schema, value: Any) -> list[Defect]:
    """Everything that is wrong with the value; nothing if it is valid. The schema has passed `check_schema`."""
    return [defect for _, defect in placed(schema, value)]


def placed(schema: Schema, value: Any) -> list[tuple[Place, Defect]]:
    """The defects, each with the steps that lead to its place."""
    worst: dict[Place, Fault] = {}
    for fault in _faults(schema, schema, value, ()):
        if len(worst) > MOST:
            worst.popitem()
            return [*_told(schema, worst), ((), Defect("", f"at most {MOST} defects", "more"))]
        if fault[0] not in worst or _choices(fault[1]) < _choices(worst[fault[0]][1]):
            worst[fault[0]] = fault
    return _told(schema, worst)


def check_schema(schema: Any) -> None:
    """Refuse a schema with anything that `defects` does not fully support."""
    from moot.core.schema.keywords import check

    check(schema)


def _told(root: Schema, faults: dict[Place, Fault]) -> list[tuple[Place, Defect]]:
    return [
        (at, Defect(pointed(at), describe(root, schema) + when, NOTHING if value is _ABSENT else shown(value)))
        for at, schema, value, when in faults.values()
    ]


def _is_valid(root: Schema, schema: Schema, value: Any) -> bool:
    return next(_faults(root, schema, value, ()), None) is None


def _faults(root: Schema, schema: Schema, value: Any, place: Place) -> Iterator[Fault]:
    if isinstance(schema, bool):
        if not schema:
            yield place, schema, value, ""
        return
    kinds = schema.get("type", ())
    if kinds and not any(_TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield place, schema, value, ""  # further defects would be noise
    elif not _is_chosen(schema, value):
        yield place, schema, value, ""
    else:
        if not _is_measured(schema, value):
            yield place, schema, value, ""
        if isinstance(value, dict):
            yield from _field_faults(root, schema, value, place)
        elif isinstance(value, list) and "items" in schema:
            for index, item in enumerate(value):
                yield from _faults(root, schema["items"], item, (*place, index))
        if not schema.keys().isdisjoint(("$ref", "allOf", "anyOf", "not", "if")):
            yield from _joined_faults(root, schema, value, place)


def _field_faults(root: Schema, schema: dict[str, Any], value: dict[str, Any], place: Place) -> Iterator[Fault]:
    fields, required = schema.get("properties", {}), schema.get("required", ())
    for name in dict.fromkeys((*fields, *required)):
        if name in fields and name in value:
            yield from _faults(root, fields[name], value[name], (*place, name))
        elif name in required and name not in value:
            yield (*place, name), fields.get(name, True), _ABSENT, ""
    others = schema.get("additionalProperties", True)
    for name in value if others is not True else ():
        if name not in fields:
            yield from _faults(root, others, value[name], (*place, name))


def _joined_faults(root: Schema, schema: dict[str, Any], value: Any, place: Place) -> Iterator[Fault]:
    """The faults from the other schemas that apply to the same value."""
    if "$ref" in schema:
        yield from _faults(root, target(root, schema["$ref"]), value, place)
    for part in schema.get("allOf", ()):
        yield from _faults(root, part, value, place)
    if "anyOf" in schema:
        branches = [list(_faults(root, branch, value, place)) for branch in schema["anyOf"]]
        meant = [faults for faults in branches if all(len(fault[0]) > len(place) for fault in faults)]
        if all(branches):  # those of the branch that was meant, if that is clear
            yield from meant[0] if len(meant) == 1 else [(place, schema, value, "")]
    if "not" in schema and _is_valid(root, schema["not"], value):
        yield place, schema, value, ""
    if "if" in schema:
        holds = _is_valid(root, schema["if"], value)
        condition = when(schema["if"]) if holds else ""
        for at, part, wrong, told in _faults(root, schema.get("then" if holds else "else", True), value, place):
            yield at, part, wrong, told + condition


def _is_chosen(schema: dict[str, Any], value: Any) -> bool:
    """Whether it is one of the allowed values."""
    if "const" in schema and not _equal(schema["const"], value):
        return False
    return "enum" not in schema or any(_equal(choice, value) for choice in schema["enum"])


def _choices(schema: Schema) -> float:
    """How many values are valid, if that is limited."""
    if isinstance(schema, bool):
        return _ENDLESS if schema else 0
    return 1 if "const" in schema else len(schema["enum"]) if "enum" in schema else _ENDLESS


def _is_measured(schema: dict[str, Any], value: Any) -> bool:
    if isinstance(value, str):
        if "pattern" in schema:
            from moot.core.schema.patterns import matches

            if not matches(schema["pattern"], value):
                return False
        if "format" in schema:
            from moot.core.timestamps import is_date_time

            if not is_date_time(value):
                return False
        least, most, size = schema.get("minLength", 0), schema.get("maxLength", _ENDLESS), len(value)
    elif isinstance(value, list):
        least, most, size = schema.get("minItems", 0), schema.get("maxItems", _ENDLESS), len(value)
    elif _is_number(value):
        least, most, size = schema.get("minimum", -_ENDLESS), schema.get("maximum", _ENDLESS), value
    else:
        return True
    return bool(least <= size <= most)


def _equal(one: Any, other: Any) -> bool:
    """Equality of JSON values: 1 is 1.0, and neither is true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)
    return bool(one == other)


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return value - value == 0.0
    return isinstance(value, int) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
