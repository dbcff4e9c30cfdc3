"""test-reviewer: the command that runs RSpec, and which branches have no context."""

from __future__ import annotations

import pytest

from moot.packs.rspec.answers import read_answer
from moot.packs.rspec.reviewing import command, entry_of, missing_terminals
from tests.specs.rspec.test_implementer_checks import PATH, implemented, planned


@pytest.mark.proves("S2-REV-01")
@pytest.mark.parametrize(
    ("configured", "lock", "expected"),
    [
        ([], "", ["rspec"]),
        ([], "GEM\n  specs:\n    rspec-core (3.12.0)\n", ["bundle", "exec", "rspec"]),
        (["bin/rspec"], "GEM\n    rspec (3.12)\n", ["bin/rspec"]),
    ],
)
def test_the_command_is_that_of_the_project(configured: list[str], lock: str, expected: list[str]) -> None:
    assert command(configured, lock) == expected


@pytest.mark.proves("S2-REV-03", "S2-REV-05", "S2-REV-02", "S2-REV-06")
def test_a_terminal_value_without_a_context_breaks_rule_5() -> None:
    given, data = planned()
    full = implemented(data)
    assert list(missing_terminals(given, PATH, full)) == []
    lacking = full.replace(b'context "when NOT eligible"', b'context "when something else"')
    (violation,) = missing_terminals(given, PATH, lacking)
    line = lacking[: lacking.index(b'describe "#refund"')].count(b"\n") + 1
    assert violation == {"rule": 5, "description": "Missing terminal branch context", "location": f"{PATH}:{line}"}
    assert entry_of(violation) == f"test_reviewer: rule 5: Missing terminal branch context ({PATH}:{line})"
    answer = {"status": "success", "data": {"tests_passed": False, "violations": [violation]}}
    assert read_answer("test-reviewer", answer).data["violations"] == [violation]
