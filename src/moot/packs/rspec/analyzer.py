"""code-analyzer: from a document and its source to behaviours, characteristics and dependencies.

Structure only. A behaviour has words only where the code says them; every other is a placeholder for test-architect.
Setups and side effects are left to an agent, whose analysis is checked against the contract and the source.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.rspec.agents import selection_of
from moot.packs.rspec.characteristics import characteristics_of, is_class, said_at_the_end
from moot.packs.rspec.conditions import CONDITION, snake
from moot.packs.rspec.document_check import count_references, errors_of
from moot.packs.rspec.slugs import slug_of
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.method_code import constants_of
from moot.packs.ruby.syntax import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.packs.rspec.characteristics import Characteristic
    from moot.packs.ruby.methods import Declarations, Method

    Fault = tuple[str, str]  # a key path, and what is wrong there

VERSION = "3"  # of the analysis; a change of its results raises it, so that it is made again
NOTHING_SELECTED = "No method is selected"
BEHAVIOUR = "{BEHAVIOR_DESCRIPTION}"


class AnalysisData(Record):
    """The data of code-analyzer's answer. `skip`: why there was nothing to do. With faults, the stage fails."""

    data: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    skip: str = ""
    faults: tuple[Fault, ...] = ()


def analyze(document: Mapping[str, Any], source: bytes, mtime: int, slug: str = "") -> AnalysisData:
    """Analyse the selected methods of a document."""
    entries = [entry for entry in document["methods_to_analyze"] if entry["selected"]]
    if not entries:
        return AnalysisData(data={}, skip=NOTHING_SELECTED)
    found, bank = declarations(parse(source)), _Bank()
    methods = [_described(document, entry, defined(document, entry, found), bank) for entry in entries]
    return AnalysisData(
        data={
            "slug": slug,
            "source_file": document["source_file"],
            "source_mtime": mtime,
            "class_name": document["class_name"],
            "behaviors": list(bank.entries.values()),
            "methods": methods,
        }
    )


def defined(document: Mapping[str, Any], entry: Mapping[str, Any], found: Declarations) -> Method:
    """The definition that an entry of `methods_to_analyze` means: by name, and among several by its lines."""
    name = entry["name"].removeprefix("self.")
    same = [one for one in found.methods if one.owner == document["class_name"] and one.name == name and not one.nested]
    exact = [one for one in same if [one.first_line, one.last_line] == list(entry["line_range"])]
    if not same or (len(same) > 1 and not exact):
        where = f" It is on the lines {', '.join(str(one.first_line) for one in same)}." if same else ""
        raise Refused(
            "method_ambiguous" if same else "method_missing",
            f"{document['source_file']} does not have the method {name} of {document['class_name']} once.{where}",
            "The source has changed: start discovery again.",
            method=name,
        )
    method = (exact or same)[-1]
    if method.broken:
        raise Refused(
            "source_does_not_parse",
            f"{document['source_file']} does not parse at {name} (line {method.first_line}).",
            "Correct the source, then start the stage again.",
            method=name,
        )
    return method


def _described(document: Mapping[str, Any], entry: Mapping[str, Any], method: Method, bank: _Bank) -> dict[str, Any]:
    own = document["class_name"]
    found = characteristics_of(method, own)
    straight = {} if found else {"behavior_id": bank.refer(said_at_the_end(method), "success", method.name)}
    return {
        "name": entry["name"],
        "type": "class" if method.kind == "class" else "instance",
        "method_mode": entry["method_mode"],
        "analyzed": True,
        **straight,
        "characteristics": [_characteristic(one, method.name, bank) for one in found],
        "dependencies": dependencies_of(method, own),
    }


def dependencies_of(method: Method, own: str) -> list[str]:
    """The other classes that a method names."""
    same = (own, own.rpartition("::")[2])
    return [name for name in constants_of([method]) if name not in same and is_class(name)]


def _characteristic(one: Characteristic, method: str, bank: _Bank) -> dict[str, Any]:
    first, last = one.lines
    worded = not one.name.startswith("condition_")
    values = []
    for each in one.values:
        terminal = each.leaves and not each.inner
        value = {"value": each.value, "description": each.description, "terminal": terminal}
        if not each.inner:
            kind = "terminal" if terminal else "success"
            value["behavior_id"] = bank.refer(each.says, kind, f"{method}_{one.name}_{each.value}")
        values.append(value)
    return {
        "name": one.name,
        "description": one.name.replace("_", " ") if worded else CONDITION,
        "type": one.kind,
        **({"source": {"kind": "external", "class": one.source[0], "method": one.source[1]}} if one.source else {}),
        "values": values,
        "source_line": str(first) if first == last else f"{first}-{last}",
        "level": one.level,
        "depends_on": None if one.parent is None else one.parent.name,
        "when_parent": None if one.parent is None else [one.parent.values[place].value for place in one.when],
    }


