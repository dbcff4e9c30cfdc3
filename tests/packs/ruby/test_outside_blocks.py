"""What a person edits after a failed attempt is told apart from what that attempt changed."""

from __future__ import annotations

import pytest

from moot.packs.ruby.outside_blocks import SpecWithBlocks, with_earlier_blocks, with_later_edits
from moot.packs.ruby.spec_tree import parse_spec

BLOCK = '  describe "#sell" do\n    it("sells") { skip }\n  end\n'
FILLED = '  describe "#sell" do\n    it("sells") { expect(1).to eq(copies) }\n  end\n'
FILE = f"""# one
RSpec.describe Book do
  it("a") {{ expect(1).to eq(a) }}
  it("b") {{ expect(1).to eq(b) }}
  it("c") {{ expect(1).to eq(c) }}

{BLOCK}
  it("z") {{ expect(1).to eq(z) }}
end
"""
FAILED = FILE.replace(BLOCK, FILLED)


def spec(text: str) -> SpecWithBlocks:
    file = parse_spec(text.encode())
    return SpecWithBlocks(file, [one for top in file.groups for one in top.walk() if one.text == "#sell"])


def edited(left: str, now: str) -> str | None:
    found = with_later_edits(spec(FILE), spec(left), spec(now))
    return found.decode() if found is not None else None


B = '  it("b") { expect(1).to eq(b) }\n'


@pytest.mark.parametrize(
    ("left", "now", "expected"),
    [
        (FAILED, FAILED, FILE),
        (FAILED, FAILED.replace("# one", "# two"), FILE.replace("# one", "# two")),
        (FAILED.replace(B, ""), FAILED.replace(B, "").replace("# one", "# two"), FILE.replace("# one", "# two")),
        (FAILED.replace("eq(b)", "be"), FAILED.replace("eq(b)", "be") + "# end\n", FILE + "# end\n"),
        (FAILED.replace(B, ""), FAILED, FILE),
        (FAILED.replace("eq(b)", "be"), FAILED, FILE),
        (FAILED.replace("eq(b)", "be"), FAILED.replace("eq(b)", "eq(mine)"), FILE.replace("eq(b)", "eq(mine)")),
        ("before { x }\n" + FAILED, "before { x }\n" + FAILED + "# end\n", FILE + "# end\n"),
        (FAILED + "puts 1\n", FAILED.replace("# one", "# two") + "puts 1\n", FILE.replace("# one", "# two")),
        (FAILED + "puts 1\n", FAILED, FILE),
    ],
    ids=[
        "nothing but the block",
        "a person's edit",
        "a removed example, and an edit elsewhere",
        "a weakened example, and an edit elsewhere",
        "an example that the person put back",
        "an expectation that the person put back",
        "one that the person wrote anew",
        "a line at the start",
        "a line at the end",
        "a line at the end that the person removed",
    ],
)
def test_only_what_a_person_edited_since_is_taken_over(left: str, now: str, expected: str) -> None:
    assert edited(left, now) == expected


def test_without_the_same_blocks_nothing_can_be_told() -> None:
    gone = FILE.replace("#sell", "#order")
    assert edited(gone, FAILED) is edited(FAILED, gone) is None
    assert with_earlier_blocks(spec(gone), spec(FILE)) is None
