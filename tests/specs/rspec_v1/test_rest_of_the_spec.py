"""Outside the block of its method, an agent changes nothing in a spec file: what is there is a person's."""

from __future__ import annotations

import re
import shlex

import pytest

from moot.packs.rspec_v1.polisher_criteria import rest_is_kept_but_style
from moot.packs.rspec_v1.rest_criteria import rest_is_kept
from tests.specs.rspec_v1.shop import SPEC as PAYMENT_SPEC
from tests.specs.rspec_v1.shop import Shop
from tests.specs.rspec_v1.stage_inputs import SPEC, given, said

OWN = "  describe '#process_payment' do\n    it 'pays' do\n      skip '{EXPECTATION}'\n    end\n  end\n"
MINE = """\
RSpec.describe PaymentService do
  let(:user) { create(:user, admin: true) }

  it 'is a service' do
    expect(described_class.new).to be_a(described_class)
  end

  describe '#refund' do
    it 'is high' do
      expect(described_class.new.refund(1)).to eq(:high)
    end
  end
"""
FILE = f"{MINE}\n{OWN}end\n"
FILLED = "let(:user) { nil }\n      expect(1).to eq(user)"


def problems(before: str, after: str, criterion: object = rest_is_kept) -> list[str]:
    return said(criterion(given(before), given(after)))  # type: ignore[operator]


@pytest.mark.proves("S1-HARD-17")
def test_only_its_block_may_change_and_the_first_other_line_is_named() -> None:
    assert problems(FILE, FILE) == []
    assert problems(FILE, FILE.replace("skip '{EXPECTATION}'", FILLED)) == []
    for old, new, line in (
        ("eq(:high)", "be", 10),
        ("Service do\n", "Service do\n  before { stub }\n", 2),
        (OWN, f"\n{OWN}", 14),
        (f"{OWN}end\n", f"{OWN}end\n# more\n", 20),
    ):
        assert problems(FILE, FILE.replace(old, new, 1)) == [
            f"{SPEC}:{line}: changed; only the block of #process_payment may change"
        ]


@pytest.mark.proves("S1-HARD-17", "S1-HARD-01")
@pytest.mark.parametrize("stage", ["architect", "implementer", "polisher"])
def test_an_agent_cannot_weaken_a_test_of_a_person(shop: Shop, stage: str) -> None:
    mine = "RSpec.describe Payment do\n  it 'refunds' do\n    expect(described_class.new.refund).to eq(1)\n  end\nend\n"
    shop.write(PAYMENT_SPEC, mine)
    shop.agents(**{stage: "weaken"})
    failed = shop.run()
    assert failed.code == 1
    assert f"{PAYMENT_SPEC}:3: changed; only the block of #process may change" in failed.err
    assert shop.states()[stage] == "failed"
    assert shop.document()["automation"][f"{stage}_completed"] is False
    assert shop.run().code == 1, "what the failed attempt left is not taken for a person's"


@pytest.mark.proves("S1-FAIL-04", "S1-HARD-12")
def test_a_failed_stage_says_how_to_put_its_file_back_and_how_to_go_on(shop: Shop) -> None:
    mine = "RSpec.describe Payment do\n  it 'refunds' do\n    expect(described_class.new.refund).to eq(1)\n  end\nend\n"
    shop.write(PAYMENT_SPEC, mine)
    shop.agents(implementer="weaken")
    said = shop.run().err
    found = re.search(
        r"put its files back: `moot (run restore run-\w+ implementer)`\. To go on .*: `moot (.*)`\.", said
    )
    assert found is not None, said
    assert shop(*shlex.split(found[1])).code == 0
    assert "eq(1)" in shop.read(PAYMENT_SPEC)
    shop.agents()
    assert "implementer passed" in shop(*shlex.split(found[2])).err


@pytest.mark.parametrize(
    ("old", "new", "blocks"),
    [
        ("'is high'", '"is high"', [False]),
        ("    it 'is high' do", "  it 'is high' do", [False]),
        ("'is high'", "'is low'", [True]),
        ("eq(:high)", "be", [True]),
        ("  it 'is a service'", "  before { skip }\n  it 'is a service'", [True]),
    ],
)
def test_only_spaces_and_quotes_are_style(old: str, new: str, blocks: list[bool]) -> None:
    found = rest_is_kept_but_style(given(FILE), given(FILE.replace(old, new, 1)))
    assert [one.blocks for one in found] == blocks
