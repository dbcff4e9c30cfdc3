"""The built-in analysis of one method: source in, sections of the metadata document out.

Pure: the same bytes give the same sections. Times, markers and factories are added by the stage.
"""

from __future__ import annotations

import os

from moot.core.errors import Unknown, Usage
from moot.core.record import Record
from moot.packs.rspec_v1.characteristics import characteristics
from moot.packs.rspec_v1.test_levels import level_of, used_classes, uses_models
from moot.packs.ruby.conditionals import conditionals
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.syntax import parse
from moot.packs.ruby.targets import find_method

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from moot.packs.ruby.methods import Method

VERSION = "1.0"  # of the analysis; a change of its results raises it, so that cached documents are made again
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
    data: bytes,
    path: str,
    method: str,
    class_name: str | None = None,
    *,
    level: str | None = None,
    progressions: Sequence[Sequence[str]] = (),
) -> Analysis:
    """Analyse one method.

    `path`: relative to the project root. `method`: a leading `#` or `.` selects an instance or a class method. `level`:
    the test level to use instead of the one found. `progressions`: lists of states that follow each other, besides the
    known ones.
    """
    if level is not None and level not in LEVELS:
        raise Usage("rspec_v1_level", f"{level} is not a test level.", f"Use one of: {', '.join(LEVELS)}.")
    source = parse(data)
    found = declarations(source)
    one = find_method(source, found, method, class_name)
    if one.kind not in {"instance", "class"}:
        raise Unknown(
            "ruby_method_not_found",
            f"{one.id} on line {one.first_line} is a method of one object, not of a class.",
            "Name a method of a class.",
        )
    entries = characteristics(conditionals(one), [*known_progressions(), *progressions])
    warnings = () if entries else (NO_CONDITIONALS.format(method=one.id),)
    return Analysis(
        test_level=level or level_of(path, one.owner, found.classes, used_classes(one)),
        target=_target(one, path),
        characteristics=[entry.entry() for entry in entries],
        lines={entry.name: entry.line for entry in entries},
        warnings=warnings,
    )


def _target(method: Method, path: str) -> dict[str, Any]:
    return {
        "class": method.owner,
        "method": method.name,
        "method_type": method.kind,
        "file": path,
        "uses_models": uses_models(method),
    }


_progressions: list[list[list[str]]] = []


def known_progressions() -> list[list[str]]:
    if not _progressions:
        import tomllib

        with open(os.path.join(os.path.dirname(__file__), "data", "progressions.toml"), "rb") as file:
            _progressions.append(tomllib.load(file)["known"])
    return _progressions[0]