class _Bank:
    """The behaviours of one document, by id. Equal texts of one type share an entry."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Any]] = {}

    def refer(self, says: str, kind: str, name: str) -> str:
        """The id of a behaviour. Without a text, it is one of its own with this name. Counts the reference."""
        wanted = "".join(char for char in snake(says or name) if char.isascii()).strip("_")
        wanted = wanted if wanted[:1].isalpha() else f"behaviour_{wanted}".strip("_")
        free, number = wanted, 1
        while free in self.entries:
            entry = self.entries[free]
            if says and (entry["description"], entry["type"]) == (says, kind):
                break
            number += 1
            free = f"{wanted}_{number}"
        new = {"id": free, "description": says or BEHAVIOUR, "type": kind, "enabled": True, "used_by": 0}
        self.entries.setdefault(free, new)["used_by"] += 1
        return free


# --- the contract ----------------------------------------------------------------------------------------------------


def completed(document: Mapping[str, Any], data: Mapping[str, Any], source: bytes | None = None) -> AnalysisData:
    """An analysis with modes and counts filled in, and what is wrong with it.

    `document`: what discovery wrote. `data`: valid in its shape. `source`: for the analysis of an agent.
    """
    methods = [_with_mode(document, method) for method in data["methods"]]
    counts = count_references({"methods": methods})
    behaviours, warnings = [], []
    for one in data["behaviors"]:
        count = counts.get(one["id"], 0)
        if one["used_by"] != count:
            warnings.append(f"{one['id']}: used_by was {one['used_by']}, and is {count}.")
        behaviours.append({**one, "used_by": count})
    whole = {**data, "behaviors": behaviours, "methods": methods}
    faults = [*_differences(document, whole)]
    faults += [(finding.path, finding.text) for finding in errors_of({**document, **whole})]
    if source is not None and not faults:
        faults += _against_source(document, methods, source)
    return AnalysisData(data=whole, warnings=tuple(warnings), faults=tuple(faults))


def _with_mode(document: Mapping[str, Any], method: Mapping[str, Any]) -> dict[str, Any]:
    entry = selection_of(document, method) or {}
    return {"method_mode": entry["method_mode"], **method} if "method_mode" in entry else dict(method)


def _differences(document: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Fault]:
    """What must be as discovery left it: the file, the class, the selection and the modes."""
    for key in ("source_file", "class_name"):
        if data[key] != document[key]:
            yield key, f"expected {document[key]}, as discovery wrote it, found {data[key]}"
    if data["slug"] != slug_of(document["source_file"]):
        yield "slug", f"{data['slug']} is not the slug of {document['source_file']}"
    names = [method["name"] for method in data["methods"]]
    for place, method in enumerate(data["methods"]):
        entry = selection_of(document, method)
        if entry is None or not entry["selected"]:
            yield f"methods[{place}]", f"{method['name']} is not selected"
        elif method["method_mode"] != entry["method_mode"]:
            yield f"methods[{place}].method_mode", f"expected {entry['method_mode']}, found {method['method_mode']}"
        if method["name"] in names[:place]:
            yield f"methods[{place}].name", f"{method['name']} stands twice"
    for entry in document["methods_to_analyze"]:
        if entry["selected"] and entry["name"] not in names:
            yield "methods", f"{entry['name']} is selected, and is missing"


def _against_source(document: Mapping[str, Any], methods: list[dict[str, Any]], source: bytes) -> Iterator[Fault]:
    """What an agent says of the source, and the source does not have."""
    import re

    found = declarations(parse(source))
    for place, method in enumerate(methods):
        at = f"methods[{place}]"
        real = defined(document, selection_of(document, method) or {}, found)
        if (method["type"] == "class") is not (real.kind == "class"):
            yield (
                f"{at}.type",
                f"{method['name']} is a method of {'the class' if real.kind == 'class' else 'instances'}",
            )
        named = [(f"{at}.dependencies[{number}]", name) for number, name in enumerate(method["dependencies"])]
        for number, one in enumerate(method["characteristics"]):
            path = f"{at}.characteristics[{number}]"
            named += [(f"{path}.source.class", one["source"]["class"])] if "class" in one.get("source", ()) else []
            lines = [int(line) for line in one.get("source_line", "").split("-") if line]
            if any(not real.first_line <= line <= real.last_line for line in lines) or lines != sorted(lines):
                said = f"{method['name']} is on the lines {real.first_line} to {real.last_line}"
                yield f"{path}.source_line", f"{said}, not {one['source_line']}"
        for path, name in named:
            if not re.search(rf"\b{re.escape(name.rpartition('::')[2])}\b".encode(), source):
                yield path, f"{name} is not in the source"
