"""What a person wrote in a spec file survives any number of runs, until the person says overwrite."""

from __future__ import annotations

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
    it("is mine") { expect(1).to eq(1) }
  end
end
"""


def change_source(shop: Shop, number: int) -> None:
    shop.write(SOURCE, shop.file(SOURCE) + f"# {number}\n")


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
