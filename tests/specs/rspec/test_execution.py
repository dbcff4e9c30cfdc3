"""A planned example has passed only if RSpec ran it, and it executed an expectation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from moot.packs.rspec.execution import SpecFiles, checked
from moot.packs.rspec.reviewing import RspecResult, arguments, result_of
from moot.packs.rspec.rspec_runs import RspecCommand, run_rspec
from moot.packs.ruby.watched_examples import COUNTING
from moot.place import processes
from moot.runs.contract import ProgramRunner, Stage, StageInput, Target

pytestmark = pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
CLASS = "class Purse\n  attr_reader :coins\n  def initialize = @coins = []\n  def add(coin) = @coins << coin\nend\n"
NEEDS = 'require_relative "purse"\n'


def document(*examples: str) -> dict[str, Any]:
    contexts = [{"name": "when called", "leaf": True, "examples": list(examples)}]
    return {
        "class_name": "Purse",
        "structure": {"describe": "Purse", "methods": [{"name": "#add", "contexts": contexts}]},
    }


def run(folder: Path, source: str, *examples: str) -> RspecResult:
    """Run a spec with a block for `#add`, and judge it."""
    (folder / "purse.rb").write_text(CLASS)
    (folder / "tmp").mkdir(exist_ok=True)
    (folder / "tmp/rigged.rb").write_text("class Purse; def add(*) = @coins = [1]; end\n")
    (folder / "a_spec.rb").write_text(NEEDS + source)
    argv = ["rspec", *arguments("a_spec.rb", COUNTING)]
    ran = subprocess.run(argv, cwd=folder, capture_output=True, timeout=120, check=False)
    result = result_of(ran.stdout, ran.returncode)
    files = SpecFiles("a_spec.rb", "purse.rb")
    return checked(result, document(*examples), files, (folder / "a_spec.rb").read_bytes())


def spec(body: str, above: str = "", outside: str = "") -> str:
    return f"""{outside}
RSpec.describe Purse do
  {above}
  describe "#add" do
    context "when called" do
      it "adds a coin" do
        {body}
      end
    end
  end
