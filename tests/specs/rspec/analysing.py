"""Analyses a piece of Ruby as code-analyzer does, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moot.packs.rspec.analyzer import AnalysisData, analyze
from moot.packs.rspec.document_check import errors_of
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.packs.ruby.methods import Method


def document(source: str, class_name: str, *, selected: bool = True) -> dict[str, Any]:
    """What discovery writes for the public methods of a class."""
    found = declarations(parse(source.encode()))
    return {
        "source_file": "app/services/payment_processor.rb",
        "class_name": class_name,
        "complexity": {"zone": "green", "loc": 1, "methods": 1},
        "spec_path": "spec/services/payment_processor_spec.rb",
        "methods_to_analyze": [
            _entry(method, selected=selected)
            for method in found.methods
            if method.owner == class_name and method.visibility == "public"
        ],
    }


def _entry(method: Method, *, selected: bool) -> dict[str, Any]:
    lines = [method.first_line, method.last_line]
    return {"name": method.name, "method_mode": "new", "line_range": lines, "selected": selected}


def analysed(source: str, class_name: str = "A") -> AnalysisData:
    """The analysis. The document that it makes always passes the check of documents."""
    given = document(source, class_name)
    found = analyze(given, source.encode(), 1699351530, "app_services_payment_processor")
    assert errors_of({**given, **found.data}) == []
    return found


def method(*body: str, head: str = "def x", before: str = "", after: str = "") -> dict[str, Any]:
    """The analysis of one method with this body, in a class A."""
    lines = "".join(f"    {line}\n" for line in body)
    data = analysed(f"class A\n{before}  {head}\n{lines}  end\n{after}end\n").data
    found: dict[str, Any] = data["methods"][0]
    return {**found, "bank": {one["id"]: one for one in data["behaviors"]}}


def shapes(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and types of the characteristics."""
    return [(one["name"], one["type"]) for one in found["characteristics"]]


def values(found: Mapping[str, Any], name: str) -> dict[Any, bool]:
    """The values of a characteristic, each with its terminal flag."""
    one = next(one for one in found["characteristics"] if one["name"] == name)
    return {value["value"]: value["terminal"] for value in one["values"]}


def texts(found: Mapping[str, Any], name: str) -> dict[Any, str | None]:
    """The values of a characteristic, each with the text of its behaviour."""
    one = next(one for one in found["characteristics"] if one["name"] == name)
    bank = found["bank"]
    return {v["value"]: bank[v["behavior_id"]]["description"] if "behavior_id" in v else None for v in one["values"]}


def links(found: Mapping[str, Any]) -> dict[str, tuple[int, str | None, list[Any] | None]]:
    return {one["name"]: (one["level"], one["depends_on"], one["when_parent"]) for one in found["characteristics"]}
