"""The built-in analysis of one method: source in, sections of the metadata document out.

It is the analysis of the pack `rspec` in the words of this document. Pure: the same bytes give the same sections. The
stage adds times, markers and factories.
"""

from __future__ import annotations

from moot.core.errors import MootError, Unknown, Usage
from moot.core.record import Record
from moot.packs.rspec.analyzer import dependencies_of
from moot.packs.rspec.characteristics import characteristics_of
from moot.packs.rspec.conditions import BOOLEAN, PRESENCE
from moot.packs.rspec_v1.test_levels import level_of
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.syntax import parse
from moot.packs.ruby.targets import find_method

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.packs.rspec.characteristics import Characteristic, Value

VERSION = "2.0"  # of the analysis; a change of its results raises it, so that cached documents are made again
LEVELS = ("unit", "integration", "request", "e2e")
NO_CONDITIONALS = "No conditionals in {method}: only a minimal skeleton follows"


class Analysis(Record):
    """`lines`: the source line of each characteristic."""

    test_level: str
    target: dict[str, Any]
    characteristics: list[dict[str, Any]]
    lines: dict[str, int]
    warnings: tuple[str, ...]


def analyze(
    data: bytes, path: str, method: str, class_name: str | None = None, *, level: str | None = None
) -> Analysis:
    """Analyse one method.

    `path`: relative to the project root. `method`: a leading `#` or `.` selects an instance or a class method. `level`:
    the test level to use instead of the one found.
    """
    if level is not None and level not in LEVELS:
        raise Usage("rspec_v1_level", f"{level} is not a test level.", f"Use one of: {', '.join(LEVELS)}.")
    source = parse(data)
    one = find_method(source, declarations(source), method, class_name)
    if one.kind not in {"instance", "class"}:
        raise Unknown(
            "ruby_method_not_found",
            f"{one.id} on line {one.first_line} is a method of one object, not of a class.",
            "Name a method of a class.",
        )
    found = characteristics_of(one, one.owner, alone=True)
    return Analysis(
        test_level=level or level_of(path, dependencies_of(one, one.owner)),
        target={"class": one.owner, "method": one.name, "method_type": one.kind, "file": path},
        characteristics=[_entry(each) for each in found],
        lines={each.name: each.lines[0] for each in found},
        warnings=() if found else (NO_CONDITIONALS.format(method=one.id),),
    )


def not_in(document: Mapping[str, Any], data: bytes) -> Iterator[tuple[str, str]]:
    """What a valid document of an agent says of the source, and the source does not have: key paths and texts."""
    target, source = document["target"], parse(data)
    kind = "." if target["method_type"] == "class" else "#"
    try:
        one = find_method(source, declarations(source), f"{kind}{target['method']}", target["class"])
    except MootError as error:
        yield "target", error.message
        return
    for place, entry in enumerate(document["characteristics"]):
        lines = [int(line) for line in str(entry.get("source_line") or "").split("-") if line.isdigit()]
        if any(not one.first_line <= line <= one.last_line for line in lines):
            said = f"{one.id} is on the lines {one.first_line} to {one.last_line}, not {entry['source_line']}"
            yield f"characteristics[{place}].source_line", said


def _entry(one: Characteristic) -> dict[str, Any]:
    goes_on = sorted(one.values, key=lambda value: value.leaves and not value.inner)
    return {
        "name": one.name,
        "type": "binary" if one.kind in (BOOLEAN, PRESENCE) else one.kind,
        "states": [_state(one, value) for value in goes_on],
        "default": None,
        "depends_on": None if one.parent is None else one.parent.name,
        "when_parent": None if one.parent is None else _state(one.parent, one.parent.values[one.when[0]]),
        "level": one.level,
    }


def _state(one: Characteristic, value: Value) -> str:
    """The words of the code for a value."""
    if one.kind not in (BOOLEAN, PRESENCE):
        return str(value.value)
    if len({each.description for each in one.values}) < len(one.values):  # without words
        return one.name if value is one.values[0] else f"not_{one.name}"
    return value.description.replace(" ", "_")
