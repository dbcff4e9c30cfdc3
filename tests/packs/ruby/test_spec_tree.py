"""The tree of a spec file: groups, examples and what is in them, with exact places."""

from __future__ import annotations

import pytest

from moot.core.errors import Refused
from moot.packs.ruby.spec_tree import Example, Group, SpecFile, parse_spec

SPEC = """\
# frozen_string_literal: true

RSpec.describe Billing::Payment, type: :model do
  let(:user) { build(:user, :admin, name: "it 'is not an example'") }

  # it 'is a comment' do
  describe '#pay' do
    subject(:result) { payment.pay(amount) }

    before { allow(Gateway).to receive(:charge) }

    context "when \\"card\\"" do
      it 'pays', :aggregate_failures do
        expect(result).to eq(1)
        expect { payment.pay(2) }.not_to raise_error
      end

      it { is_expected.to be_truthy }
      it_behaves_like 'a payment', 1
    end

    context 'when cash' do
      xit 'is off' do
        expect(1).to eq(1)
      end
      it 'has no block'
      it('skips') { skip '{EXPECTATION}' }
      it('is metadata', skip: 'later') { expect(1).to eq 1 }
      it('is not skipped', skip: false) { result.should == 1 }
    end
  end
end
"""


def method_group(spec: SpecFile) -> Group:
    return spec.groups[0].groups[0]


def test_groups_and_examples_are_found_with_their_texts_and_lines() -> None:
    spec = parse_spec(SPEC.encode())
    assert spec.problems == ()
    (top,) = spec.groups
    assert (top.kind, top.constant, top.line, top.last) == ("describe", "Billing::Payment", 3, 32)
    method = method_group(spec)
    assert (method.text, [one.text for one in method.groups]) == ("#pay", ['when "card"', "when cash"])
    assert [one.text for one in spec.examples()] == [
        *("pays", None, "is off", "has no block", "skips", "is metadata", "is not skipped"),
    ]


def test_byte_ranges_cut_out_exactly_the_statement_and_its_body() -> None:
    data = SPEC.encode()
    example = next(iter(parse_spec(data).examples()))
    assert data[example.start : example.end].startswith(b"it 'pays', :aggregate_failures do")
    assert data[example.start : example.end].endswith(b"end")
    assert data[example.body_start : example.body_end].decode().strip() == example.body.strip()
    assert example.body.lstrip().startswith("expect(result)")


def test_definitions_and_hooks_belong_to_their_group() -> None:
    spec = parse_spec(SPEC.encode())
    assert [(one.kind, one.name) for one in spec.groups[0].definitions] == [("let", "user")]
    method = method_group(spec)
    assert [(one.kind, one.name, one.body) for one in method.definitions] == [
        ("subject", "result", "payment.pay(amount)"),
    ]
    assert [one.kind for one in method.hooks] == ["before"]
    assert [(one.name, one.receiver) for one in method.hooks[0].calls if one.name == "receive"] == [("receive", "")]


def test_expectations_have_a_target_a_matcher_and_a_direction() -> None:
    spec = parse_spec(SPEC.encode())
    first, second = list(spec.examples())[:2]
    assert first.aggregated
    assert [(one.target, one.matcher, one.negated, one.block) for one in first.expectations] == [
        ("result", "eq(1)", False, False),
        ("payment.pay(2)", "raise_error", True, True),
    ]
    assert [(one.target, one.matcher) for one in second.expectations] == [("", "be_truthy")]
    assert [one.arguments[0].value for one in method_group(spec).groups[0].shared] == ["a payment"]


def test_examples_that_do_not_run_say_why() -> None:
    pending = [one.pending for one in parse_spec(SPEC.encode()).examples()]
    assert pending == ["", "", "xit", "no block", "skip", ":skip", ""]


@pytest.mark.parametrize(
    ("text", "pending"),
    [
        ("xcontext('a') { it('b') { expect(1).to eq 1 } }", "xcontext"),
        ("context('a', :pending) { it('b') { expect(1).to eq 1 } }", ":pending"),
        ("context('a') { before { skip }; it('b') { expect(1).to eq 1 } }", "skip in before"),
        ("context('a') { it('b') { pending; expect(1).to eq 1 } }", "pending"),
        ("context('a') { skip('b') { expect(1).to eq 1 } }", "skip"),
        ("context('a') { it('b') { queue.skip; expect(1).to eq 1 } }", ""),
        ("context('a', if: false) { it('b') { expect(1).to eq 1 } }", "if: false"),
        ("context('a') { it('b', unless: true) { expect(1).to eq 1 } }", "unless: true"),
        ("context('a', if: ENV['B']) { it('b') { expect(1).to eq 1 } }", ""),
        ("context('a') { next; it('b') { expect(1).to eq 1 } }", "`next` comes before it"),
        ("context('a') { next if ENV['B']; it('b') { expect(1).to eq 1 } }", ""),
    ],
)
def test_pending_is_inherited_and_only_from_rspecs_own_words(text: str, pending: str) -> None:
    (example,) = parse_spec(f"RSpec.describe A do\n{text}\nend\n".encode()).examples()
    assert example.pending == pending


def test_an_expect_without_a_verdict_is_no_expectation() -> None:
    (example,) = parse_spec(b"describe A do\n it('x') { expect(1); other.to eq(1) }\nend\n").examples()
    assert example.expectations == ()


def test_groups_in_modules_and_loops_are_found() -> None:
    spec = parse_spec(b"module M\n RSpec.describe A do\n [1].each { |n| it('a') { n.to_s } }\n end\nend\n")
    (group,) = spec.groups
    assert [one.text for one in group.examples] == ["a"]


def test_branches_and_loops_in_examples_are_found_with_their_lines() -> None:
    text = b"describe A do\nit 'x' do\n y = 1 if z\n [1].each { |n| expect(n).to eq 1 }\n a ? b : c\nend\nend\n"
    (example,) = parse_spec(text).examples()
    assert example.branches == (("if", 3), ("each", 4), ("?:", 5))


def test_a_broken_file_still_has_a_tree_and_says_where_it_is_broken() -> None:
    spec = parse_spec(b"RSpec.describe A do\n it 'x' do\n expect(1).to eq 1\n end\n  it 'y' do\n = 3\n end\nend\n")
    assert spec.problems
    assert [one.text for one in spec.examples()][:1] == ["x"]


def test_groups_nested_beyond_a_limit_are_refused() -> None:
    text = "describe A do\n" + "context 'a' do\n" * 100 + "end\n" * 101
    with pytest.raises(Refused, match="more than 60 levels deep"):
        parse_spec(text.encode())


@pytest.mark.parametrize("data", [b"", b"# only a comment\n", b"puts 1\n", b"\xef\xbb\xbfdescribe(A) { it('x') }\r\n"])
def test_any_text_has_a_tree(data: bytes) -> None:
    assert all(isinstance(one, Example) for one in parse_spec(data).examples())
