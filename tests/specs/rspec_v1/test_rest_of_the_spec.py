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
ALONE = f"require 'spec_helper'\n\nRSpec.describe PaymentService do\n{OWN}end\n"
FILLED = "let(:user) { nil }\n      expect(1).to eq(user)"


def problems(before: str, after: str, criterion: object = rest_is_kept) -> list[str]:
    return said(criterion(given(before), given(after)))  # type: ignore[operator]


@pytest.mark.proves("S1-IMPL-01")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FILE, FILE),
        (FILE, FILE.replace("skip '{EXPECTATION}'", FILLED)),
        (FILE, FILE.replace(OWN, f"\n{OWN}\n")),
        (ALONE, ALONE.replace("Service do\n", "Service do\n  let(:service) { described_class.new }\n\n")),
        (ALONE, f"require 'set'\n{ALONE}"),
    ],
    ids=["nothing", "its block", "blank lines", "setup where no other test is", "a file that its own tests need"],
)
def test_an_agent_may_change_its_block_and_add_what_no_other_test_meets(before: str, after: str) -> None:
    assert problems(before, after) == []


@pytest.mark.proves("S1-IMPL-01", "S1-ARCH-01")
@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("eq(:high)", "be", "10: the block of #refund (line 8) was changed"),
        ("be_a(described_class)", "be_truthy", "5: the example 'is a service' (line 4) was changed"),
        ("Service do\n", "Service do\n  before { stub }\n", "2: `before { stub }` was added"),
        ("admin: true", "admin: false", "2: line 2 was changed"),
        ("Service do\n", "Service, :slow do\n", "1: line 1 was changed"),
    ],
)
def test_whatever_else_changes_is_named_with_its_line(old: str, new: str, found: str) -> None:
    assert problems(FILE, FILE.replace(old, new, 1)) == [
        f"{SPEC}:{found}; only the block of #process_payment may change"
    ]


def test_lines_of_a_person_stay_even_where_no_other_test_is() -> None:
    assert problems(ALONE, ALONE.replace("spec_helper", "rails_helper"))
    assert problems(ALONE, ALONE.replace("require 'spec_helper'\n", ""))


def test_shared_examples_that_the_class_includes_are_other_tests() -> None:
    shared = ALONE.replace("Service do\n", "Service do\n  it_behaves_like 'a service'\n")
    assert problems(shared, shared.replace("Service do\n", "Service do\n  before { stub }\n"))


def test_comments_that_were_added_are_only_a_warning() -> None:
    assert [one.blocks for one in rest_is_kept(given(FILE), given(f"{FILE}# more\n"))] == [False]


@pytest.mark.proves("S1-FOPT-01")
def test_the_factory_optimizer_cannot_change_a_factory_call_in_a_test_of_a_person(shop: Shop) -> None:
    mine = "    it 'is mine' do\n      expect(build(:order, size: 3).size).to eq(3)\n    end\n"
    shop.write(PAYMENT_SPEC, f"RSpec.describe Payment do\n  describe '#refund' do\n{mine}  end\nend\n")
    shop.agents(implementer="create", factory_optimizer="resize")
    failed = shop.run()
    assert failed.code == 1
    assert "the block of #refund (line 2) was changed; only the block of #process may change" in failed.err
    assert shop.states()["factory_optimizer"] == "failed"
    assert shop.states()["polisher"] == "pending"


@pytest.mark.proves("S1-IMPL-01", "S1-HARD-01")
@pytest.mark.parametrize("stage", ["architect", "implementer", "polisher"])
def test_an_agent_cannot_weaken_a_test_of_a_person(shop: Shop, stage: str) -> None:
    mine = "RSpec.describe Payment do\n  it 'refunds' do\n    expect(described_class.new.refund).to eq(1)\n  end\nend\n"
    shop.write(PAYMENT_SPEC, mine)
    shop.agents(**{stage: "weaken"})
    failed = shop.run()
    assert failed.code == 1
    assert "the example 'refunds' (line 2) was changed; only the block of #process may change" in failed.err
    assert shop.states()[stage] == "failed"
    assert shop.document()["automation"][f"{stage}_completed"] is False
    assert shop.run().code == 1, "what the failed attempt left is not taken for a person's"


