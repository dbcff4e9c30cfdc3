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

MOST = 1000  # defects that are reported; if there are more, one more defect says so

_ENDLESS = float("inf")
_ABSENT = object()
_CHOSEN = frozenset(("const", "enum"))
_MEASURED = frozenset((
    "minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "minimum", "maximum",
))  # fmt: skip
_JOINED = frozenset(("$ref", "allOf", "anyOf", "not", "if"))


class Defect(Record):
    """One thing that is wrong: the place (`result.status`, `files[2]`), what is expected there, what was found."""

    path: str
    expected: str
    found: str

    @property
    def sentence(self) -> str:
        return f"{self.path or 'the whole'}: expected {self.expected}, found {self.found}"


class _Fault(Record):
    """A defect that is put into words only if it is reported. `choices`: the number of valid values, if limited."""

    place: Place
    schema: Schema
    value: Any
    choices: float = _ENDLESS
    condition: str = ""

    def told(self, root: Schema) -> Defect:
        found = NOTHING if self.value is _ABSENT else shown(self.value)
        return Defect(pointed(self.place), describe(root, self.schema) + self.condition, found)


def defects(schema: Schema, value: Any) -> list[Defect]:
    """Everything that is wrong with the value; nothing if it is valid. The schema has passed `check_schema`."""
    return [defect for _, defect in placed(schema, value)]


def placed(schema: Schema, value: Any) -> list[tuple[Place, Defect]]:
    """The defects, each with the steps that lead to its place."""
    if _is_valid(schema, schema, value):
        return []
    worst: dict[Place, _Fault] = {}
    for fault in _faults(schema, schema, value, ()):
        if len(worst) == MOST and fault.place not in worst:
            return [*_told(schema, worst), ((), Defect("", f"at most {MOST} defects", "more"))]
        if fault.place not in worst or fault.choices < worst[fault.place].choices:
            worst[fault.place] = fault
    return _told(schema, worst)


def check_schema(schema: Any) -> None:
    """Refuse a schema with anything that `defects` does not fully support."""
    from moot.core.schema.keywords import check

    check(schema)


def _told(root: Schema, faults: dict[Place, _Fault]) -> list[tuple[Place, Defect]]:
    return [(place, fault.told(root)) for place, fault in faults.items()]


def _is_valid(root: Schema, schema: Schema, value: Any) -> bool:
    """Whether the value has no faults. Most values have none, and this is cheaper than looking for faults."""
    if isinstance(schema, bool):
        return schema
    named, kinds = schema.keys(), schema.get("type")
    typed = kinds is None or (
        _TYPES[kinds](value) if isinstance(kinds, str) else any(_TYPES[kind](value) for kind in kinds)
    )
    if not typed or not (named.isdisjoint(_CHOSEN) or _is_chosen(schema, value)):
        return False
    if not (named.isdisjoint(_MEASURED) or _is_measured(schema, value)):
        return False
    if isinstance(value, dict):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        if not all(name in value for name in schema.get("required", ())):
            return False
        if not all(_is_valid(root, fields.get(name, others), item) for name, item in value.items()):
            return False
    elif isinstance(value, list) and not all(_is_valid(root, schema.get("items", True), item) for item in value):
        return False
    return named.isdisjoint(_JOINED) or _is_joined(root, schema, value)


def _is_joined(root: Schema, schema: dict[str, Any], value: Any) -> bool:
    """Whether the value is valid under the other schemas that a schema refers to."""
    if "$ref" in schema and not _is_valid(root, target(root, schema["$ref"]), value):
        return False
    if not all(_is_valid(root, part, value) for part in schema.get("allOf", ())):
        return False
    if "anyOf" in schema and not any(_is_valid(root, branch, value) for branch in schema["anyOf"]):
        return False
    if "not" in schema and _is_valid(root, schema["not"], value):
        return False
    if "if" not in schema:
        return True
    follows = "then" if _is_valid(root, schema["if"], value) else "else"
    return _is_valid(root, schema.get(follows, True), value)


