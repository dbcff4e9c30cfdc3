"""Specs of lying agents never pass, and those of honest ones do: judged by running them, in both dialects."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from moot.packs.rspec.rspec_runs import RspecCommand, run_rspec
from moot.packs.rspec_v1.polisher import check_tests
from moot.packs.ruby.rspec_runs import NoResult
from moot.packs.ruby.sentinel import SpecVerdict, try_spec
from moot.packs.ruby.spec_tree import parse_spec
from moot.place import processes
from moot.runs.contract import ProgramRunner, Stage, StageError, StageInput, Target
from tests.packs.ruby.agents import HONEST, LIES, METHODS, OTHERS, QUIET, RIGGED, SOURCE, it, spec

pytestmark = pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
PATH = "spec/purse_spec.rb"
SETTINGS = {"rspec": ["rspec"], "rspec_timeout": 60.0}


class Programs(ProgramRunner):
    """Runs programs in a folder, and counts them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 60, keep: int = 1 << 20
    ) -> processes.Ran:
        self.count += 1
        env = {**os.environ, "HOME": str(self.folder)}
        return processes.run(argv, cwd=str(self.folder), env=env, keep=keep, stdin=stdin, timeout=timeout, apart=True)


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    (tmp_path / "spec").mkdir()
    (tmp_path / "purse.rb").write_text(SOURCE)
    return Programs(tmp_path)


def verdict(programs: Programs, text: str) -> SpecVerdict:
    (programs.folder / PATH).write_text(text)
    (group,) = parse_spec(text.encode()).groups
    return try_spec(lambda words: programs.run(["rspec", *words]), str(programs.folder), PATH, group.groups)


def given(programs: Programs, text: str) -> StageInput:
    """The input of a stage in either dialect."""
    (programs.folder / PATH).write_text(text)
    document = {
        "class_name": "Purse",
        "methods_to_analyze": [{"name": "add", "selected": True}],
        "methods": [{"name": "add", "type": "instance"}],
        "structure": {"describe": "Purse", "methods": [{"name": "#add", "contexts": []}]},
        "target": {"class": "Purse", "method": "add", "method_type": "instance"},
    }
    target = Target("t", str(programs.folder), {"spec": (PATH,), "source": ("purse.rb",)})
    return StageInput(Stage("review"), target, {"spec": {PATH: text.encode()}}, document, programs=programs)


def by_v1(given: StageInput) -> tuple[set[int], tuple[str, ...]]:
    try:
        return set(), tuple(check_tests(given, SETTINGS))
    except StageError as error:
        return {one.line for one in error.problems}, (error.text,)


def by_v2(given: StageInput) -> tuple[set[int], tuple[str, ...]]:
    try:
        found = run_rspec(given, RspecCommand())
        return {one.line for one in found.failures}, found.doubts
    except StageError as error:
        return {one.line for one in error.problems}, (error.text,)


DIALECTS = pytest.mark.parametrize("judged", [by_v1, by_v2])
Judge = Callable[[StageInput], tuple[set[int], tuple[str, ...]]]


@pytest.mark.proves("S1-HARD-13", "S1-POL-04", "S2-HARD-15", "S2-REV-01", "S2-HARD-05")
@DIALECTS
def test_no_lie_passes_and_each_is_named_with_its_line(programs: Programs, judged: Judge) -> None:
    assert len(LIES) + len(RIGGED) >= 45
    text, places = spec(LIES)
    lines, _ = judged(given(programs, text))
    assert [name for name, place in places.items() if not lines & {*place}] == []
    assert programs.count <= 4


@pytest.mark.proves("S1-HARD-13", "S2-HARD-15", "S2-REV-01")
@DIALECTS
def test_every_honest_example_passes_and_what_only_says_what_is_not_done_is_a_warning(
    programs: Programs, judged: Judge
) -> None:
    text, places = spec(HONEST)
    lines, warnings = judged(given(programs, text))
    assert [name for name, place in places.items() if lines & {*place}] == []
    assert len(warnings) == len(QUIET)
    assert all(any(name in one for one in warnings) for name in QUIET)
    assert programs.count <= 4


