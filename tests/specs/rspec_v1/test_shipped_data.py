"""The data that the pack ships."""

from __future__ import annotations

import pytest

from moot.core.schema import check_schema, defects
from moot.packs.rspec_v1 import caching, shipped, validation
from tests.specs.rspec_v1.documents import PAYMENT, changed


@pytest.mark.proves("S1-REV-02")
def test_there_are_28_numbered_rules_with_a_title_and_a_severity() -> None:
    rules = shipped.rules()
    assert [rule.number for rule in rules] == list(range(1, 29))
    assert {rule.severity for rule in rules} == {"must", "should", "may"}
    assert len({rule.title for rule in rules}) == 28


@pytest.mark.proves("S1-REV-03")
def test_the_rules_that_need_a_reader_are_those_that_no_program_decides() -> None:
    readers = [rule.number for rule in shipped.rules() if rule.checked == "reader"]
    assert readers == [4, 12, 13, 16, 17, 18, 21, 25]


@pytest.mark.proves("S1-REL-01")
def test_the_contract_has_exit_codes_paths_and_the_five_cache_steps() -> None:
    contract = shipped.contract()
    assert [entry["code"] for entry in contract["exit_code"]][:3] == [0, 1, 2]
    assert any("rspec_claude_metadata" in entry["rule"] for entry in contract["path"])
    assert [entry["check"] for entry in contract["cache_step"]] == list(caching.STEPS)
    reasons = {reason for entry in contract["cache_step"] for reason in entry["reasons"]}
    assert reasons == {value for name, value in vars(caching).items() if name.isupper() and isinstance(value, str)}


@pytest.mark.proves("S1-REL-01")
def test_the_json_schema_names_the_same_keys_and_values_as_the_validation() -> None:
    schema = shipped.schema()
    properties = schema["properties"]
    assert tuple(properties) == validation.SECTIONS == tuple(PAYMENT)
    assert tuple(properties["test_level"]["enum"]) == validation.LEVELS
    entry = properties["characteristics"]["items"]
    assert tuple(entry["properties"]["type"]["enum"]) == validation.TYPES
    assert set(entry["properties"]) == set(PAYMENT["characteristics"][0])
    check_schema(schema)
    assert defects(schema, PAYMENT) == []
    assert defects(schema, changed("characteristics.0.states", ["one"]))
