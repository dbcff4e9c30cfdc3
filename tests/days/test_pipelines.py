"""Days with a pipeline: a stage fails and is corrected; a method changes after it was covered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.specs.rspec.shop import Shop as Bookshop
from tests.specs.rspec_v1.shop import SPEC, Shop

if TYPE_CHECKING:
    from pathlib import Path


MINE = """\
require 'spec_helper'

RSpec.describe Payment do
  it 'refunds' do
    expect(described_class.new.refund).to eq(1)
  end
end
"""


def test_a_stage_failed_after_it_changed_the_spec_and_the_next_stages_pass_once_it_is_corrected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path / "shop", tmp_path / "home", monkeypatch)
    shop.write(SPEC, MINE)
    shop.agents(architect="weaken")
    assert shop.run().code == 1
    assert shop.states()["architect"] == "failed"
    shop.write(SPEC, shop.read(SPEC).replace("to be_truthy", "to eq(1)"))
    shop.agents()
    said = shop.run("--resume")
    assert said.code in (0, 2), said.err
    assert shop.document()["automation"]["polisher_completed"] is True


@pytest.mark.proves("S1-FAIL-05")
def test_the_next_prompt_says_what_was_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The implementer leaves a failing example, which the polisher finds."""
    shop = Shop(tmp_path / "shop", tmp_path / "home", monkeypatch)
    shop.agents(implementer="fail")
    assert shop.run().code == 1
    assert shop.states()["polisher"] == "failed"
    shop.agents(implementer=f"keep={tmp_path / 'prompt'}")
    said = shop.run("--again", "--overwrite")
    assert said.code in (0, 2), said.err
    assert "pays a large amount" in (tmp_path / "prompt").read_text().partition("last attempt")[2]


TILL = "class Till\n  def open\n{}    1\n  end\nend\n"


@pytest.mark.proves("S1-ISS-05")
def test_a_method_of_the_first_dialect_gains_a_condition_loses_it_and_is_covered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path / "shop", tmp_path / "home", monkeypatch)
    shop.write("spec/spec_helper.rb", "require_relative '../app/services/till'\n")
    shop.agents()
    for line in ("", "    return 1 if @key.nil?\n", ""):
        shop.write("app/services/till.rb", TILL.format(line))
        said = shop.rspec("run", "app/services/till.rb", "open")
        assert said.code in (0, 2), said.err
        document = shop.document("tmp/rspec_claude_metadata/metadata_app_services_till.yml")
        assert bool(document["characteristics"]) == bool(line)
        assert ("key" in str(document["characteristics"])) == bool(line)
        assert shop.read("spec/services/till_spec.rb").count("it ") == 1 + bool(line)


BOOK = """\
class Book
  attr_accessor :title, :stock

  def initialize(title: "", stock: 0)
    @title = title
    @stock = stock
  end

  def sell(copies)
    {}
  end
end
"""
PLAIN = "@stock = stock - copies"
GUARDED = 'raise ArgumentError, "not enough copies" if stock < copies\n\n    @stock = stock - copies'
TELLS = "EventBus.publish(:book_sold, self)\n    @stock = stock - copies"


@pytest.mark.parametrize(("first", "then"), [(PLAIN, GUARDED), (GUARDED, PLAIN), (TELLS, PLAIN)])
def test_a_covered_method_gains_its_first_condition_or_loses_one_or_a_side_effect_and_is_covered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, then: str
) -> None:
    monkeypatch.setenv("MOOT_PERSON", "1")
    shop = Bookshop(tmp_path)
    shop.write("app/models/book.rb", BOOK.format(first))
    shop.open()
    shop.cover()
    shop.write("app/models/book.rb", BOOK.format(then))
    (covered,) = shop.cover().files
    (method,) = shop.document("app_models_book")["methods"]
    conditions = 1 if then == GUARDED else 0
    assert (covered.outcome, covered.examples) == ("passed", {"#sell": conditions + 1})
    assert len(method["characteristics"]) == conditions
    assert ("behavior_id" in method, "side_effects" in method) == (not conditions, False)