@pytest.mark.proves("S1-HARD-18", "S2-HARD-18", "S1-HARD-13", "S2-HARD-15")
@DIALECTS
def test_an_rspec_that_cannot_fail_is_noticed(programs: Programs, judged: Judge) -> None:
    lie, honest = (spec({"called": it(f"expect(result).to eq({value})")}, "{}")[0] for value in (5, 1))
    for name, code in RIGGED.items():
        found, said = judged(given(programs, lie.replace("{}", code)))
        assert found or said, name
    fine = "RSpec.configure { |c| c.fail_fast = true; c.before { } }\nat_exit { exit 3 }"
    assert judged(given(programs, honest.replace("{}", fine))) == (set(), ())


@pytest.mark.proves("S1-HARD-18", "S2-HARD-18")
def test_the_example_that_must_fail_goes_with_every_run(programs: Programs) -> None:
    """An RSpec that is rigged only while methods are replaced would clear everything."""
    text = spec({"called": it("expect(result).to eq(1)")}, "class Purse; end if Moot::PASS == :real")[0]
    rigged = "RSpec::Expectations.define_singleton_method(:fail_with) { |*| } unless Moot::PASS == :real"
    assert verdict(programs, text).passed
    with pytest.raises(NoResult):
        verdict(programs, text.replace("class Purse; end if Moot::PASS == :real", rigged))


@pytest.mark.proves("S1-HARD-13", "S2-HARD-15")
def test_every_kind_of_method_can_be_replaced(programs: Programs) -> None:
    """Class methods, `initialize`, and those that are private, inherited, delegated, prepended or made up."""
    (programs.folder / "others.rb").write_text(OTHERS)
    blocks, empty = [], {}
    for name, (owner, honest, lie) in METHODS.items():
        blocks.append((name, owner, it(honest), it(lie)))
    for name, owner, honest, lie in blocks:
        head = f"require_relative '../others'\nRSpec.describe {owner} do\ndescribe '{name}' do\n"
        found = verdict(programs, f"{head}context 'honest' do\n{honest}\nend\ncontext 'lie' do\n{lie}\nend\nend\nend\n")
        assert found.failures == (), name
        empty[name] = [one.description.split()[-2] for one in found.empty]
    assert empty == {name: ["lie"] for name in METHODS}


@pytest.mark.proves("S2-REV-01", "S1-POL-04")
def test_each_block_has_its_own_method_and_what_runs_in_other_blocks_does_not_count(programs: Programs) -> None:
    more = "describe '#full?' do\nit('is not') { expect(Purse.new.tap { |one| one.add(1) }).not_to be_full }\nend\n"
    lost = "describe '#empty!' do\nend\n"
    text = spec({"called": it("expect(result).to eq(1)")})[0].removesuffix("end\n") + more + lost + "end\n"
    found = verdict(programs, text)
    assert [(one.description, one.message) for one in found.failures] == [("#empty!", "no example of it ran")]
    assert found.empty == (), "`not_to be_full` fails when the method returns an object"
    assert programs.count == 2


@pytest.mark.proves("S2-REV-04", "S1-POL-04")
def test_a_spec_that_cannot_be_loaded_says_why(programs: Programs) -> None:
    (programs.folder / "spec/spec_helper.rb").write_text("raise 'no database here'\n")
    text = spec({"called": it("expect(result).to eq(1)")}, "require 'spec_helper'")[0]
    for options in ("", "--require spec_helper\n"):
        (programs.folder / ".rspec").write_text(options)
        (failure,) = verdict(programs, text).failures
        assert failure.message.startswith("RuntimeError: no database here")
        assert failure.location == ""


def test_a_method_that_is_called_in_a_loop_does_not_hang(programs: Programs) -> None:
    drain = "def drain\n    all = []\n    while (one = take)\n      all << one\n    end\n    all\n  end\n\n"
    source = SOURCE.replace("def full?", f"{drain}  def take = coins.pop\n\n  def full?")
    (programs.folder / "purse.rb").write_text(source)
    text = spec({"called": it("purse.add(1)\nexpect(purse.drain).to eq([1])")}, method="#take")[0]
    assert verdict(programs, text).passed


def test_nothing_is_left_in_the_project(programs: Programs) -> None:
    verdict(programs, spec({"called": it("expect(result).to eq(1)")})[0])
    assert [*(programs.folder / "tmp").iterdir()] == []
