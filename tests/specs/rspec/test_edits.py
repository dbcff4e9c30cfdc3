"""What a person made of a spec, a factory or the document after a run: it is used, checked, and never undone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Refused
from moot.packs.rspec.agents import FACTORY, IMPLEMENTER, REVIEWER
from moot.packs.rspec.cover_report import CoverReport
from tests.specs.rspec.test_step_keys import DOCUMENT, SPEC, agent, append, ran, swap, touch

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

FIRST = '    context "when stock is at least copies" do'
OWN = """\
RSpec.describe Book do
  describe "mine" do
    it "has a title" do
      expect(described_class.new(title: "Emma").title).to eq("Emma")
    end
  end
end
"""
BOOKS = "spec/factories/books.rb"
TRAIT = "    trait :low do\n    end\n"


@pytest.fixture
def covered(shop: Shop) -> Shop:
    """A shop with one class that was covered."""
    shop.stock("models/book")
    shop.write(SPEC, OWN)
    shop.open()
    assert isinstance(shop.cover(), CoverReport)
    return shop


def calls(shop: Shop) -> int:
    return len(shop.asked())


# --- an edit that is taken back ---------------------------------------------------------------------------------------


@pytest.mark.proves("S2-HARD-04", "S2-HARD-06")
@pytest.mark.parametrize("agent", ["fails", "is not set"])
def test_an_edit_of_the_plan_that_a_person_took_back_does_not_return(shop: Shop, agent: str) -> None:
    shop.stock("models/book")
    shop.open("silent")
    settings = shop.file("moot.toml")
    if agent == "is not set":
        shop.write("moot.toml", re.sub(r"test-implementer = .*\n", "", settings))

    def stops() -> None:
        with pytest.raises(Refused, match=IMPLEMENTER):
            shop.cover()

    stops()
    planned = shop.file(SPEC)
    shop.write(SPEC, planned.replace("      # {SETUP_CODE}", "      # mine\n      # {SETUP_CODE}", 1))
    stops()
    assert "# mine" in shop.file(SPEC), "an edit is kept"
    shop.write(SPEC, planned)
    stops()
    assert shop.file(SPEC) == planned
    shop.write("moot.toml", settings)
    shop.behave("honest")
    assert isinstance(shop.cover(), CoverReport)
    assert "# mine" not in shop.file(SPEC)


# --- a result that is no longer there ---------------------------------------------------------------------------------


@pytest.mark.proves("S2-HARD-04")
def test_a_plan_that_git_has_taken_back_is_made_again(covered: Shop) -> None:
    finished = covered.file(SPEC)
    covered.git("checkout", "-q", SPEC)
    assert covered.file(SPEC) == OWN
    with pytest.raises(Refused, match="2 examples are planned, found 0") as refused:
        covered.cover()
    assert "--again" in refused.value.remedy
    assert isinstance(covered.cover(again=True), CoverReport)
    assert covered.file(SPEC) == finished


@pytest.mark.proves("S2-HARD-04")
@pytest.mark.parametrize("also", ["nothing", "the time of the source"])
def test_placeholders_that_came_back_are_implemented_again(covered: Shop, also: str) -> None:
    finished = covered.file(SPEC)
    covered.moot("run", "restore", "last", IMPLEMENTER)
    assert "{EXPECTATION}" in covered.file(SPEC)
    if also != "nothing":
        touch(covered)
    with pytest.raises(Refused, match="did not run"):
        covered.cover()
    assert covered.rspec("stage", slug="app_models_book", name=IMPLEMENTER).outcome == "passed"
    assert isinstance(covered.rspec("resume"), CoverReport)
    assert covered.file(SPEC) == finished


@pytest.mark.proves("S2-HARD-06")
def test_an_example_that_a_person_removed_from_a_finished_block_fails_the_review(covered: Shop) -> None:
    text = covered.file(SPEC)
    shorter = re.sub(r'\n    context "when stock is < copies" do\n.*?\n    end\n', "\n", text, flags=re.DOTALL)
    assert shorter != text
    covered.write(SPEC, shorter)
    with pytest.raises(Refused, match="2 examples are planned, found 1"):
        covered.cover()
    assert covered.file(SPEC) == shorter


# --- an edit that is an improvement -----------------------------------------------------------------------------------


@pytest.mark.proves("S2-HARD-04", "S2-HARD-06")
def test_an_edit_goes_to_the_review_only_also_if_the_source_was_touched(covered: Shop) -> None:
    before = calls(covered)
    swap(SPEC, "expect(value).to eq(1)", "expect(value).to eq(1) # mine")(covered)
    touch(covered)
    assert isinstance(covered.cover(), CoverReport)
    assert ran(covered)[-1] == REVIEWER
    assert calls(covered) == before
    assert "# mine" in covered.file(SPEC)


@pytest.mark.proves("S2-HARD-04", "S2-HARD-06")
def test_an_edit_that_was_reviewed_is_still_there_when_the_source_changes(covered: Shop) -> None:
    swap(SPEC, "expect(value).to eq(1)", "expect(value).to eq(1) # mine")(covered)
    assert isinstance(covered.cover(), CoverReport)
    append("app/models/book.rb", "# sold here\n")(covered)
    assert isinstance(covered.cover(), CoverReport)
    assert IMPLEMENTER in ran(covered)
    assert "# mine" in covered.file(SPEC)


# --- what no stage depends on -----------------------------------------------------------------------------------------


@pytest.mark.proves("S2-HARD-04", "S2-MECH-04")
@pytest.mark.parametrize("later", ["nothing else", "a command changes"])
def test_a_factory_that_somebody_extends_needs_no_agent(covered: Shop, later: str) -> None:
    if later != "nothing else":
        agent("factory-agent", "new")(covered)
        assert isinstance(covered.cover(), CoverReport)
    assert BOOKS in [str(one.relative_to(covered.root)) for one in (covered.root / "spec/factories").iterdir()]
    before = calls(covered)
    covered.write(BOOKS, covered.file(BOOKS).replace("    skip_create\n", f"    skip_create\n\n{TRAIT}"))
    assert "trait :low" in covered.file(BOOKS)
    assert isinstance(covered.cover(), CoverReport)
    assert ran(covered) == [REVIEWER]
    assert calls(covered) == before
    assert "trait :low" in covered.file(BOOKS)


@pytest.mark.proves("S2-HARD-04")
def test_a_factory_that_was_deleted_is_made_again(covered: Shop) -> None:
    (covered.root / BOOKS).unlink()
    assert isinstance(covered.cover(), CoverReport)
    assert FACTORY in ran(covered)
    assert (covered.root / BOOKS).exists()


@pytest.mark.proves("S2-HARD-04")
def test_a_key_that_no_stage_knows_makes_no_stage_run(covered: Shop) -> None:
    append(DOCUMENT, "note: hello\n")(covered)
    assert isinstance(covered.cover(), CoverReport)
    assert ran(covered) == [REVIEWER]
    assert "note: hello" in covered.file(DOCUMENT)
