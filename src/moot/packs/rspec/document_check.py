"""Checks a document as a whole: its shape, the behaviour bank, the trees of characteristics, and its markers.

A finding is an error (a stage must not go on with it) or a warning (the document is readable, but says something odd).
Every finding names the path of its key.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.core.schema import placed
from moot.core.schema.phrases import pointed
from moot.packs.rspec.agents import AGENTS, is_completed, selection_of, snake
from moot.packs.rspec.contexts import same_value
from moot.packs.rspec.schemas import document_schema
from moot.packs.rspec.structure import structure_problems
from moot.packs.rspec.zones import zone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Place = tuple[Any, ...]
    Found = Iterator[tuple[Place, str]]

REMNANTS = ("test_level", "target")
_OF_TYPE = {True: "terminal", False: "success"}


class DocumentFinding(Record):
    path: str
    text: str
    severity: str = "error"  # or warning

    @property
    def sentence(self) -> str:
        return f"{self.path or 'the document'}: {self.text}"


def check_document(document: Mapping[str, Any]) -> list[DocumentFinding]:
    """All findings, errors first."""
    shape = placed(document_schema(), document)
    found = [
        DocumentFinding(pointed(place), f"expected {defect.expected}, found {defect.found}") for place, defect in shape
    ]
    found += [
        DocumentFinding(key, "is a remnant of the older format and has no meaning here", "warning")
        for key in REMNANTS
        if key in document
    ]
    if shape:
        return found
    found += [DocumentFinding(pointed(place), text) for place, text in _broken(document)]
    found += [DocumentFinding(pointed(place), text, "warning") for place, text in _odd(document)]
    return found


def errors_of(document: Mapping[str, Any]) -> list[DocumentFinding]:
    return [finding for finding in check_document(document) if finding.severity == "error"]


# --- errors ----------------------------------------------------------------------------------------------------------


def _broken(document: Mapping[str, Any]) -> Found:
    bank: dict[str, Mapping[str, Any]] = {}
    for index, one in enumerate(document.get("behaviors") or ()):
        if one["id"] in bank:
            yield ("behaviors", index, "id"), f"the id {one['id']} stands twice"
        bank[one["id"]] = one
    for index, method in enumerate(document.get("methods") or ()):
        yield from _method_problems(method, ("methods", index), bank)
    if "structure" in document:
        for place, text in structure_problems(document["structure"]):
            yield ("structure", *place), text
    for agent in AGENTS:
        yield from _skip_problems(document.get("automation") or {}, snake(agent))


def _skip_problems(marks: Mapping[str, Any], name: str) -> Found:
    if marks.get(f"{name}_skipped") and f"{name}_skip_reason" not in marks:
        yield ("automation", f"{name}_skip_reason"), "is missing; a skip needs a reason"


def _method_problems(method: Mapping[str, Any], place: Place, bank: Mapping[str, Mapping[str, Any]]) -> Found:
    for number, effect in enumerate(method.get("side_effects") or ()):
        at = (*place, "side_effects", number, "behavior_id")
        yield from _reference(effect["behavior_id"], at, bank, "side_effect", effect["type"])
    characteristics = method["characteristics"]
    if "behavior_id" in method:
        if characteristics:
            yield (*place, "behavior_id"), "belongs to the leaves: the method has characteristics"
        else:
            yield from _reference(method["behavior_id"], (*place, "behavior_id"), bank, "success")
    named: dict[str, Mapping[str, Any]] = {}
    for number, one in enumerate(characteristics):
        if one["name"] in named:
            yield (*place, "characteristics", number, "name"), f"the name {one['name']} stands twice"
        named[one["name"]] = one
    for number, one in enumerate(characteristics):
        at = (*place, "characteristics", number)
        yield from _link_problems(one, named, at)
        yield from _value_problems(one, characteristics, at, bank)


def _link_problems(one: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]], at: Place) -> Found:
    parent, when = one["depends_on"], one["when_parent"]
    if parent is None:
        if one["level"] != 1:
            yield (*at, "level"), f"expected 1 for a characteristic without depends_on, found {one['level']}"
        if when is not None:
            yield (*at, "when_parent"), "expected null for a characteristic without depends_on"
        return
    if parent not in named:
        yield (*at, "depends_on"), f"there is no characteristic {parent}"
        return
    if _in_cycle(one, named):
        yield (*at, "depends_on"), f"{one['name']} depends on itself"
        return
    above = named[parent]
    if one["level"] != above["level"] + 1:
        yield (*at, "level"), f"expected {above['level'] + 1}, one more than {parent}, found {one['level']}"
    if not when:
        yield (*at, "when_parent"), f"expected the values of {parent} that it depends on"
        return
    for value in when:
        match = next((each for each in above["values"] if same_value(each["value"], value)), None)
        if match is None:
            yield (*at, "when_parent"), f"{value!r} is not a value of {parent}"
        elif match["terminal"]:
            yield (*at, "when_parent"), f"the value {value!r} of {parent} is terminal; nothing can depend on it"


def _in_cycle(one: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]) -> bool:
    seen, current = set(), one
    while current["depends_on"] in named:
        if current["name"] in seen:
            return True
        seen.add(current["name"])
        current = named[current["depends_on"]]
    return False


def _value_problems(
    one: Mapping[str, Any], others: Sequence[Mapping[str, Any]], at: Place, bank: Mapping[str, Mapping[str, Any]]
) -> Found:
    seen: list[Any] = []
    for number, value in enumerate(one["values"]):
        place = (*at, "values", number)
        if any(same_value(value["value"], each) for each in seen):
            yield (*place, "value"), f"the value {value['value']!r} stands twice"
        seen.append(value["value"])
        inner = [
            each["name"]
            for each in others
            if each["depends_on"] == one["name"]
            and any(same_value(value["value"], v) for v in each["when_parent"] or ())
        ]
        if value["terminal"] or not inner:
            if "behavior_id" not in value:
                yield (*place, "behavior_id"), f"is missing; the value {value['value']!r} of {one['name']} is a leaf"
            else:
                yield from _reference(value["behavior_id"], (*place, "behavior_id"), bank, _OF_TYPE[value["terminal"]])
        elif "behavior_id" in value:
            yield (*place, "behavior_id"), f"the value is not a leaf: {inner[0]} depends on it"


def _reference(
    name: str, at: Place, bank: Mapping[str, Mapping[str, Any]], expected: str, subtype: str | None = None
) -> Found:
    if name not in bank:
        yield at, f"there is no behaviour {name}"
    elif bank[name]["type"] != expected:
        yield at, f"expected a behaviour of type {expected}, and {name} is of type {bank[name]['type']}"
    elif subtype is not None and bank[name].get("subtype") != subtype:
        yield at, f"expected a behaviour of subtype {subtype}, and {name} is of subtype {bank[name].get('subtype')}"


# --- warnings --------------------------------------------------------------------------------------------------------


def _odd(document: Mapping[str, Any]) -> Found:
    complexity = document["complexity"]
    expected = zone(complexity["loc"], complexity["methods"])
    if expected != complexity["zone"]:
        numbers = f"{complexity['loc']} lines and {complexity['methods']} methods"
        yield ("complexity", "zone"), f"expected {expected} for {numbers}, found {complexity['zone']}"
    for index, entry in enumerate(document["methods_to_analyze"]):
        if not entry["selected"] and "skip_reason" not in entry:
            yield ("methods_to_analyze", index, "skip_reason"), "is missing; the method is not selected"
    for index, method in enumerate(document.get("methods") or ()):
        entry = selection_of(document, method)
        if entry is None or not entry["selected"]:
            yield ("methods", index), f"{method['name']} is analysed, and is not selected"
        if "method_mode" not in method:
            yield ("methods", index, "method_mode"), f"is missing for {method['name']}"
        elif entry is not None and entry["method_mode"] != method["method_mode"]:
            yield ("methods", index, "method_mode"), f"expected {entry['method_mode']}, as in methods_to_analyze"
        if not method["characteristics"] and "behavior_id" not in method:
            yield ("methods", index, "behavior_id"), f"is missing; {method['name']} has no characteristics"
    counts = count_references(document)
    for index, one in enumerate(document.get("behaviors") or ()):
        if one["used_by"] != counts.get(one["id"], 0):
            yield ("behaviors", index, "used_by"), f"expected {counts.get(one['id'], 0)}, found {one['used_by']}"
    yield from _missing_markers(document)


def _missing_markers(document: Mapping[str, Any]) -> Found:
    """Agents without a marker, although a later one has completed."""
    done = [place for place, agent in enumerate(AGENTS) if is_completed(document, agent)]
    for agent in AGENTS[: max(done, default=0)]:
        if not is_completed(document, agent):
            yield ("automation", f"{snake(agent)}_completed"), f"there is no marker of {snake(agent)}"


def count_references(document: Mapping[str, Any]) -> dict[str, int]:
    """How often each behaviour is referred to."""
    counts: dict[str, int] = {}
    for method in document.get("methods") or ():
        values = [value for one in method["characteristics"] for value in one["values"]]
        for holder in (method, *(method.get("side_effects") or ()), *values):
            if "behavior_id" in holder:
                counts[holder["behavior_id"]] = counts.get(holder["behavior_id"], 0) + 1
    return counts