end
"""


def module(name: str, method: str) -> str:
    """A module with a method, for all examples."""
    return f"module {name}\n  {method}\nend\nRSpec.configure {{ |c| c.include {name} }}"


GOOD = "purse = described_class.new\npurse.add(1)\nexpect(purse.coins).to eq([1])"


@pytest.mark.proves("S2-REV-01")
def test_examples_that_ran_and_verified_something_have_passed(tmp_path: Path) -> None:
    result = run(tmp_path, spec(GOOD), "adds a coin")
    assert (result.passed, result.failures, result.doubts) == (True, (), ())
    assert result.results[0].watched.expectations == 1


@pytest.mark.proves("S2-REV-01", "S2-HARD-05")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        (spec(GOOD, above="around { |example| }"), "did not run: around hook"),
        (spec(GOOD, above="around { |example| example.run if false }"), "did not run: around hook"),
        (spec(GOOD, above="before { skip 'later' }"), "did not run: later"),
        (spec(GOOD, outside="RSpec.configure { |c| c.around { |example| } }"), "did not run"),
        (
            spec(GOOD, outside="RSpec.configure { |c| c.filter_run_excluding(:description => /adds/) }"),
            "did not run it",
        ),
        (spec(f"next if Purse.new.coins.empty?\n{GOOD}"), "no expectation was executed"),
        (spec(f"check = -> {{ {GOOD.replace(chr(10), '; ')} }}"), "no expectation was executed"),
        (spec("described_class.new.coins.each { |one| expect(one).to eq(1) }"), "no expectation was executed"),
        (spec("expect(true).to be(true)"), "tests nothing"),
        (spec("described_class.new.add(1)"), "tests nothing"),
    ],
)
def test_an_example_that_tested_nothing_has_not_passed(tmp_path: Path, source: str, said: str) -> None:
    result = run(tmp_path, source, "adds a coin")
    assert any(said in one.message for one in result.failures), result
    assert not result.passed
    assert all(one.location.startswith("a_spec.rb:") for one in result.failures)


@pytest.mark.proves("S2-REV-01", "S2-HARD-05")
def test_an_rspec_whose_expectations_no_longer_fail_has_not_passed(tmp_path: Path) -> None:
    off = "before { Object.const_get(:RSpec).const_get(:Expectations).define_singleton_method(:fail_with) { |*| } }"
    result = run(tmp_path, spec(GOOD.replace("eq([1])", "eq([2])"), above=off), "adds a coin")
    assert not result.passed
    assert [one.description for one in result.failures] == ["expectations cannot fail"]


@pytest.mark.proves("S2-REV-01")
@pytest.mark.parametrize(
    ("body", "outside"),
    [
        ("has_coin(described_class.new)", "def has_coin(purse) = (purse.add(1); expect(purse.coins).to eq([1]))"),
        (
            "counts_coins",
            module("Counting", "def counts_coins = expect(Purse.new.add(1)).to(eq([1]))"),
        ),
        ("coin = instance_double(Integer)\nexpect(coin).to receive(:to_s)\ndescribed_class.new.add(coin).join", ""),
        ("expect { described_class.new.add(1).fetch(1) }.to raise_error(IndexError)", ""),
        ("expect_any_instance_of(String).to receive(:size)\ndescribed_class.new.add('x').first.size", ""),
        ("purse = described_class.new\nexpect(purse).to receive(:add).and_call_original\npurse.add(1)", ""),
        ("expect_any_instance_of(described_class).not_to receive(:coins)\ndescribed_class.new.add(1)", ""),
    ],
)
def test_helpers_and_doubles_count_when_they_verify_something(tmp_path: Path, body: str, outside: str) -> None:
    result = run(tmp_path, spec(body, outside=outside), "adds a coin")
    assert (result.passed, result.failures, result.doubts) == (True, (), ())


@pytest.mark.proves("S2-REV-01")
def test_a_helper_that_raises_by_itself_is_only_doubted(tmp_path: Path) -> None:
    outside = module("Strict", "def assert_empty!(purse) = (raise 'no' unless purse.coins.empty?)")
    result = run(tmp_path, spec("assert_empty!(described_class.new)", outside=outside), "adds a coin")
    assert (result.passed, result.failures) == (True, ())
    assert "no expectation was executed" in result.doubts[0]


OFF = "RSpec::Expectations.define_singleton_method(:fail_with) { |*| }"
ON = "RSpec::Expectations.define_singleton_method(:fail_with, was)"


def replacing(owner: str, method: str, code: str) -> str:
    """A hook that replaces a method of RSpec while the example runs, and then puts it back."""
    return f"""around do |one|
    was = {owner}.instance_method(:{method})
    {owner}.define_method(:{method}) {{ |*| {code} }}
    one.run
    {owner}.define_method(:{method}, was)
  end"""


@pytest.mark.proves("S2-REV-01", "S2-HARD-05")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        (spec(GOOD, above="before { Purse.class_eval { def add(*) = @coins = [1] } }"), "own replacement of `add`"),
        (spec(GOOD, outside="class Purse\n def add(*) = @coins = [1]\nend"), "own replacement of `add`"),
        (spec(GOOD, above="before { Purse.define_method(:add) { |*| @coins = [1] } }"), "own replacement of `add`"),
        (
            spec(GOOD, above="before { Purse.prepend(Module.new { def add(coin) = (super; @coins = [1]) }) }"),
            "own replacement of `add`",
        ),
        (spec(f"Purse.class_eval {{ def add(*) = @coins = [1] }}\n{GOOD}"), "own replacement of `add` (a_spec.rb:8)"),
        (
            spec("any = allow_any_instance_of(Purse)\nany.to receive(:add)\n" + GOOD.replace("[1]", "[]")),
            "a stub of `add`",
        ),
        (
            spec("one = described_class.new\nallow(one).to receive(:add).and_return(1)\nexpect(one.add(2)).to eq(1)"),
            "a stub of `add`",
        ),
        (
            spec(GOOD, above="before { load 'tmp/rigged.rb' }"),
            "another `add` (tmp/rigged.rb:1), and never that of purse.rb",
        ),
        (spec("expect(instance_double(Purse, :add => 1).add(2)).to eq(1)"), "a stub of `add`"),
        (
            spec(
                GOOD.replace("eq([1])", "eq([2])"), above="after { |one| one.instance_variable_set(:@exception, nil) }"
            ),
            "took the failure back",
        ),
        (
            spec(
                GOOD.replace("eq([1])", "eq([2])"),
                above="around { |one| one.run; one.example.display_exception = nil }",
            ),
            "took the failure back",
        ),
    ],
)
def test_an_example_that_tests_its_own_stub_or_hides_its_failure_has_not_passed(
    tmp_path: Path, source: str, said: str
) -> None:
    result = run(tmp_path, source, "adds a coin")
    assert [one.location for one in result.failures] == [
        "a_spec.rb:7" if "class Purse\n" not in source else "a_spec.rb:9"
    ]
    assert said in result.failures[0].message
    assert not result.passed


@pytest.mark.proves("S2-REV-01", "S2-HARD-05")
@pytest.mark.parametrize(
    "hook",
    [
        f"around {{ |one| was = RSpec::Expectations.method(:fail_with); {OFF}; one.run; {ON} }}",
        "around { |one| RSpec::Support.with_failure_notifier(proc {}) { one.run } }",
        replacing("RSpec::Core::Example", "set_exception", ""),
        replacing("RSpec::Matchers::BuiltIn::ContainExactly", "match", "true"),
    ],
    ids=["fail_with", "the notifier", "set_exception", "a matcher"],
)
def test_a_hook_that_makes_failures_impossible_and_puts_everything_back_is_found(tmp_path: Path, hook: str) -> None:
    result = run(tmp_path, spec(GOOD.replace("eq([1])", "contain_exactly(2)"), above=hook), "adds a coin")
    assert not result.passed
    assert [one.description for one in result.failures] == ["Purse#add when called adds a coin"]


@pytest.mark.proves("S2-REV-01")
def test_failures_are_still_aggregated_and_hooks_still_wrap(tmp_path: Path) -> None:
    above = "around { |one| aggregate_failures { one.run } }\n  before { RSpec::Mocks.with_temporary_scope { } }"
    result = run(tmp_path, spec(GOOD, above=above), "adds a coin")
    assert (result.passed, result.failures, result.doubts) == (True, (), ())
    result = run(tmp_path, spec(f"{GOOD}\nexpect(1).to eq(2)\nexpect(1).to eq(3)", above=above), "adds a coin")
    assert "Got 2 failures" in result.failures[0].message


@pytest.mark.proves("S2-REV-01")
def test_an_example_in_which_the_method_never_runs_is_doubted(tmp_path: Path) -> None:
    result = run(tmp_path, spec("expect(described_class.new.coins).to be_empty"), "adds a coin")
    assert (result.passed, result.failures) == (True, ())
    assert "never runs `add`" in result.doubts[0]
    once = spec("expect(@coins).to eq([1])", above="before(:context) { @coins = Purse.new.add(1) }")
    assert run(tmp_path, once, "adds a coin").doubts == ()


@pytest.mark.proves("S2-REV-01")
def test_pending_examples_of_a_person_in_other_blocks_do_not_count_against_the_plan(tmp_path: Path) -> None:
    other = '  describe "#take" do\n    it("is planned") { skip "later" }\n  end\nend\n'
    result = run(tmp_path, spec(GOOD).rstrip().removesuffix("end") + other, "adds a coin")
    assert (result.passed, result.examples, result.ran) == (True, 2, 1)


class Programs(ProgramRunner):
    """Runs programs in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, argv: Sequence[str], *, stdin: bytes, timeout: float, keep: int) -> processes.Ran:
        return processes.run(argv, cwd=str(self.folder), env=dict(os.environ), keep=keep, stdin=stdin, timeout=timeout)


