"""How the results of the polisher's programs are judged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moot.packs.rspec_v1 import polishing
from moot.packs.rspec_v1.polishing import Block, LinterFinding
from moot.packs.ruby.spec_tree import parse_spec

BLOCK = Block(first=4, last=20)


@pytest.mark.proves("S1-POL-03")
@pytest.mark.parametrize(
    ("files", "gemfile", "linter"),
    [
        ({".rubocop.yml"}, "", "rubocop"),
        ({".rubocop_todo.yml", ".standard.yml"}, "", "rubocop"),
        ({".standard.yml"}, "", "standardrb"),
        ({"Gemfile"}, "source 'x'\n  gem \"standard\", '~> 1'\n", "standardrb"),
        ({"Gemfile"}, "gem 'standard_deviation'\n# gem 'standard'\n", None),
        (set(), "", None),
    ],
)
def test_the_linter_is_found_by_the_configuration_of_the_project(
    files: set[str], gemfile: str, linter: str | None
) -> None:
    assert polishing.linter_of(files, gemfile) == linter


@pytest.mark.proves("S1-POL-04")
def test_rspec_runs_through_bundler_with_a_gemfile_unless_a_command_is_configured() -> None:
    more = ["--format", "json", "--out", "r.json", "spec/a_spec.rb:7"]
    assert polishing.rspec_command("spec/a_spec.rb", 7, "r.json", (), bundled=False) == ["rspec", *more]
    assert polishing.rspec_command("spec/a_spec.rb", 7, "r.json", (), bundled=True) == [
        *("bundle", "exec", "rspec"),
        *more,
    ]
    assert polishing.rspec_command("spec/a_spec.rb", 7, "r.json", ["bin/rspec"], bundled=True) == ["bin/rspec", *more]


@pytest.mark.proves("S1-POL-01")
def test_offences_that_are_left_are_told_apart_by_the_block_of_the_method() -> None:
    offences = [
        {"cop_name": "Style/A", "message": "in the block", "corrected": False, "location": {"line": 5}},
        {"cop_name": "Style/B", "message": "corrected", "corrected": True, "location": {"line": 6}},
        {"cop_name": "Style/C", "message": "elsewhere", "corrected": False, "location": {"line": 30}},
    ]
    output = "Notice: something\n" + json.dumps({"files": [{"path": "spec/a_spec.rb", "offenses": offences}]})
    found = polishing.linter_result(output.encode(), 1, BLOCK)
    assert found.inside == (LinterFinding(line=5, message="Style/A: in the block"),)
    assert found.outside == (LinterFinding(line=30, message="Style/C: elsewhere"),)
    assert found.inside[0].said("spec/a_spec.rb") == "spec/a_spec.rb:5: Style/A: in the block"


def test_a_linter_without_a_result_is_never_taken_for_one_without_offences() -> None:
    for output in (b"", b"Error: unrecognized cop Foo/Bar found in .rubocop.yml", b'{"files": null}', b"{" * 100000):
        assert polishing.linter_result(output, 2, BLOCK).trouble


def rspec(examples: list[dict[str, Any]], **summary: int) -> bytes:
    counts = {"example_count": len(examples), "errors_outside_of_examples_count": 0, **summary}
    return json.dumps({"examples": examples, "summary": counts}).encode()


def example(status: str, **more: Any) -> dict[str, Any]:
    about = {"full_description": "Payment pays", "file_path": "./spec/a_spec.rb", "line_number": 9}
    return {**about, "status": status, **more}


@pytest.mark.proves("S1-POL-04")
def test_passing_tests_have_no_problem() -> None:
    found = polishing.test_result(rspec([example("passed")]), 0, b"")
    assert (found.problems, found.examples) == ((), 1)


@pytest.mark.proves("S1-POL-04")
@pytest.mark.parametrize(
    ("result", "code", "problem"),
    [
        (None, 1, "RSpec gave no result (exit code 1): boom"),
        (b"not json", 0, "RSpec gave no result (exit code 0): boom"),
        (rspec([]), 0, "RSpec found no example"),
        (
            rspec([example("failed", exception={"message": "expected 1\n  got 2"})]),
            1,
            "spec/a_spec.rb:9: Payment pays failed: expected 1 got 2",
        ),
        (
            rspec([example("pending", pending_message="{EXPECTATION}")]),
            0,
            "spec/a_spec.rb:9: Payment pays is still pending by a placeholder",
        ),
        (
            rspec([], errors_outside_of_examples_count=1),
            1,
            "RSpec could not load the tests: an error outside of the examples",
        ),
        (rspec([example("passed")]), 3, "RSpec exited with 3, although no example failed"),
    ],
)
def test_tests_that_did_not_run_and_pass_are_a_problem(result: bytes | None, code: int, problem: str) -> None:
    assert polishing.test_result(result, code, b"boom").problems == (problem,)


def test_an_example_that_is_pending_for_another_reason_is_named() -> None:
    found = polishing.test_result(rspec([example("passed"), example("pending", pending_message="later")]), 0, b"")
    assert (found.problems, found.pending) == ((), ("spec/a_spec.rb:9: Payment pays is pending",))


SPEC = b"""RSpec.describe Payment do
  describe "#pay" do
    it "pays" do
      expect(paid).to be(true)
    end

    it("waits") { expect(paid).to be(false) }

    it "is open" do
      skip "later"
      expect(paid).to be(false)
    end
  end
end
"""
RAN = ((3, "passed", ""), (7, "passed", ""), (9, "pending", "later"))


@pytest.mark.proves("S1-HARD-13", "S1-POL-04")
@pytest.mark.parametrize(
    ("ran", "said"),
    [
        (RAN, []),
        ((*RAN, (7, "passed", "")), []),
        (RAN[1:], [(3, "RSpec did not run 'pays'")]),
        (RAN[:2], [(9, "RSpec did not run 'is open': skip")]),
        (
            ((3, "pending", "around hook did not execute the example"), *RAN[1:]),
            [(3, "RSpec did not run 'pays': around hook did not execute the example")],
        ),
    ],
    ids=["all", "one twice", "not the first", "not the last", "a pending one"],
)
def test_every_example_of_the_block_must_have_run(ran: Any, said: Any) -> None:
    examples = [example(how, line_number=line, pending_message=why) for line, how, why in ran]
    found = polishing.test_result(rspec(examples), 0, b"")
    assert found.problems == ()
    assert [*polishing.unrun(parse_spec(SPEC).examples(), found, "spec/a_spec.rb")] == said
    others = found.replace(results=tuple(one.replace(path="./spec/b_spec.rb") for one in found.results))
    assert len([*polishing.unrun(parse_spec(SPEC).examples(), others, "spec/a_spec.rb")]) == 3


@pytest.mark.proves("S1-POL-02")
def test_a_syntax_error_is_shown_with_its_line() -> None:
    output = "spec/a_spec.rb:3: syntax error, unexpected end-of-input\nspec/a_spec.rb:1: warning: x\n"
    assert polishing.syntax_error(output, "spec/a_spec.rb") == (
        "spec/a_spec.rb:3: syntax error, unexpected end-of-input"
    )
