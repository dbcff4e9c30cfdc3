"""The check of a whole document: what breaks it, what is only odd, and the path that each finding names."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from moot.packs.rspec.agents import AGENTS, ROWS, readable
from moot.packs.rspec.document_check import check_document, errors_of
from moot.packs.rspec.schemas import document_schema
from moot.packs.rspec.zones import zone as zone_of
from tests.specs.rspec.samples import sample


def document() -> dict[str, Any]:
    """The printed answer of code-analyzer, as a document."""
    data = sample("code-analyzer")["data"]
    entries = [
        {"name": "process", "method_mode": "modified", "line_range": [10, 35], "selected": True},
        {"name": "refund", "method_mode": "new", "line_range": [40, 55], "selected": True},
    ]
    for method, entry in zip(data["methods"], entries, strict=True):
        method["method_mode"] = entry["method_mode"]
    return {
        "source_file": data["source_file"],
        "class_name": data["class_name"],
        "complexity": {"zone": "yellow", "loc": 180, "methods": 8},
        "spec_path": "spec/services/payment_processor_spec.rb",
        "methods_to_analyze": entries,
        **data,
    }


def said(given: dict[str, Any], severity: str = "error") -> dict[str, str]:
    return {one.path: one.text for one in check_document(given) if one.severity == severity}


@pytest.mark.proves("S2-AN-18", "S2-AN-09", "S2-AN-05")
def test_the_printed_analysis_holds_together_but_for_one_count() -> None:
    assert errors_of(document()) == []
    assert said(document(), "warning") == {"behaviors[7].used_by": "expected 0, found 1"}


@pytest.mark.proves("S2-SCH-05")
def test_the_printed_document_loads_and_its_inconsistencies_are_reported() -> None:
    given = sample("document")
    assert errors_of(given) == []
    found = said(given, "warning")
    assert "expected yellow" in found["complexity.zone"]
    assert found["methods[1]"] == "refund is analysed, and is not selected"
    assert "is missing" in found["methods[0].method_mode"]
    assert "automation.isolation_decider_completed" in found
    assert "automation.factory_agent_completed" in found


@pytest.mark.proves("S2-HARD-11", "S2-AN-04", "S2-AN-08", "S2-AN-09")
@pytest.mark.parametrize(
    ("break_it", "path", "text"),
    [
        (lambda d: first(d)["values"][1].pop("behavior_id"), "characteristics[0].values[1].behavior_id", "is a leaf"),
        (
            lambda d: first(d)["values"][1].update(behavior_id="no"),
            "characteristics[0].values[1].behavior_id",
            "no beh",
        ),
        (
            lambda d: first(d)["values"][1].update(behavior_id="processes_payment"),
            "characteristics[0].values[1].behavior_id",
            "expected a behaviour of type terminal",
        ),
        (
            lambda d: first(d)["values"][0].update(behavior_id="processes_payment"),
            "characteristics[0].values[0].behavior_id",
            "not a leaf: gateway_result depends on it",
        ),
        (lambda d: second(d).update(level=3), "characteristics[1].level", "expected 2"),
        (lambda d: first(d).update(level=2), "characteristics[0].level", "expected 1"),
        (lambda d: second(d).update(depends_on="nobody"), "characteristics[1].depends_on", "no characteristic nobody"),
        (lambda d: second(d).update(when_parent=["lost"]), "characteristics[1].when_parent", "not a value"),
        (lambda d: second(d).update(when_parent=[]), "characteristics[1].when_parent", "expected the values"),
        (lambda d: second(d).update(when_parent=["completed"]), "characteristics[1].when_parent", "is terminal"),
        (
            lambda d: first(d).update(depends_on="gateway_result", when_parent=[True], level=3),
            "characteristics[0].depends_on",
            "depends on itself",
        ),
        (lambda d: second(d).update(name="payment_status"), "characteristics[1].name", "stands twice"),
        (lambda d: first(d)["values"][2].update(value="completed"), "characteristics[0].values[2].value", "twice"),
        (lambda d: d["methods"][0]["side_effects"][0].update(behavior_id="x"), "side_effects[0].behavior_id", "no beh"),
        (
            lambda d: d["methods"][0]["side_effects"][0].update(behavior_id="sends_confirmation_email"),
            "side_effects[0].behavior_id",
            "subtype webhook",
        ),
        (lambda d: first(d)["values"][1].update(behavior="inline"), "characteristics[0].values[1].behavior", "nothing"),
        (lambda d: first(d).update(values=first(d)["values"][:1]), "characteristics[0].values", "2"),
        (lambda d: first(d).update(type="maybe"), "characteristics[0].type", "boolean"),
    ],
)
def test_a_broken_tree_is_found_with_its_path(break_it: Any, path: str, text: str) -> None:
    given = document()
    break_it(given)
    found = {key: value for key, value in said(given).items() if key.endswith(path)}
    assert found, said(given)
    assert text in next(iter(found.values()))


def first(given: dict[str, Any]) -> dict[str, Any]:
    return given["methods"][0]["characteristics"][0]


def second(given: dict[str, Any]) -> dict[str, Any]:
    return given["methods"][0]["characteristics"][1]


@pytest.mark.proves("S2-AN-08")
@pytest.mark.parametrize("wrong", ["true", 1, "pending"])
def test_when_parent_compares_by_type(wrong: object) -> None:
    given = document()
    refund = given["methods"][1]["characteristics"]
    del refund[0]["values"][0]["behavior_id"]
    refund.append({**deepcopy(second(given)), "depends_on": "refund_eligible", "when_parent": [True]})
    assert errors_of(given) == []
    refund[1]["when_parent"] = [wrong]
    assert "methods[1].characteristics[1].when_parent" in said(given)


@pytest.mark.proves("S2-AN-17")
@pytest.mark.parametrize("key", ["test_level", "target"])
def test_remnants_of_the_older_format_are_reported(key: str) -> None:
    assert "remnant of the older format" in said({**document(), key: "unit"}, "warning")[key]


@pytest.mark.proves("S2-SCH-02")
@pytest.mark.parametrize("key", ["cross_class_deps", "absorbed_private_methods", "wave"])
def test_a_selection_holds_no_debug_only_keys(key: str) -> None:
    given = document()
    given["methods_to_analyze"][0][key] = []
    assert f"methods_to_analyze[0].{key}" in said(given)


@pytest.mark.proves("S2-SCH-02")
@pytest.mark.parametrize("key", ["name", "method_mode", "line_range", "selected"])
def test_a_selection_holds_all_its_keys(key: str) -> None:
    given = document()
    del given["methods_to_analyze"][1][key]
    assert f"methods_to_analyze[1].{key}" in said(given)


@pytest.mark.proves("S2-SCH-04", "S2-SKIP-01")
def test_automation_holds_markers_versions_skips_and_named_entries() -> None:
    marks: dict[str, Any] = {f"{agent.replace('-', '_')}_completed": True for agent in AGENTS}
    marks |= {"factory_agent_version": "1.0", "factory_agent_skipped": True, "factory_agent_skip_reason": "no model"}
    lists = {"errors": ["test_reviewer: rule 5: x (a:1)"], "warnings": ["test_implementer: trait not found"]}
    assert said({**document(), "automation": {**marks, **lists}}) == {}
    for key, wrong in [
        ("code_analyzer_completed", "true"),
        ("code_analyzer_version", 3.0),
        ("errors", ["nobody said this"]),
        ("warnings", "text"),
    ]:
        assert any(path.startswith(f"automation.{key}") for path in said({**document(), "automation": {key: wrong}}))
    bare = {"factory_agent_completed": True, "factory_agent_skipped": True}
    assert "automation.factory_agent_skip_reason" in said({**document(), "automation": bare})


@pytest.mark.proves("S2-SCH-01", "S2-ENR-01")
def test_the_schema_lists_the_keys_grouped_by_writer() -> None:
    written = [key for row in ROWS for key in row.writes if "[]" not in key and "." not in key]
    assert [key for key in document_schema()["properties"] if key != "automation"] == written
    assert list(document_schema()["properties"])[-1] == "automation"


@pytest.mark.proves("S2-ENR-02")
def test_the_prompt_part_is_exactly_the_row_of_the_agent() -> None:
    given = document() | {"structure": {"describe": "A", "methods": []}, "automation": {}, "mine": 1}
    given["methods_to_analyze"][1]["selected"] = False
    assert readable("discovery-agent", given) == {}
    assert list(readable("code-analyzer", given)) == ["source_file", "class_name", "complexity", "methods_to_analyze"]
    part = readable("isolation-decider", given, "rails")
    assert list(part) == ["methods", "project_type"]
    assert [method["name"] for method in part["methods"]] == ["process"]
    assert list(readable("test-architect", given)) == ["behaviors", "methods", "spec_path"]
    factory = readable("factory-agent", given)["methods"]
    assert list(factory[0]["characteristics"][0]) == ["name", "description", "setup", "values"]
    assert readable("test-implementer", given) == given
    assert readable("test-reviewer", given) == given


@pytest.mark.proves("S2-DISC-05")
@pytest.mark.parametrize(
    ("loc", "methods", "zone"),
    [(149, 6, "green"), (150, 6, "yellow"), (149, 7, "yellow"), (300, 12, "yellow"), (301, 1, "red"), (1, 13, "red")],
)
def test_the_worse_number_decides_the_zone(loc: int, methods: int, zone: str) -> None:
    assert zone_of(loc, methods) == zone