@pytest.mark.proves("S2-REV-01")
def test_an_rspec_that_cannot_load_the_counting_report_is_run_without_it(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.py"  # as in a container, which does not have moot's files
    elsewhere.write_text(
        "import os, sys\n"
        "if '--require' in sys.argv:\n"
        "    sys.exit(f'cannot load such file -- {sys.argv[sys.argv.index(\"--require\") + 1]}')\n"
        "os.execvp('rspec', ['rspec', *sys.argv[1:]])\n"
    )
    (tmp_path / "purse.rb").write_text(CLASS)
    (tmp_path / "a_spec.rb").write_text(NEEDS + spec(GOOD))
    target = Target("t", str(tmp_path), {"spec": ("a_spec.rb",), "source": ("purse.rb",)})
    given = StageInput(
        Stage("test-reviewer"),
        target,
        {"spec": {"a_spec.rb": (tmp_path / "a_spec.rb").read_bytes()}},
        document("adds a coin"),
        programs=Programs(tmp_path),
    )
    result = run_rspec(given, RspecCommand((sys.executable, str(elsewhere)), 60.0))
    assert (result.passed, result.results[0].watched.expectations) == (True, None)
    counted = run_rspec(given, RspecCommand(("rspec",), 60.0))
    assert (counted.passed, counted.results[0].watched.expectations) == (True, 1)