@pytest.mark.proves("S1-HARD-12")
def test_a_failed_stage_says_how_to_put_its_file_back_and_how_to_go_on(shop: Shop) -> None:
    mine = "RSpec.describe Payment do\n  it 'refunds' do\n    expect(described_class.new.refund).to eq(1)\n  end\nend\n"
    shop.write(PAYMENT_SPEC, mine)
    shop.agents(implementer="weaken")
    said = shop.run().err
    found = re.search(
        r"still in (\S+); `moot (run restore run-\w+)` puts .* To go on from implementer: `moot (.*)`\.", said
    )
    assert found is not None, said
    assert found[1] == PAYMENT_SPEC
    assert shop(*shlex.split(found[2])).code == 0
    assert "eq(1)" in shop.read(PAYMENT_SPEC)
    shop.agents()
    assert "implementer passed" in shop(*shlex.split(found[3])).err


@pytest.mark.proves("S1-POL-01", "S1-POL-05", "S1-HARD-01")
def test_a_command_that_polishes_may_change_the_style_of_the_rest(shop: Shop) -> None:
    mine = "RSpec.describe Payment do\n  it 'refunds' do\n    expect(described_class.new.refund).to eq(1)\n  end\nend\n"
    shop.write(PAYMENT_SPEC, f"require 'spec_helper'\n{mine}")
    shop.agents(polisher="restyle")
    said = shop.run()
    assert said.code == 2, said.err
    assert "Warning: spec/services/payment_spec.rb:3: the example 'refunds' (line 3) was changed" in said.err
    assert shop.document()["automation"]["polisher_completed"] is True


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


@pytest.mark.proves("S1-IMPL-01", "S1-HARD-01")
@pytest.mark.parametrize("stage", ["architect", "implementer", "polisher"])
def test_what_a_person_wrote_while_a_stage_ran_is_kept_if_the_person_says_so(shop: Shop, stage: str) -> None:
    mine = "RSpec.describe Payment do\n  it 'refunds' do\n    expect(described_class.new.refund).to eq(1)\n  end\nend\n"
    shop.write(PAYMENT_SPEC, f"require 'spec_helper'\n{mine}")
    shop.agents(**{stage: "beside"})
    for _ in range(2):
        failed = shop.run()
        assert failed.code == 1
        assert "`it 'is mine' do` was added; only the block of #process may change" in failed.err
        assert "keep it: `moot rspec-v1 run app/services/payment.rb '#process' --keep`." in failed.err
    kept = shop.rspec("run", "app/services/payment.rb", "#process", "--keep")
    assert kept.code == 2, kept.err
    assert "it 'is mine' do" in shop.read(PAYMENT_SPEC)
    assert shop.document()["automation"]["polisher_completed"] is True


@pytest.mark.proves("S1-IMPL-01", "S1-HARD-01")
def test_an_edit_elsewhere_does_not_make_what_a_failed_attempt_changed_a_persons_wish(shop: Shop) -> None:
    mine = "RSpec.describe Payment do\n  it 'refunds' do\n    expect(described_class.new.refund).to eq(1)\n  end\nend\n"
    shop.write(PAYMENT_SPEC, f"require 'spec_helper'\n{mine}")
    shop.agents(implementer="weaken")
    assert shop.run().code == 1
    shop.agents()
    shop.write(PAYMENT_SPEC, shop.read(PAYMENT_SPEC) + "# a remark\n")
    failed = shop.run()
    assert failed.code == 1
    assert "the example 'refunds' (line 3) was changed" in failed.err
    shop.write(PAYMENT_SPEC, shop.read(PAYMENT_SPEC).replace("be_truthy", "eq(1)"))
    assert shop.run().code == 2
    assert shop.read(PAYMENT_SPEC).endswith("# a remark\n")
