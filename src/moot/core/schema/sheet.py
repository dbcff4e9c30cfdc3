"""What a message must contain, for people and agents to read: its fields in words, and a sample with placeholders."""

from __future__ import annotations

from moot.core.schema.phrases import describe, pointed, target, when

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from moot.core.schema.phrases import Place, Schema

PLACEHOLDER = "…"
_DEEPEST = 8  # levels of objects
_MOMENT = "2024-01-01T00:00:00.000Z"
_PLAIN: Mapping[str, Any] = {"boolean": False, "null": None, "array": [], "string": PLACEHOLDER}


def fields(schema: Schema, order: Iterable[str] = ()) -> list[str]:
    """A line for each field: its name, whether it is required, what belongs in it. Those of objects are indented."""
    return list(_fields(schema, schema, tuple(order), ()))


def sample(schema: Schema, order: Iterable[str] = ()) -> Any:
    """A value of the right form, with placeholders. Where several words are allowed, it has all of them (`on|off`).

    So a sample that somebody copies without reading is refused.
    """
    return _sample(schema, schema, tuple(order), ())


def _fields(root: Schema, schema: Schema, order: tuple[str, ...], place: Place) -> Iterator[str]:
    resolved = _resolved(root, schema)
    indent = "  " * len(place)
    required = resolved.get("required", ())
    for name, inner in _ordered(resolved, order, place):
        here = (*place, name)
        need = "required" if name in required else "optional"
        yield f"{indent}- `{pointed(here)}` ({need}): {describe(root, inner)}"
        if len(here) < _DEEPEST:
            yield from _fields(root, inner, order, here)
    for rule in resolved.get("allOf", ()):
        condition = when(rule.get("if", True)) if isinstance(rule, dict) else ""
        then = rule.get("then") if condition else None
        for name, inner in (then.get("properties", {}) if isinstance(then, dict) else {}).items():
            yield f"{indent}- `{pointed((*place, name))}`{condition}: {describe(root, inner)}"


def _sample(root: Schema, schema: Schema, order: tuple[str, ...], place: Place) -> Any:
    resolved = _resolved(root, schema)
    if "const" in resolved:
        return resolved["const"]
    if resolved.get("enum"):
        return "|".join(map(str, resolved["enum"]))
    if resolved.get("examples"):
        return resolved["examples"][0]
    if "properties" in resolved:
        if len(place) >= _DEEPEST:
            return {}
        return {name: _sample(root, inner, order, (*place, name)) for name, inner in _ordered(resolved, order, place)}
    for branch in (*resolved.get("anyOf", ()), *resolved.get("allOf", ())):
        return _sample(root, branch, order, place)
    kind = resolved.get("type", "string")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "array":
        items = resolved.get("items")
        return [_sample(root, items, order, place)] if isinstance(items, dict) and len(place) < _DEEPEST else []
    if kind in ("integer", "number"):
        return resolved.get("minimum", 0)
    return _MOMENT if "format" in resolved else _PLAIN.get(kind, {})


def _resolved(root: Schema, schema: Schema) -> Mapping[str, Any]:
    """The schema itself, or the definition that it refers to. A circle of references ends."""
    for _ in range(_DEEPEST):
        if isinstance(schema, bool) or "$ref" not in schema:
            break
        schema = target(root, schema["$ref"])
    return {} if isinstance(schema, bool) else schema


def _ordered(schema: Mapping[str, Any], order: tuple[str, ...], place: Place) -> list[tuple[str, Any]]:
    """The properties: those in `order` (as `a.b` below the place `a`) first."""
    known = schema.get("properties", {})
    before = "".join(f"{step}." for step in place)
    named = [name.removeprefix(before) for name in order if name.startswith(before)]
    names = dict.fromkeys([*(name for name in named if name in known), *known])
    return [(name, known[name]) for name in names]
