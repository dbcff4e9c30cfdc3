"""Answers of agents in the place of code-analyzer: checked with the path of the key, and completed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from moot.core.errors import MootError
from moot.packs.rspec.analyzer import completed
from moot.packs.rspec.answers import read_answer
from tests.specs.rspec.samples import sample


@pytest.mark.proves("S2-AN-18", "S2-AN-05", "S2-AN-06")
def test_the_sample_answer_passes_the_contract_and_is_completed() -> None:
    data = read_answer("code-analyzer", sample("code-analyzer")).data
    found = completed(_discovered(), data)
    assert found.faults == ()
    assert [method["method_mode"] for method in found.data["methods"]] == ["modified", "new"]
    used = {one["id"]: one["used_by"] for one in found.data["behaviors"]}
    assert used.pop("payment_gateway_charge_succeeds") == 0
    assert set(used.values()) == {1}
    assert any("payment_gateway_charge_succeeds" in warning for warning in found.warnings)


def _discovered() -> dict[str, Any]:
    lines = {"process": [10, 35], "refund": [40, 55]}
    return {
        "source_file": "app/services/payment_processor.rb",
        "class_name": "PaymentProcessor",
        "complexity": {"zone": "yellow", "loc": 180, "methods": 8},
        "spec_path": "spec/services/payment_processor_spec.rb",
        "methods_to_analyze": [
            {"name": "process", "method_mode": "modified", "line_range": lines["process"], "selected": True},
            {"name": "refund", "method_mode": "new", "line_range": lines["refund"], "selected": True},
        ],
    }


@pytest.mark.proves("S2-AN-01", "S2-AN-04", "S2-AN-06", "S2-AN-09", "S2-SCH-03")
@pytest.mark.parametrize(
    ("place", "value", "path"),
    [
        (("source_file",), "app/other.rb", "source_file"),
        (("class_name",), "Other", "class_name"),
        (("slug",), "app_other", "slug"),
        (("methods", 0, "method_mode"), "new", "methods[0].method_mode"),
        (("methods", 1, "name"), "process", "methods[1].name"),
        (("methods", 1, "name"), "unknown", "methods[1]"),
        (("methods", 1, "name"), "unknown", "methods"),
        (("methods", 0, "side_effects", 0, "behavior_id"), "nothing", "side_effects[0].behavior_id"),
        (("methods", 0, "characteristics", 0, "values", 1, "behavior_id"), "refunds_transaction", "behavior_id"),
        (("methods", 0, "characteristics", 0, "values", 0, "behavior_id"), "processes_payment", "behavior_id"),
        (("methods", 0, "characteristics", 1, "when_parent"), ["completed"], "when_parent"),
        (("methods", 0, "characteristics", 1, "when_parent"), ["unknown"], "when_parent"),
        (("methods", 0, "characteristics", 1, "level"), 3, "level"),
        (("methods", 0, "characteristics", 1, "depends_on"), "nobody", "depends_on"),
        (("methods", 0, "characteristics", 1, "depends_on"), "gateway_result", "depends_on"),
    ],
)
def test_an_answer_that_breaks_the_contract_is_refused_with_the_path(
    place: tuple[Any, ...], value: Any, path: str
) -> None:
    data = copy.deepcopy(dict(read_answer("code-analyzer", sample("code-analyzer")).data))
    holder: Any = data
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    found = completed(_discovered(), data)
    assert any(path in at for at, _ in found.faults), found.faults


@pytest.mark.proves("S2-AN-03", "S2-AN-04", "S2-AN-07", "S2-AN-08")
@pytest.mark.parametrize(
    ("place", "value", "path"),
    [
        (("behaviors", 0, "id"), "Not Snake", "behaviors[0].id"),
        (("behaviors", 0, "type"), "other", "behaviors[0].type"),
        (("behaviors", 0, "subtype"), "email", "behaviors[0].subtype"),
        (("behaviors", 5, "subtype"), "pigeon", "behaviors[5].subtype"),
        (("behaviors", 0, "used_by"), -1, "behaviors[0].used_by"),
        (("behaviors", 0, "enabled"), "yes", "behaviors[0].enabled"),
        (("methods", 0, "type"), "singleton", "methods[0].type"),
        (("methods", 0, "analyzed"), "yes", "methods[0].analyzed"),
        (("methods", 0, "behavior"), "inline text", "methods[0].behavior"),
        (("methods", 0, "characteristics", 0, "type"), "maybe", "characteristics[0].type"),
        (("methods", 0, "characteristics", 0, "values"), [], "characteristics[0].values"),
        (("methods", 0, "characteristics", 0, "setup", "type"), "factory", "setup.type"),
        (("methods", 0, "characteristics", 0, "level"), 0, "characteristics[0].level"),
        (("methods", 0, "characteristics", 0, "source_line"), 30, "source_line"),
        (("methods", 0, "characteristics", 0, "values", 0, "value"), None, "values[0].value"),
        (("methods", 0, "characteristics", 0, "values", 0, "terminal"), "false", "values[0].terminal"),
        (("methods", 0, "characteristics", 0, "values", 0, "behavior"), "inline", "values[0].behavior"),
        (("source_mtime",), "1699351530", "source_mtime"),
    ],
)
def test_an_answer_of_another_shape_is_refused_with_the_path(place: tuple[Any, ...], value: Any, path: str) -> None:
    answer = copy.deepcopy(sample("code-analyzer"))
    holder: Any = answer["data"]
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    with pytest.raises(MootError) as caught:
        read_answer("code-analyzer", answer)
    assert any(path in problem["path"] for problem in caught.value.details["problems"])


@pytest.mark.proves("S2-AN-08")
def test_when_parent_compares_by_type() -> None:
    data = copy.deepcopy(dict(read_answer("code-analyzer", sample("code-analyzer")).data))
    refund = data["methods"][1]["characteristics"]
    refund[0]["values"][0].pop("behavior_id")
    refund.append(
        {
            **copy.deepcopy(refund[0]),
            "name": "inner",
            "level": 2,
            "depends_on": "refund_eligible",
            "when_parent": ["true"],
        }
    )
    refund[1]["values"][0]["behavior_id"] = "refunds_transaction"
    assert any("when_parent" in at for at, _ in completed(_discovered(), data).faults)
    refund[1]["when_parent"] = [True]
    assert completed(_discovered(), data).faults == ()


@pytest.mark.proves("S2-AN-20")
def test_what_an_agent_says_of_the_source_must_stand_in_it() -> None:
    source = "class PaymentProcessor\n" + "\n" * 8
    source += "  def process\n    PaymentGateway.charge(User)\n" + "    a\n" * 23 + "  end\n" + "\n" * 4
    source += "  def refund\n    Transaction\n" + "    a\n" * 13 + "  end\nend\n"
    good = dict(read_answer("code-analyzer", sample("code-analyzer")).data)
    good["methods"][1]["characteristics"][0]["source_line"] = "41"
    assert completed(_discovered(), good, source.encode()).faults == ()
    wrong: dict[str, tuple[tuple[Any, ...], Any]] = {
        "methods[0].type": ((0, "type"), "class"),
        "methods[0].dependencies[1]": ((0, "dependencies", 1), "Mailer"),
        "methods[0].characteristics[0].source_line": ((0, "characteristics", 0, "source_line"), "15-36"),
        "methods[0].characteristics[1].source.class": ((0, "characteristics", 1, "source", "class"), "Gateway"),
    }
    for path, (place, value) in wrong.items():
        data = copy.deepcopy(good)
        holder: Any = data["methods"]
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = value
        assert [at for at, _ in completed(_discovered(), data, source.encode()).faults] == [path]
