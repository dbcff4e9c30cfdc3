"""From the characteristics of a method to its tree of contexts and examples: pure, the same every time, for both packs.

Independent characteristics become sibling trees, in document order; a characteristic that depends on a value is nested
in the context of that value. A leaf context has one example for each side effect of the method and one for its own
behaviour; a terminal context has only its own. A behaviour that is switched off has no example, and a context without
any is left out.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.rspec.agents import selected_methods
from moot.packs.rspec.conditions import CONDITION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

MOST = 500  # contexts of one method
_PLAIN = ("boolean", "presence", "binary")  # types whose values are described by a whole text
_NEGATIVE = ("not ", "no ", "invalid ", "missing ", "without ")


class Context(Record):
    """One value of a characteristic. `kind`: children, leaf or terminal. `state`: `payment_status: pending`."""

    word: str
    text: str
    kind: str
    state: str = ""
    children: tuple[Context, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.word} {self.text}"

    def plain(self) -> dict[str, Any]:
        """The context as `structure` has it."""
        if self.kind == "children":
            return {"name": self.name, "children": [child.plain() for child in self.children]}
        return {"name": self.name, self.kind: True, "examples": list(self.examples)}


def structure_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The structure of the selected methods."""
    methods = [
        {"name": shown_name(method), "contexts": [one.plain() for one in contexts_of(method, bank_of(document))]}
        for method in selected_methods(document)
    ]
    return {"describe": document["class_name"], "methods": methods}


def shown_name(method: Mapping[str, Any]) -> str:
    """`#m` for an instance method, `.m` for a class method, also where the name is `self.m`."""
    return f"{'.' if method.get('type') == 'class' else '#'}{method['name'].removeprefix('self.')}"


def bank_of(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {one["id"]: one for one in document.get("behaviors") or ()}


def contexts_of(method: Mapping[str, Any], bank: Mapping[str, Mapping[str, Any]]) -> list[Context]:
    """The contexts of a method."""
    characteristics = method.get("characteristics") or ()
    effects = [one.get("behavior_id") for one in method.get("side_effects") or ()]
    if not characteristics:
        examples = _texts([*effects, method.get("behavior_id")], bank)
        return [Context("when", "called", "leaf", examples=examples)] if examples else []
    below: dict[str | None, list[Mapping[str, Any]]] = {}
    for one in characteristics:
        below.setdefault(one.get("depends_on"), []).append(one)
    if sum(_size(one, below) for one in below.get(None, ())) > MOST:
        raise Refused(
            "method_too_complex",
            f"{method.get('name')} would have more than {MOST} contexts.",
            "Split the method, or leave it out.",
        )

    def contexts(one: Mapping[str, Any]) -> Iterator[Context]:
        for number, value in enumerate(ordered(one)):
            word, text = _words(one, value, first=number == 0)
            state = f"{one['name']}: {value['value']}"
            inner = () if value["terminal"] else _inner(one, value, below)
            children = tuple(context for each in inner for context in contexts(each))
            own = [value.get("behavior_id")]
            examples = () if inner else _texts(own if value["terminal"] else [*effects, *own], bank)
            kind = "children" if inner else "terminal" if value["terminal"] else "leaf"
            if children or examples:
                yield Context(word, text, kind, state, children, examples)

    return [context for one in below.get(None, ()) for context in contexts(one)]


def _size(one: Mapping[str, Any], below: Mapping[str | None, Sequence[Mapping[str, Any]]]) -> int:
    """How many contexts a characteristic has, with everything below it; it stops above `MOST`."""
    found = 0
    for value in one["values"]:
        inner = () if value["terminal"] else _inner(one, value, below)
        found += 1 + sum(_size(each, below) for each in inner)
        if found > MOST:
            break
    return found


def _inner(
    one: Mapping[str, Any], value: Mapping[str, Any], below: Mapping[str | None, Sequence[Mapping[str, Any]]]
) -> list[Mapping[str, Any]]:
    """The characteristics that are nested below a value."""
    return [
        each
        for each in below.get(one["name"], ())
        if any(same_value(value["value"], wanted) for wanted in each["when_parent"] or ())
    ]


def same_value(one: object, other: object) -> bool:
    """Whether two values are equal and of the same type: true is neither "true" nor 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return isinstance(one, str) == isinstance(other, str) and one == other


def _texts(ids: Sequence[Any], bank: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(bank[one]["description"] for one in ids if one in bank and bank[one].get("enabled", True))


def ordered(characteristic: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The values: non-terminal before terminal; for boolean and presence the positive one first; otherwise as given."""
    two = characteristic["type"] in ("boolean", "presence")
    return sorted(characteristic["values"], key=lambda one: (one["terminal"], two and not _is_positive(one)))


def _is_positive(value: Mapping[str, Any]) -> bool:
    if isinstance(value["value"], bool):
        return value["value"]
    return value["value"] not in ("absent", "nil", "none") and not value["description"].lower().startswith(_NEGATIVE)


def _words(one: Mapping[str, Any], value: Mapping[str, Any], *, first: bool) -> tuple[str, str]:
    """The text of a context: its word, and what the value means."""
    import re

    text = re.sub(r"\bnot\b", "NOT", value["description"])
    if text != CONDITION and one["type"] not in _PLAIN and one["description"] != CONDITION:
        text = f"{one['name'].replace('_', ' ')} is {text}"
    if one["level"] == 1:
        return "when", text
    if len(one["values"]) > 2:
        return "and", text
    return "with" if first else "but", text
