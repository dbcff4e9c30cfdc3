"""test-reviewer: what a real run of RSpec says, and which branches have no context."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from moot.packs.rspec.answers import read_answer
from moot.packs.rspec.reviewing import NoResult, arguments, command, entry_of, missing_terminals, result_of
from tests.specs.rspec.test_implementer_checks import PATH, implemented, planned

needs_rspec = pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")


def run(folder: Path, source: str) -> Any:
    (folder / "a_spec.rb").write_text(source)
    argv = [*command([], ""), *arguments("a_spec.rb")]
    ran = subprocess.run(argv, cwd=folder, capture_output=True, timeout=120, check=False)
    return result_of(ran.stdout, ran.returncode)


@pytest.mark.proves("S2-REV-01", "S2-REV-04")
@needs_rspec
@pytest.mark.parametrize(
    ("source", "passed", "examples", "failures"),
    [
        ("RSpec.describe('a') { it('b') { puts '{\"version\":1}'; expect(1).to eq(1) } }", True, 1, 0),
        ("RSpec.describe('a') { it('b') { expect(1).to eq(2) }\n it('c') { expect(1).to eq(1) } }", False, 2, 1),
        ("RSpec.describe('a') { it('b') { skip 'later' } }", False, 1, 0),
        ("RSpec.describe('a') { }", False, 0, 0),
        ("RSpec.describe('a') { it('b') { } }\nraise 'broken'", False, 0, 1),
        ("RSpec.describe(", False, 0, 1),
    ],
)
def test_the_result_comes_from_rspec_itself(
    tmp_path: Path, source: str, passed: bool, examples: int, failures: int
) -> None:
    result = run(tmp_path, source)
    assert (result.passed, result.examples, len(result.failures)) == (passed, examples, failures)
    if failures and examples:
        failure = result.failures[0]
        assert (failure.description, failure.location) == ("a b", "a_spec.rb:1")
        assert "expected: 2" in failure.message


@pytest.mark.proves("S2-REV-01")
@needs_rspec
@pytest.mark.parametrize("required", ["by .rspec", "by the spec"])
def test_what_a_helper_raises_is_in_the_result(tmp_path: Path, required: str) -> None:
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec/spec_helper.rb").write_text("raise 'no database here'\n")
    source = "RSpec.describe('a') { it('b') { expect(1).to eq(1) } }"
    if required == "by .rspec":
        (tmp_path / ".rspec").write_text("--require spec_helper\n")
    else:
        source = f"require 'spec_helper'\n{source}"
    (failure,) = run(tmp_path, source).failures
    assert failure.message.startswith("RuntimeError: no database here\nAn error occurred while loading ")
    assert "spec/spec_helper.rb:1" in failure.message
    assert "No examples found" not in failure.message


@pytest.mark.proves("S2-REV-01")
@pytest.mark.parametrize("output", [b"", b"Could not find gem", b'{"version":"3"}', b'{"version": {"summary": 1}'])
def test_output_without_a_report_is_no_result(output: bytes) -> None:
    with pytest.raises(NoResult):
        result_of(output, 1)


@pytest.mark.proves("S2-REV-01", "S2-HARD-05")
@pytest.mark.parametrize("between", ["", "\n", "\nnoise\n"])
def test_a_report_that_a_spec_prints_besides_that_of_rspec_is_not_believed(between: str) -> None:
    def report(status: str) -> str:
        one = {"status": status, "full_description": "a", "file_path": "a_spec.rb", "line_number": 1}
        return '{"version":"3.12"' + json.dumps({"examples": [one], "summary": {"example_count": 1}}).replace(
            "{", ",", 1
        )

    assert result_of(f"a {{line}}\n{report('passed')}".encode(), 0).passed
    for both in ((report("failed"), report("passed")), (report("passed"), report("failed"))):
        with pytest.raises(NoResult, match="2 reports"):
            result_of(between.join(both).encode(), 0)


@pytest.mark.proves("S2-REV-01")
def test_a_report_of_success_with_a_failing_exit_code_has_not_passed() -> None:
    report = {
        "version": "3.12",
        "examples": [],
        "summary": {"example_count": 1, "pending_count": 0, "failure_count": 0},
    }
    assert result_of(json.dumps(report).replace('{"version": ', '{"version":').encode(), 0).passed
    assert not result_of(json.dumps(report).replace('{"version": ', '{"version":').encode(), 1).passed


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
