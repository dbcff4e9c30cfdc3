"""The keywords of JSON Schema that a pack may use, and the valid values of each.

Used when a pack is loaded, never when a message is checked. `moot.core.schema` implements the keywords.
"""

from __future__ import annotations

from moot.core.errors import Usage
from moot.core.schema.phrases import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TYPES = ("null", "boolean", "string", "number", "integer", "array", "object")
_ROOT_ONLY = ("$schema", "$id", "$defs")
_DEFS = "#/$defs/"


def check(schema: Any) -> None:
    """Refuse a schema with anything that `moot.core.schema` does not fully support."""
    _check(schema, schema, "#", (), set())


def _check(root: Any, schema: Any, where: str, trail: tuple[str, ...], done: set[str]) -> None:
    """`trail`: the definitions that led here. `done`: those that were already checked."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise _unusable(where, "a schema is an object, true or false")
    for keyword, given in schema.items():
        at = f"{where}/{keyword}"
        if keyword not in KEYWORDS:
            raise _unusable(at, f"the keyword {shown(keyword)} is not supported")
        if keyword in _ROOT_ONLY and where != "#":
            raise _unusable(at, f"{keyword} belongs at the root")
        if not KEYWORDS[keyword](given):
            raise _unusable(at, f"{shown(given)} is not a valid value for {keyword}{_reason(keyword, given)}")
        for name, part in _parts(keyword, given):
            _check(root, part, at + name, trail, done)
    if "if" not in schema and not schema.keys().isdisjoint(("then", "else")):
        raise _unusable(where, "then and else have no effect without if")
    if "$ref" in schema:
        _check_reference(root, schema["$ref"], f"{where}/$ref", trail, done)


def _check_reference(root: Any, reference: str, where: str, trail: tuple[str, ...], done: set[str]) -> None:
    name = reference.removeprefix(_DEFS)
    if not isinstance(root, dict) or name not in root.get("$defs", {}):
        raise _unusable(where, f"there is no definition {shown(name)}")
    if name in trail:
        raise _unusable(where, f"the definition {shown(name)} refers to itself")
    if name not in done:
        _check(root, root["$defs"][name], _DEFS + name, (*trail, name), done)
        done.add(name)


def _parts(keyword: str, given: Any) -> Iterator[tuple[str, Any]]:
    """The schemas in the value of a keyword, each with the rest of its path."""
    if keyword in ("properties", "$defs"):
        yield from ((f"/{name}", part) for name, part in given.items())
    elif keyword in ("allOf", "anyOf"):
        yield from ((f"/{index}", part) for index, part in enumerate(given))
    elif keyword in ("items", "additionalProperties", "not", "if", "then", "else"):
        yield "", given


def _unusable(where: str, why: str) -> Usage:
    known = ", ".join(KEYWORDS)
    return Usage("schema_unusable", f"the schema cannot be used at {where}: {why}", f"Use only {known}.", where=where)


def _reason(keyword: str, given: Any) -> str:
    if keyword != "pattern" or not isinstance(given, str):
        return ""
    from moot.core.schema.patterns import objection

    return f": {objection(given)}"


def _is_text(given: Any) -> bool:
    return isinstance(given, str)


def _is_size(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given >= 0


def _is_number(given: Any) -> bool:
    return isinstance(given, (int, float)) and not isinstance(given, bool) and given - given == 0


def _is_types(given: Any) -> bool:
    if not isinstance(given, list):
        return given in _TYPES
    return bool(given) and all(name in _TYPES and given.count(name) == 1 for name in given)


def _is_names(given: Any) -> bool:
    return isinstance(given, list) and all(_is_text(name) and given.count(name) == 1 for name in given)


def _is_reference(given: Any) -> bool:
    return _is_text(given) and given.startswith(_DEFS) and not set("/~%") & set(given.removeprefix(_DEFS))


def _is_pattern(given: Any) -> bool:
    from moot.core.schema.patterns import objection

    return isinstance(given, str) and objection(given) is None


def _is_list(given: Any) -> bool:
    return isinstance(given, list) and bool(given)


def _is_object(given: Any) -> bool:
    return isinstance(given, dict) and all(map(_is_text, given))


def _is_anything(_given: Any) -> bool:
    return True


KEYWORDS: dict[str, Callable[[Any], bool]] = {
    "$schema": lambda given: given == DIALECT,
    "$id": _is_text,
    "$defs": _is_object,
    "$ref": _is_reference,
    "$comment": _is_text,
    "title": _is_text,
    "description": _is_text,
    "default": _is_anything,
    "examples": lambda given: isinstance(given, list),
    "type": _is_types,
    "const": _is_anything,
    "enum": _is_list,
    "minLength": _is_size,
    "maxLength": _is_size,
    "pattern": _is_pattern,
    "format": lambda given: given == "date-time",
    "minimum": _is_number,
    "maximum": _is_number,
    "properties": _is_object,
    "required": _is_names,
    "additionalProperties": _is_anything,
    "items": _is_anything,
    "minItems": _is_size,
    "maxItems": _is_size,
    "allOf": _is_list,
    "anyOf": _is_list,
    "not": _is_anything,
    "if": _is_anything,
    "then": _is_anything,
    "else": _is_anything,
}
