"""Checks what an agent answers as code-analyzer, and completes it: modes and counts are filled in, not believed.

The shape of the answer is checked by `answers`, and the trees of characteristics by `document_check`.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.agents import selection_of
from moot.packs.rspec.document_check import count_references, errors_of
from moot.packs.rspec.slugs import slug_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

_SAME = ("source_file", "class_name")


class Contract(Record):
    """The completed data, problems as (key path, text), and warnings. With problems, the stage fails."""

    data: Mapping[str, Any]
    problems: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]


def completed(document: Mapping[str, Any], data: Mapping[str, Any]) -> Contract:
    """`document`: what discovery wrote. `data`: valid in its shape."""
    methods = [_with_mode(document, method) for method in data["methods"]]
    counts = count_references({"methods": methods})
    behaviours, warnings = [], []
    for one in data["behaviors"]:
        count = counts.get(one["id"], 0)
        if one["used_by"] != count:
            warnings.append(f"{one['id']}: used_by was {one['used_by']}, and is {count}.")
        if not count:
            warnings.append(f"{one['id']}: nothing refers to this behaviour.")
        behaviours.append({**one, "used_by": count})
    whole = {**data, "behaviors": behaviours, "methods": methods}
    problems = [*_differences(document, whole)]
    problems += [(finding.path, finding.text) for finding in errors_of({**document, **whole})]
    return Contract(data=whole, problems=tuple(problems), warnings=tuple(warnings))


def _with_mode(document: Mapping[str, Any], method: Mapping[str, Any]) -> dict[str, Any]:
    """The method with the mode that discovery found, after `type` as in the schema."""
    entry = selection_of(document, method)
    if entry is None or "method_mode" in method:
        return dict(method)
    with_mode: dict[str, Any] = {}
    for key, value in method.items():
        with_mode[key] = value
        if key == "type":
            with_mode["method_mode"] = entry["method_mode"]
    return with_mode


def _differences(document: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What must be as discovery left it: the file, the class, the selection and the modes."""
    for key in _SAME:
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
