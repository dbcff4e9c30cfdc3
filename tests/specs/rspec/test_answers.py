"""The answer of an agent: what is accepted, in which form it is recorded, and which key an error names."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from moot.core.errors import Refused
from moot.packs.rspec.agents import AGENTS
from moot.packs.rspec.answers import read_answer
from tests.specs.rspec.samples import sample


def problems(agent: str, answer: object) -> dict[str, str]:
    with pytest.raises(Refused) as refused:
        read_answer(agent, answer)
    assert refused.value.code == "bad_answer"
    return {one["path"]: one["text"] for one in refused.value.details["problems"]}


def test_several_problems_are_counted_in_the_message_and_listed_beside_it() -> None:
    with pytest.raises(Refused) as refused:
        read_answer("test-reviewer", {"status": "success"})
    assert refused.value.message == "The answer of test-reviewer is not valid: 2 problems."
    assert [one["path"] for one in refused.value.details["problems"]] == ["data.tests_passed", "data.violations"]


@pytest.mark.proves("S2-RESP-01", "S2-IMPL-02", "S2-REV-02")
@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("discovery-agent", "discovery-agent"),
        ("code-analyzer", "code-analyzer"),
        ("test-architect", "test-architect"),
        ("test-implementer", "test-implementer"),
        ("test-reviewer", "test-reviewer-passed"),
        ("test-reviewer", "test-reviewer-failed"),
        ("code-analyzer", "error"),
    ],
)
def test_every_printed_answer_is_accepted(agent: str, name: str) -> None:
    given = sample(name)
    answer = read_answer(agent, given)
    assert answer.status == given["status"]
    assert answer.error == given.get("error", "")


@pytest.mark.proves("S2-RESP-01")
def test_an_error_keeps_its_three_texts() -> None:
    answer = read_answer("code-analyzer", sample("error"))
    assert answer.plain() == {
        "status": "error",
        "error": "Cannot determine testable methods",
        "details": "File has no public methods",
        "suggestion": "Check if class is meant to be tested",
    }


@pytest.mark.proves("S2-RESP-02", "S2-RESP-01")
@pytest.mark.parametrize(
    ("answer", "path", "said"),
    [
        (None, "", "found nothing"),
        ("done", "", "found a text"),
        ([1], "", "found a list"),
        ({}, "status", "is missing"),
        ({"status": "done"}, "status", "expected success, error, skip, found 'done'"),
        ({"status": True}, "status", "expected success, error, skip"),
        ({"status": "stop", "reason": "user_cancelled"}, "status", "found 'stop'"),
        ({"status": "error"}, "error", "is missing"),
        ({"status": "error", "error": ""}, "error", "expected a text"),
        ({"status": "error", "error": 3}, "error", "expected a text, found a number"),
        ({"status": "skip"}, "skip_reason", "is missing"),
        ({"status": "skip", "skip_reason": "nothing", "error": "x"}, "error", "belongs to status error"),
        ({"status": "error", "error": "x", "skip_reason": "y"}, "skip_reason", "belongs to status skip"),
        ({"status": "success", "data": {"files_created": []}, "error": "x"}, "error", "belongs to status error"),
        ({"status": "success", "data": {"files_created": []}, "skip_reason": "x"}, "skip_reason", "belongs to"),
        ({"status": "success", "data": {"files_created": []}, "suggestion": "x"}, "suggestion", "belongs to"),
        ({"status": "success"}, "data.files_created", "expected"),
        ({"status": "success", "data": "text"}, "data", "expected a map, found a text"),
        ({"status": "success", "data": {"files_created": {}}}, "data.files_created", "expected"),
        ({"status": "success", "data": {"files_created": [{"path": "a"}]}}, "data.files_created[0]", "examples_count"),
        (
            {"status": "success", "data": {"files_created": [{"path": "a", "examples_count": "8"}]}},
            "data.files_created[0].examples_count",
            'found "8"',
        ),
        ({"status": "success", "files_created": [{"examples_count": 1}]}, "files_created[0].path", "expected"),
        ({"status": "skip", "skip_reason": "x", "data": {"files_created": []}}, "data.files_created", "belongs to"),
    ],
)
def test_a_bad_answer_is_refused_with_the_path_of_its_key(answer: object, path: str, said: str) -> None:
    found = problems("test-implementer", answer)
    assert path in found
    assert said in found[path]


@pytest.mark.proves("S2-RESP-02")
def test_skipped_is_read_as_skip_with_a_warning() -> None:
    answer = read_answer("factory-agent", {"status": "skipped", "skip_reason": "No factory gem"})
    assert answer.status == "skip"
    assert answer.warnings == ("status: `skipped` was read as `skip`",)


@pytest.mark.proves("S2-RESP-02")
@pytest.mark.parametrize("status", ["ok", "done", "failed", "Success", "partial"])
def test_other_foreign_statuses_are_refused(status: str) -> None:
    assert "status" in problems("factory-agent", {"status": status, "data": {"files_created": []}})


@pytest.mark.proves("S2-RESP-04")
@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("discovery-agent", "discovery-agent"),
        ("code-analyzer", "code-analyzer"),
        ("test-architect", "test-architect"),
        ("test-implementer", "test-implementer"),
        ("test-reviewer", "test-reviewer-failed"),
    ],
)
def test_keys_may_stand_at_the_top_or_below_data_and_have_one_normal_form(agent: str, name: str) -> None:
    given = sample(name)
    kept = {key: given[key] for key in ("status", "automation") if key in given}
    data = given.get("data") or {key: item for key, item in given.items() if key not in kept}
    below = read_answer(agent, {**kept, "data": data})
    above = read_answer(agent, {**kept, **data})
    assert below == above
    assert below.data == data
    assert below.plain().keys() == {"status", "data"}


@pytest.mark.proves("S2-RESP-04")
def test_a_key_in_both_places_is_accepted_only_with_one_value() -> None:
    given: dict[str, Any] = {
        "status": "success",
        "tests_passed": True,
        "data": {"tests_passed": True, "violations": []},
    }
    assert read_answer("test-reviewer", given).data["tests_passed"] is True
    given["tests_passed"] = False
    assert "different values" in problems("test-reviewer", given)["tests_passed"]


@pytest.mark.proves("S2-ENR-01")
@pytest.mark.parametrize(
    ("agent", "key", "value"),
    [
        ("test-implementer", "behaviors", []),
        ("test-architect", "methods", []),
        ("factory-agent", "structure", {"describe": "A", "methods": []}),
        ("isolation-decider", "behaviors", []),
        ("test-reviewer", "spec_file", "spec/a_spec.rb"),
        ("code-analyzer", "complexity", {"zone": "green", "loc": 1, "methods": 1}),
    ],
)
def test_a_key_of_another_agent_is_refused(agent: str, key: str, value: object) -> None:
    found = problems(agent, {"status": "success", "data": {key: value}})
    assert found[f"data.{key}"] == f"{agent} does not write this key"


@pytest.mark.proves("S2-ENR-01", "S2-AN-17")
def test_code_analyzer_decides_no_test_configuration() -> None:
    given = sample("code-analyzer")
    given["data"]["methods"][1]["test_config"] = {
        "test_level": "unit",
        "isolation": {"db": "none", "queue": "none", "external_http": "none"},
        "confidence": "high",
        "decision_trace": ["guess"],
    }
    assert list(problems("code-analyzer", given)) == ["data.methods[1].test_config"]


@pytest.mark.proves("S2-MARK-01", "S2-MARK-02")
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_may_state_its_own_marker_and_no_other(agent: str) -> None:
    name = agent.replace("-", "_")
    marks: dict[str, Any] = {f"{name}_completed": True, f"{name}_version": "1.0"}
    answer = read_answer(agent, {"status": "error", "error": "x", "automation": marks})
    assert answer.automation == marks
    other = "test_architect" if name != "test_architect" else "test_reviewer"
    bad = {"status": "error", "error": "x", "automation": {**marks, f"{other}_completed": True}}
    assert problems(agent, bad) == {f"automation.{other}_completed": f"{agent} does not write this key"}
    for lie in ("true", "yes", 1, False, "1.0"):
        bad = {"status": "error", "error": "x", "automation": {f"{name}_completed": lie}}
        assert f"automation.{name}_completed" in problems(agent, bad)
    bad = {"status": "error", "error": "x", "automation": {f"{name}_version": 1.0}}
    assert f"automation.{name}_version" in problems(agent, bad)


@pytest.mark.proves("S2-ARCH-02")
@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"leaf": True, "terminal": True}, "structure.methods[0].contexts[1]"),
        ({"terminal": "yes"}, "structure.methods[0].contexts[1].terminal"),
        ({"examples": []}, "structure.methods[0].contexts[1].examples"),
        ({"examples": [3]}, "structure.methods[0].contexts[1].examples"),
        ({"children": []}, "structure.methods[0].contexts[1]"),
        ({"name": ""}, "structure.methods[0].contexts[1].name"),
        ({"note": "x"}, "structure.methods[0].contexts[1].note"),
    ],
)
def test_a_context_has_children_or_examples_of_one_kind(change: dict[str, Any], path: str) -> None:
    given = deepcopy(sample("test-architect"))
    given["structure"]["methods"][0]["contexts"][1] |= change
    assert path in problems("test-architect", given)


@pytest.mark.proves("S2-ARCH-02")
def test_endless_nesting_is_refused_and_not_followed() -> None:
    context: dict[str, Any] = {"name": "end", "leaf": True, "examples": ["x"]}
    for _ in range(400):
        context = {"name": "deeper", "children": [context]}
    structure = {"describe": "A", "methods": [{"name": "#a", "contexts": [context]}]}
    found = problems("test-architect", {"status": "success", "spec_file": "spec/a_spec.rb", "structure": structure})
    assert any("nested more than" in text for text in found.values())


@pytest.mark.proves("S2-DISC-15")
def test_only_discovery_stops_and_with_a_reason_from_the_list() -> None:
    answer = read_answer("discovery-agent", {"status": "stop", "reason": "red_zone_new_code", "message": "Split it."})
    assert (answer.status, answer.reason, answer.message) == ("stop", "red_zone_new_code", "Split it.")
    assert "reason" in problems("discovery-agent", {"status": "stop"})
    assert "reason" in problems("discovery-agent", {"status": "stop", "reason": "tired"})


@pytest.mark.proves("S2-FLOW-05", "S2-DEP-01")
def test_the_next_agent_gets_the_answer_without_debug_only_fields() -> None:
    plain = read_answer("discovery-agent", sample("discovery-agent")).plain()
    assert "cross_class_deps" not in str(plain)
    assert "absorbed_private_methods" not in str(plain)
    assert plain["data"]["method_waves"][1]["items"][0]["method_id"] == "PaymentProcessor#process"
