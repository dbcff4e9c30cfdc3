"""Describes schemas, values and places for error messages. Untrusted text is shortened and made safe to display."""

from __future__ import annotations

from moot.core.text import ELLIPSIS, counted, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any] | bool
    Place = tuple[str | int, ...]

NOTHING = "nothing"

_LONGEST = 60
_NOUNS = {
    "null": "null",
    "boolean": "true or false",
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "array": "a list",
    "object": "an object",
}
# The types that a schema without `type` is about, by its keywords.
_HINTS = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum"),
    "array": ("items", "minItems", "maxItems"),
    "object": ("properties", "required", "additionalProperties"),
}


def describe(root: Schema, schema: Schema) -> str:
    """What belongs here: `one of web, android`, `a non-empty string`, `a whole number of 0 or more`."""
    if isinstance(schema, bool):
        return "anything" if schema else NOTHING
    if "const" in schema or "enum" in schema:
        words = _choices(schema)
        return words[0] if len(words) == 1 else "one of " + ", ".join(words)
    if "description" in schema and not schema.keys().isdisjoint(("pattern", "not", "anyOf")):
        return str(schema["description"]).rstrip(".")
    kinds = schema.get("type") or [kind for kind, hints in _HINTS.items() if not schema.keys().isdisjoint(hints)]
    if kinds:
        return " or ".join(_kind(root, schema, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))
    if "$ref" in schema:
        return describe(root, target(root, schema["$ref"]))
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(describe(root, branch) for branch in schema["anyOf"]))
    if "allOf" in schema:
        return describe(root, schema["allOf"][0])
    return f"anything but {describe(root, schema['not'])}" if "not" in schema else "anything"


def when(condition: Schema) -> str:
    """A simple condition of a rule as a phrase: ` when status is success`."""
    if isinstance(condition, bool) or not condition.keys() <= {"properties", "required"}:
        return ""
    asked = condition.get("properties", {})
    if not all(isinstance(schema, dict) and schema.keys() & {"const", "enum"} for schema in asked.values()):
        return ""
    told = [f"{pointed((name,))} is {' or '.join(_choices(schema))}" for name, schema in asked.items()]
    told += [f"{pointed((name,))} is given" for name in condition.get("required", ()) if name not in asked]
    return f" when {' and '.join(told)}" if told else ""


def shown(value: Any) -> str:
    """A value in a few characters."""
    import json

    if isinstance(value, str):
        quoted = visible(json.dumps(value[:_LONGEST], ensure_ascii=False))
        return quoted if len(value) <= _LONGEST else f'{quoted[:-1]}{ELLIPSIS}" ({len(value)} characters)'
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, dict):
        return f"an object of {counted(len(value), 'field')}"
    if isinstance(value, int) and abs(value) >= 10**_LONGEST:
        return "a very large number"
    return json.dumps(value)


def pointed(place: Place) -> str:
    """A place as people write it: `result.status`, `files[2]`, `notes["a b"]`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        elif len(step) <= _LONGEST and step.isascii() and step.replace("-", "_").isidentifier():
            text += f".{step}" if text else step
        else:
            text += f"[{shown(step)}]"
    return text


def target(root: Schema, reference: str) -> Schema:
    """The definition that a local `$ref` names."""
    return isinstance(root, dict) and root["$defs"][reference.removeprefix("#/$defs/")]


def _choices(schema: dict[str, Any]) -> list[str]:
    return [_word(value) for value in ([schema["const"]] if "const" in schema else schema["enum"])]


def _word(value: Any) -> str:
    """A choice, without quotes if it cannot be misread."""
    bare = isinstance(value, str) and value.isascii() and value.isprintable() and not {*' ,"'} & {*value}
    return value if bare and value not in ("", "null", "true", "false") else shown(value)


def _kind(root: Schema, schema: dict[str, Any], kind: str) -> str:
    noun = _NOUNS[kind]
    if kind in ("number", "integer"):
        return noun + _within(schema.get("minimum"), schema.get("maximum"))
    if kind == "array":
        noun = _sized(noun, "list", schema.get("minItems"), schema.get("maxItems"), " items")
        return f"{noun}, each {describe(root, schema['items'])}" if schema.get("items", True) is not True else noun
    if kind != "string":
        return noun
    if "format" in schema:
        return "an ISO 8601 date and time such as 2024-01-01T00:00:00.000Z"
    if "pattern" in schema:
        return f"{noun} that matches {schema['pattern']}"
    return _sized(noun, "string", schema.get("minLength"), schema.get("maxLength"), " characters")


def _sized(noun: str, name: str, least: int | None, most: int | None, unit: str) -> str:
    if least == 1 and most is None:
        return f"a non-empty {name}"
    within = _within(least or None, most)
    return noun + within + (unit if within else "")


def _within(least: float | None, most: float | None) -> str:
    if least is None and most is None:
        return ""
    if least is None:
        return f" of at most {most}"
    return f" of {least} or more" if most is None else f" of {least} to {most}"