def _faults(root: Schema, schema: Schema, value: Any, place: Place) -> Iterator[_Fault]:
    if isinstance(schema, bool):
        if not schema:
            yield _Fault(place, schema, value, 0)
        return
    named, kinds = schema.keys(), schema.get("type")
    typed = kinds is None or (
        _TYPES[kinds](value) if isinstance(kinds, str) else any(_TYPES[kind](value) for kind in kinds)
    )
    if not typed or not (named.isdisjoint(_CHOSEN) or _is_chosen(schema, value)):
        # The value has the wrong type or is not a valid choice: further defects would be noise.
        yield _Fault(place, schema, value, _choices(schema))
        return
    if not (named.isdisjoint(_MEASURED) or _is_measured(schema, value)):
        yield _Fault(place, schema, value)
    if isinstance(value, dict):
        yield from _field_faults(root, schema, value, place)
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _faults(root, schema["items"], item, (*place, index))
    if not named.isdisjoint(_JOINED):
        yield from _joined_faults(root, schema, value, place)


def _field_faults(root: Schema, schema: dict[str, Any], value: dict[str, Any], place: Place) -> Iterator[_Fault]:
    fields, required = schema.get("properties", {}), schema.get("required", ())
    for name in (*fields, *(name for name in required if name not in fields)):
        if name in value:
            if name in fields:
                yield from _faults(root, fields[name], value[name], (*place, name))
        elif name in required:
            yield _Fault((*place, name), fields.get(name, True), _ABSENT)
    others = schema.get("additionalProperties", True)
    if others is not True:
        for name, extra in value.items():
            if name not in fields:
                yield from _faults(root, others, extra, (*place, name))


def _joined_faults(root: Schema, schema: dict[str, Any], value: Any, place: Place) -> Iterator[_Fault]:
    """The faults from the other schemas that apply to the same value."""
    if "$ref" in schema:
        yield from _faults(root, target(root, schema["$ref"]), value, place)
    for part in schema.get("allOf", ()):
        yield from _faults(root, part, value, place)
    if "anyOf" in schema and not any(_is_valid(root, branch, value) for branch in schema["anyOf"]):
        yield from _branch_faults(root, schema, value, place)
    if "not" in schema and _is_valid(root, schema["not"], value):
        yield _Fault(place, schema, value)
    if "if" in schema:
        if _is_valid(root, schema["if"], value):
            for fault in _faults(root, schema.get("then", True), value, place):
                yield fault.replace(condition=fault.condition + when(schema["if"]))
        else:
            yield from _faults(root, schema.get("else", True), value, place)


def _branch_faults(root: Schema, schema: dict[str, Any], value: Any, place: Place) -> Iterator[_Fault]:
    """The faults of the branch that was meant, if that is clear; otherwise one fault for all branches."""
    meant = [
        branch
        for branch in schema["anyOf"]
        if all(len(fault.place) > len(place) for fault in _faults(root, branch, value, place))
    ]
    if len(meant) == 1:
        yield from _faults(root, meant[0], value, place)
    else:
        yield _Fault(place, schema, value)


def _is_chosen(schema: dict[str, Any], value: Any) -> bool:
    """Whether it is one of the allowed values."""
    if isinstance(value, str):
        return value in schema.get("enum", (value,)) and schema.get("const", value) == value
    if "const" in schema and not _equal(schema["const"], value):
        return False
    return "enum" not in schema or any(_equal(choice, value) for choice in schema["enum"])


def _choices(schema: dict[str, Any]) -> float:
    return 1 if "const" in schema else len(schema["enum"]) if "enum" in schema else _ENDLESS


def _is_measured(schema: dict[str, Any], value: Any) -> bool:
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            return False
        if "pattern" in schema:
            from moot.core.schema.patterns import matches

            if not matches(schema["pattern"], value):
                return False
        if "format" in schema:
            from moot.core.timestamps import is_date_time

            return is_date_time(value)
        return True
    if isinstance(value, list):
        return bool(schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)))
    if _is_number(value):
        return schema.get("minimum", value) <= value <= schema.get("maximum", value)  # type: ignore[no-any-return]
    return True


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
