"""How the results of the polisher's programs are judged."""

from __future__ import annotations

import json

import pytest

from moot.packs.rspec_v1 import polishing
from moot.packs.rspec_v1.polishing import Block, LinterFinding

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


@pytest.mark.proves("S1-POL-02")
def test_a_syntax_error_is_shown_with_its_line() -> None:
    output = "spec/a_spec.rb:3: syntax error, unexpected end-of-input\nspec/a_spec.rb:1: warning: x\n"
    assert polishing.syntax_error(output, "spec/a_spec.rb") == (
        "spec/a_spec.rb:3: syntax error, unexpected end-of-input"
    )
