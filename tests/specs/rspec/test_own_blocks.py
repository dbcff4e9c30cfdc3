"""What a person wrote in a spec file survives any number of runs, until the person says overwrite."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Refused
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
    """Change the source so that the spec is planned again."""
    shop.write(SOURCE, re.sub(r"raise \w+", f"raise Error{number}", shop.file(SOURCE)))


@pytest.mark.proves("S2-ARCH-07")
def test_a_block_that_a_person_edited_is_replaced_only_with_overwrite(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open()
    assert isinstance(shop.cover(), CoverReport)
    shop.write(SPEC, f"# Books.\n{shop.file(SPEC)}# The end.\n")
    change_source(shop, 1)
    assert isinstance(shop.cover(), CoverReport), "moot's own block is as moot wrote it"
    assert shop.file(SPEC).startswith("# Books.\n")
    assert shop.file(SPEC).endswith("# The end.\n")
    shop.write(SPEC, shop.file(SPEC).replace("eq(1)", "eq(1) # mine", 1))
    for number in (2, 3):
        change_source(shop, number)
        with pytest.raises(Refused, match=rf"{SPEC}:\d: #sell: ") as refused:
            shop.cover()
        assert "--overwrite" in refused.value.remedy
        assert "# mine" in shop.file(SPEC)
    assert isinstance(shop.rspec("resume", existing="overwrite"), CoverReport)
    assert "# mine" not in shop.file(SPEC)
    change_source(shop, 4)
    assert isinstance(shop.cover(), CoverReport), "moot wrote the only block"


@pytest.mark.proves("S2-ARCH-07")
def test_a_block_that_was_there_when_another_method_was_covered_is_the_persons(shop: Shop) -> None:
    shop.stock("models/book", "models/customer")
    shop.write(SOURCE, shop.file(SOURCE).rstrip().removesuffix("end") + "\n  def shelf\n    1\n  end\nend\n")
    shop.write(SPEC, MINE)
    shop.open()
    assert isinstance(shop.rspec("cover", branch=True, only=("Book#shelf",)), CoverReport)
    assert "is mine" in shop.file(SPEC)
    assert 'describe "#shelf"' in shop.file(SPEC)
    with pytest.raises(Refused, match="#sell: moot did not write it"):
        shop.cover()
    assert "is mine" in shop.file(SPEC)
