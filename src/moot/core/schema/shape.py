"""Checks data against the annotations of a record. Loaded only for data from outside.

Supports the forms of annotations that payloads use, such as `str`, `int | None`, `tuple[str, ...]` or `dict[str, Any]`.
A form that it does not support accepts any value; a test checks that no payload uses one.
"""

from __future__ import annotations

from moot.core.record import shape_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.record import Record

_ATOMS: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}
_known: dict[type, dict[str, str]] = {}


def misfit(kind: type[Record], data: Any) -> str | None:
    """The first problem in data for a record of this class; None if it fits."""
    if not isinstance(data, dict):
        return "its data is not an object"
    for name, form in forms(kind).items():
        if name in data:
            if not fits(form, data[name]):
                return f"{name} is not of type {form}"
        elif name not in shape_of(kind)[2]:
            return f"{name} is missing"
    return None


def forms(kind: type[Record]) -> dict[str, str]:
    """The fields of a record with their annotations."""
    if kind not in _known:
        written: dict[str, str] = {}
        for base in reversed(kind.__mro__):
            written |= base.__dict__.get("__annotations__", {})
        _known[kind] = {name: written[name] for name in shape_of(kind)[0]}
    return _known[kind]


def fits(form: str, value: Any) -> bool:
    """Whether a JSON value matches an annotation."""
    parts = _split(form, " | ")
    if len(parts) > 1:
        return any(fits(part, value) for part in parts)
    if form == "None":
        return value is None
    if form in _ATOMS:
        return isinstance(value, _ATOMS[form]) and (form == "bool") == isinstance(value, bool)
    outer, _, inner = form.removesuffix("]").partition("[")
    parts = _split(inner, ", ")
    if outer == "tuple" and parts[-1] == "...":
        return isinstance(value, list) and all(fits(parts[0], item) for item in value)
    if outer == "tuple":
        return isinstance(value, list) and len(value) == len(parts) and all(map(fits, parts, value))
    if outer in ("dict", "Mapping"):
        return isinstance(value, dict) and all(fits(parts[1], item) for item in value.values())
    return True


def understood(form: str) -> bool:
    """Whether `fits` supports the annotation."""
    outer, bracket, inner = form.removesuffix("]").partition("[")
    parts = _split(form, " | ")
    if len(parts) > 1:
        return all(understood(part) for part in parts)
    if bracket:
        return outer in ("tuple", "dict", "Mapping") and all(understood(part) for part in _split(inner, ", "))
    return form in ("None", "Any", "...", *_ATOMS)


def _split(form: str, between: str) -> list[str]:
    """The parts of an annotation. Brackets are not split."""
    parts, depth = [""], 0
    for piece in form.split(between):
        parts[-1] += (between if depth else "") + piece
        depth += piece.count("[") - piece.count("]")
        if not depth:
            parts.append("")
    return parts[:-1] if not parts[-1] and len(parts) > 1 else parts
