"""From the characteristics of a method to its tree of contexts and examples: pure, and the same every time.

Independent characteristics become sibling trees, in document order; a characteristic that depends on a value is nested
in the context of that value. A leaf context has one example for each side effect of the method and one for its own
behaviour; a terminal context has only its own. A behaviour that is switched off has no example, and a context without
any is marked as skipped.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.agents import selected_methods

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

STRAIGHT = "when called"  # the one context of a method without characteristics
_NEGATIVE = ("not_", "no_", "invalid_", "missing_", "without_", "not ", "no ", "invalid ", "missing ", "without ")
_ABSENT = frozenset(("false", "nil", "null", "none", "absent", "blank", "empty", "missing"))
_ABSENCE_BEFORE = ("without ", "no ", "missing ", "absent ", "NOT ")
_ABSENCE_AFTER = (
    " is missing",
    " missing",
    " is absent",
    " absent",
    " is nil",
    " is blank",
    " is empty",
    " NOT present",
)


class Context(Record):
    """One value of a characteristic, as a context. `kind`: children, leaf or terminal. `skipped`: it has no example."""

    name: str
    kind: str
    characteristic: Mapping[str, Any] | None = None  # None: a method without characteristics
    value: Mapping[str, Any] | None = None
    children: tuple[Context, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def skipped(self) -> bool:
        return not self.examples and all(child.skipped for child in self.children)

    def plain(self) -> dict[str, Any]:
        """The context as `structure` has it."""
        if self.kind == "children":
            return {"name": self.name, "children": [child.plain() for child in self.children if not child.skipped]}
        return {"name": self.name, self.kind: True, "examples": list(self.examples)}


def structure_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The structure of the selected methods."""
    bank = bank_of(document)
    methods = [
        {
            "name": shown_name(method),
            "contexts": [root.plain() for root in contexts_of(method, bank) if not root.skipped],
        }
        for method in selected_methods(document)
    ]
    return {"describe": document["class_name"], "methods": methods}


def shown_name(method: Mapping[str, Any]) -> str:
    """`#m` for an instance method, `.m` for a class method, also where the name is `self.m`."""
    return f"{'.' if method.get('type') == 'class' else '#'}{method['name'].removeprefix('self.')}"


def bank_of(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {one["id"]: one for one in document.get("behaviors") or ()}


def contexts_of(method: Mapping[str, Any], bank: Mapping[str, Mapping[str, Any]]) -> list[Context]:
    """The contexts of a method, with those that are skipped."""
    characteristics = method.get("characteristics") or ()
    effects = _enabled((one.get("behavior_id") for one in method.get("side_effects") or ()), bank)
    if not characteristics:
        own = _enabled([method.get("behavior_id")], bank)
        return [Context(STRAIGHT, "leaf", examples=(*effects, *own))]
    return [
        context
        for one in characteristics
        if one.get("depends_on") is None
        for context in _contexts(one, characteristics, bank, effects)
    ]


def _contexts(
    one: Mapping[str, Any],
    characteristics: Sequence[Mapping[str, Any]],
    bank: Mapping[str, Mapping[str, Any]],
    effects: tuple[str, ...],
) -> list[Context]:
    found = []
    for number, value in enumerate(ordered(one)):
        name = context_name(one, value, first=number == 0)
        inner = () if value["terminal"] else _dependents(one, value, characteristics)
        if inner:
            children = tuple(child for each in inner for child in _contexts(each, characteristics, bank, effects))
            found.append(Context(name, "children", one, value, children))
            continue
        own = _enabled([value.get("behavior_id")], bank)
        if value["terminal"]:
            found.append(Context(name, "terminal", one, value, examples=own))
        else:
            found.append(Context(name, "leaf", one, value, examples=(*effects, *own)))
    return found


def _dependents(
    parent: Mapping[str, Any], value: Mapping[str, Any], characteristics: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], ...]:
    """The characteristics that are nested below a value."""
    return tuple(
        one
        for one in characteristics
        if one.get("depends_on") == parent["name"]
        and any(same_value(value["value"], w) for w in one["when_parent"] or ())
    )


def same_value(one: object, other: object) -> bool:
    """Whether two values are equal and of the same type: true is neither "true" nor 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return isinstance(one, str) == isinstance(other, str) and one == other


def _enabled(ids: Any, bank: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    known = (bank[one] for one in ids if one in bank)
    return tuple(behaviour["description"] for behaviour in known if behaviour.get("enabled", True))


# --- words -----------------------------------------------------------------------------------------------------------


def ordered(characteristic: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The values: non-terminal before terminal; for boolean and presence the positive one first; otherwise as given."""
    values = list(characteristic["values"])
    if characteristic["type"] in ("boolean", "presence"):
        return sorted(values, key=lambda value: (value["terminal"], not is_positive(value)))
    return sorted(values, key=lambda value: value["terminal"])


def is_positive(value: Mapping[str, Any]) -> bool:
    given = value["value"]
    if isinstance(given, bool):
        return given
    text = str(given).lower()
    return text not in _ABSENT and not text.startswith(_NEGATIVE)


def is_binary(characteristic: Mapping[str, Any]) -> bool:
    kind = characteristic["type"]
    return kind in ("boolean", "presence") or (kind == "range" and len(characteristic["values"]) == 2)


def context_name(characteristic: Mapping[str, Any], value: Mapping[str, Any], *, first: bool) -> str:
    """The text of a context: its word, and what the value means."""
    text = negated(value["description"])
    if characteristic["type"] not in ("boolean", "presence"):
        text = f"{characteristic['name'].replace('_', ' ')} is {text}"
    if characteristic["level"] == 1:
        return f"when {text}"
    if not is_binary(characteristic):
        return f"and {text}"
    if characteristic["type"] == "presence" and not is_positive(value):
        absent = _absent_thing(text)
        if absent:
            return f"without {absent}"
    return f"with {text}" if first else f"but {text}"


def negated(text: str) -> str:
    """The text with its negations in capitals."""
    import re

    return re.sub(r"\bnot\b", "NOT", text)


def _absent_thing(text: str) -> str:
    """What a description of an absence says is absent; empty if it is worded in another way."""
    for word in _ABSENCE_BEFORE:
        if text.startswith(word):
            return text.removeprefix(word)
    for word in _ABSENCE_AFTER:
        if text.endswith(word):
            return text.removesuffix(word)
    return ""
