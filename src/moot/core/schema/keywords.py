"""The keywords of JSON Schema that a pack may use, and the valid values of each, as a schema of schemas.

Used when a pack is loaded, never when a message is checked. `moot.core.schema` implements the keywords.
"""

from __future__ import annotations

from moot.core.errors import Usage
from moot.core.schema import placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_DEFS = "#/$defs/"
_TYPES = ("null", "boolean", "string", "number", "integer", "array", "object")
_TEXT: dict[str, Any] = {"type": "string"}
_SIZE: dict[str, Any] = {"type": "integer", "minimum": 0}
_ONE: dict[str, Any] = {"$ref": f"{_DEFS}schema"}
_SEVERAL: dict[str, Any] = {"type": "array", "items": _ONE, "minItems": 1}
_NAMED: dict[str, Any] = {"type": "object", "additionalProperties": _ONE}
_ROOT_ONLY: dict[str, Any] = {"$schema": {"const": DIALECT}, "$id": _TEXT, "$defs": _NAMED}
_ANYWHERE: dict[str, Any] = {
    **dict.fromkeys(("$ref", "$comment", "title", "description"), _TEXT),
    "default": True,
    "examples": {"type": "array"},
    "type": {"anyOf": [{"enum": [*_TYPES]}, {"type": "array", "items": {"enum": [*_TYPES]}, "minItems": 1}]},
    "const": True,
    "enum": {"type": "array", "minItems": 1},
    "minLength": _SIZE,
    "maxLength": _SIZE,
    "pattern": _TEXT,
    "format": {"const": "date-time"},
    "minimum": {"type": "number"},
    "maximum": {"type": "number"},
    "properties": _NAMED,
    "required": {"type": "array", "items": _TEXT},
    "additionalProperties": _ONE,
    "items": _ONE,
    "minItems": _SIZE,
    "maxItems": _SIZE,
    "allOf": _SEVERAL,
    "anyOf": _SEVERAL,
    **dict.fromkeys(("not", "if", "then", "else"), _ONE),
}
KEYWORDS = (*_ROOT_ONLY, *_ANYWHERE)


def _schema(keywords: dict[str, Any]) -> dict[str, Any]:
    return {"type": ["object", "boolean"], "properties": keywords, "additionalProperties": False}


_META = {"$defs": {"schema": _schema(_ANYWHERE)}, **_schema({**_ROOT_ONLY, **_ANYWHERE})}


def check(schema: Any) -> None:
    """Refuse a schema with anything that `moot.core.schema` does not fully support."""
    from moot.core.schema.patterns import objection

    for place, defect in placed(_META, schema):
        raise _unusable("/".join(("#", *map(str, place))), f"expected {defect.expected}, got {defect.found}")
    definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}
    for where, part in _parts(schema, "#"):
        if "pattern" in part and (why := objection(part["pattern"])):
            raise _unusable(f"{where}/pattern", f"it has {why}")
        if "$ref" in part and _name_in(part) not in definitions:
            raise _unusable(f"{where}/$ref", f"there is no definition {part['$ref']!r}")
    refers = {name: {_name_in(p) for _, p in _parts(one, "") if "$ref" in p} for name, one in definitions.items()}
    for name in definitions:
        reached, waiting = set[str](), [name]
        while waiting:
            more = refers[waiting.pop()] - reached
            reached |= more
            waiting += more
        if name in reached:
            raise _unusable(_DEFS + name, "the definition refers to itself")


def _parts(schema: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A schema and all schemas in it, each with its place."""
    if isinstance(schema, bool):
        return
    yield where, schema
    for keyword, given in schema.items():
        at, kind = f"{where}/{keyword}", {**_ROOT_ONLY, **_ANYWHERE}[keyword]
        inside = {"": given} if kind is _ONE else given if kind is _NAMED else {}
        inside = dict(enumerate(given)) if kind is _SEVERAL else inside
        for name, part in inside.items():
            yield from _parts(part, f"{at}/{name}".removesuffix("/"))


def _name_in(schema: dict[str, Any]) -> str:
    """The name of the definition that it refers to; empty if it is not a local one."""
    reference: str = schema["$ref"]
    return reference.removeprefix(_DEFS) if reference.startswith(_DEFS) else ""


def _unusable(where: str, why: str) -> Usage:
    known = ", ".join(KEYWORDS)
    return Usage("schema_unusable", f"the schema cannot be used at {where}: {why}", f"Use only {known}.", where=where)
