"""What a person wrote in a spec file survives any number of runs, until the person says overwrite."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from moot.packs.rspec.cover import CoverStop
from moot.packs.rspec.cover_report import CoverReport

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

SPEC = "spec/models/book_spec.rb"
SOURCE = "app/models/book.rb"
MINE = """\
RSpec.describe Book do
  describe "#sell" do
    it("is mine") { expect(Book.new(stock: 3).sell(2)).to eq(1) }
  end
end
"""


def change_source(shop: Shop, number: int) -> None:
    """Change the source so that the spec is planned again."""
    shop.write(SOURCE, re.sub(r"raise \w+", f"raise Error{number}", shop.file(SOURCE)))


@pytest.mark.proves("S2-HARD-06")
@pytest.mark.parametrize("choice", ["keep", "append"])
def test_a_block_that_a_person_kept_is_never_replaced_without_asking_again(shop: Shop, choice: str) -> None:
    shop.stock("models/book")
    shop.git("add", "-A")
    shop.git("commit", "-q", "-m", "books")
    shop.git("branch", "-f", "main")  # so that the method is modified, not new
    shop.write(SOURCE, shop.file(SOURCE).replace("not enough copies", "sold out"))
    shop.open()
    assert isinstance(shop.cover(), CoverReport)
    shop.write(SPEC, shop.file(SPEC).replace("eq(1)", "eq(1) # mine"))
    mine = shop.file(SPEC).count("# mine")
    assert mine
    change_source(shop, 1)
    stopped = shop.cover()
    assert (stopped.status, stopped.reason) == ("waiting", "existing")
    assert isinstance(shop.rspec("resume", existing=choice), CoverReport)
    assert shop.file(SPEC).count("# mine") == mine
    for number in (2, 3):
        change_source(shop, number)
        stopped = shop.cover()
        assert isinstance(stopped, CoverStop), "the block is still the person's"
        assert stopped.reason == "existing"
        assert shop.file(SPEC).count("# mine") == mine
    assert isinstance(shop.rspec("resume", existing="overwrite"), CoverReport)
    assert "# mine" not in shop.file(SPEC)
    change_source(shop, 4)
    if choice == "keep":
        assert isinstance(shop.cover(), CoverReport), "moot wrote the only block, so nobody is asked"


@pytest.mark.proves("S2-HARD-06")
def test_a_block_that_was_there_when_another_method_was_covered_is_the_persons(shop: Shop) -> None:
    shop.stock("models/book", "models/customer")
    shop.write(SOURCE, shop.file(SOURCE).rstrip().removesuffix("end") + "\n  def shelf\n    1\n  end\nend\n")
    shop.write(SPEC, MINE)
    shop.open()
    assert isinstance(shop.rspec("cover", branch=True, only=("Book#shelf",)), CoverReport)
    assert "is mine" in shop.file(SPEC)
    assert 'describe "#shelf"' in shop.file(SPEC)
    stopped = shop.cover()
    assert isinstance(stopped, CoverStop)
    assert stopped.reason == "existing"
    assert "is mine" in shop.file(SPEC)


@pytest.mark.proves("S2-HARD-06", "S2-HARD-14")
@pytest.mark.parametrize("choice", ["keep", "append", "overwrite"])
def test_an_answer_about_a_block_holds_while_nothing_changes(shop: Shop, choice: str) -> None:
    asked_about_a_block(shop)
    assert isinstance(shop.rspec("resume", existing=choice), CoverReport)
    spec, agents = shop.file(SPEC), shop.asked()
    for _ in range(2):
        assert isinstance(shop.cover(), CoverReport), "nobody is asked again"
        assert shop.file(SPEC) == spec
    assert shop.asked() == agents


@pytest.mark.proves("S2-HARD-06")
def test_a_kept_block_is_kept_when_only_the_document_changes_and_asked_about_when_the_block_does(shop: Shop) -> None:
    asked_about_a_block(shop)
    assert isinstance(shop.rspec("resume", existing="keep"), CoverReport)
    spec = shop.file(SPEC)
    reworded(shop, "lowers the stock")
    assert isinstance(shop.cover(), CoverReport), "the block is as it was when the person kept it"
    assert shop.file(SPEC) == spec
    shop.write(SPEC, spec.replace("# mine", "# mine, and new"))
    reworded(shop, "takes copies away")
    stopped = shop.cover()
    assert isinstance(stopped, CoverStop)
    assert stopped.reason == "existing"
    assert "# mine, and new" in shop.file(SPEC)


def asked_about_a_block(shop: Shop) -> None:
    """A method whose block a person has changed, and then its source: the run asks."""
    shop.stock("models/book")
    shop.git("add", "-A")
    shop.git("commit", "-q", "-m", "books")
    shop.git("branch", "-f", "main")  # so that the method is modified, not new
    shop.write(SOURCE, shop.file(SOURCE).replace("not enough copies", "sold out"))
    shop.open()
    assert isinstance(shop.cover(), CoverReport)
    shop.write(SPEC, shop.file(SPEC).replace("eq(1)", "eq(1) # mine"))
    change_source(shop, 1)
    assert shop.cover().reason == "existing"


def reworded(shop: Shop, text: str) -> None:
    path = shop.root / "tmp/rspec_metadata/app_models_book.yml"
    lines = path.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith("    description: "))
    lines[at] = f"    description: {text}\n"
    path.write_text("".join(lines))


@pytest.mark.proves("S2-HARD-06")
def test_a_persons_comment_outside_every_block_makes_no_block_the_persons(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open()
    assert isinstance(shop.cover(), CoverReport)
    shop.write(SPEC, f"# Books.\n{shop.file(SPEC)}# The end.\n")
    shop.write(SOURCE, shop.file(SOURCE).replace("stock < copies", "stock <= copies"))
    assert isinstance(shop.cover(), CoverReport), "moot's own block is as moot wrote it"
    assert shop.file(SPEC).startswith("# Books.\n")
    assert shop.file(SPEC).endswith("# The end.\n")
    shop.write(SPEC, shop.file(SPEC).replace("eq(1)", "eq(1) # mine", 1))
    shop.write(SOURCE, shop.file(SOURCE).replace("stock <= copies", "stock < copies"))
    assert isinstance(shop.cover(), CoverStop), "this block is the person's now"


@pytest.mark.proves("S2-HARD-06")
def test_a_choice_for_existing_blocks_counts_once_it_changes_something(shop: Shop) -> None:
    shop.stock("models/book")
    shop.write(SPEC, MINE)
    shop.open()
    assert isinstance(shop.cover(existing="keep"), CoverReport)
    started = len(shop.asked())
    for given in ({}, {"existing": "keep"}):
        assert isinstance(shop.cover(**given), CoverReport), "nothing has changed, so nobody is asked again"
    assert "is mine" in shop.file(SPEC)
    assert len(shop.asked()) == started
    assert isinstance(shop.cover(existing="overwrite"), CoverReport)
    assert "is mine" not in shop.file(SPEC)
    started = len(shop.asked())
    for given in ({}, {"existing": "keep"}, {"existing": "overwrite"}):
        assert isinstance(shop.cover(**given), CoverReport)
    assert len(shop.asked()) == started, "the block is moot's by now"


@pytest.mark.proves("S2-HARD-06")
def test_a_choice_that_is_not_possible_for_a_new_method_is_said_not_ignored(shop: Shop) -> None:
    shop.stock("models/book")
    shop.write(SPEC, MINE)
    shop.open()
    stopped = shop.cover()
    assert stopped.reason == "existing"
    again = shop.rspec("resume", existing="append")
    assert again.message.startswith("append is not possible for #sell: the method is new. ")
    assert again.checkpoint == stopped.checkpoint
    assert isinstance(shop.rspec("resume", existing="keep"), CoverReport)
