"""A block that moot did not write, or that somebody edited since, is replaced only if a person says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Refused

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


@pytest.mark.proves("S2-ARCH-07")
def test_a_block_of_a_person_is_refused_with_its_line_until_the_person_says_overwrite(shop: Shop) -> None:
    shop.stock("models/book")
    shop.write(SPEC, MINE)
    shop.open()
    with pytest.raises(Refused, match=f"{SPEC}:2: ") as refused:
        shop.cover()
    assert "--overwrite" in refused.value.remedy
    assert shop.file(SPEC) == MINE
    assert shop.rspec("resume", overwrite=True).files[0].tests_passed
    assert "is mine" not in shop.file(SPEC)
    change_source(shop, 1)
    assert shop.cover().files[0].tests_passed, "now moot wrote it"


@pytest.mark.proves("S2-ARCH-07", "S2-HARD-06")
def test_a_block_that_somebody_edited_is_refused_and_comments_around_it_do_not_matter(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open()
    shop.cover()
    shop.write(SPEC, f"# Books.\n{shop.file(SPEC)}# The end.\n")
    change_source(shop, 1)
    assert shop.cover().files[0].tests_passed
    assert shop.file(SPEC).startswith("# Books.\n")
    assert shop.file(SPEC).endswith("# The end.\n")
    shop.write(SPEC, shop.file(SPEC).replace("eq(1)", "eq(1) # mine", 1))
    change_source(shop, 2)
    with pytest.raises(Refused, match="--overwrite"):
        shop.cover()
    assert "# mine" in shop.file(SPEC)
    assert shop.cover(overwrite=True).files[0].tests_passed
    assert "# mine" not in shop.file(SPEC)


@pytest.mark.proves("S2-ARCH-07")
def test_a_block_that_was_there_when_another_method_was_covered_is_the_persons(shop: Shop) -> None:
    shop.stock("models/book")
    shop.write(SOURCE, shop.file(SOURCE).rstrip().removesuffix("end") + "\n  def shelf\n    1\n  end\nend\n")
    shop.write(SPEC, MINE)
    shop.open()
    shop.rspec("cover", branch=True, only=("Book#shelf",))
    assert 'describe "#shelf"' in shop.file(SPEC)
    with pytest.raises(Refused, match="--overwrite"):
        shop.cover()
    assert "is mine" in shop.file(SPEC)
