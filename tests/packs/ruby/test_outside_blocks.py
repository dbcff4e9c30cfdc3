"""Outside of the blocks that may change, every byte counts, and the first line that differs is named."""

from __future__ import annotations

import pytest

from moot.packs.ruby.outside_blocks import changed_line
from moot.packs.ruby.spec_tree import Group, parse_spec

SPEC = b"""\
# mine
RSpec.describe Book do
  describe "#price" do
    it { is_expected.to be }
  end

  describe "#sell" do
    it { skip }
  end
end
"""


def own(data: bytes) -> list[Group]:
    return [one for group in parse_spec(data).groups for one in group.groups if one.text == "#sell"]


@pytest.mark.proves("S2-ART-02", "S1-HARD-17")
def test_the_first_line_that_differs_outside_of_the_blocks_is_found() -> None:
    for old, new, line in (
        (b"", b"", 0),
        (b"skip", b"expect(1).to eq(1)\n    expect(2).to eq(2)", 0),
        (b"# mine", b"# yours", 1),
        (b"to be }", b"to eq(1) }", 4),
        (b"  end\nend\n", b"  end\n\nend\n", 10),
        (b"end\n", b"end\r\n", 5),
    ):
        after = SPEC.replace(old, new) if old in (b"skip", b"") else new.join(SPEC.partition(old)[::2])
        if old == b"  end\nend\n":
            after = SPEC.replace(old, new)
        assert changed_line(SPEC, own(SPEC), after, own(after)) == line, (old, new)
    assert changed_line(SPEC, own(SPEC), SPEC.replace(b'"#sell"', b'"#buy"'), []) > 0, "a block that is gone"
