"""Examples that test nothing are found in the source; tests that only look unusual are not."""

from __future__ import annotations

import pytest

from moot.packs.ruby.vacuity import vacuous_examples


def judged(body: str, around: str = "") -> tuple[str, bool] | None:
    """The verdict on one example in a group that has a constant, a subject and whatever is `around` it."""
    data = f"""
RSpec.describe Payment do
  let(:amount) {{ 5 }}
  let(:payment) {{ described_class.new(amount) }}
  subject(:result) {{ payment.call }}
  {around}
  it "does it" do
    {body}
  end
end
"""
    found = vacuous_examples(data.encode())
    assert len(found) <= 1
    return (found[0].reason, found[0].certain) if found else None


@pytest.mark.parametrize(
    "body",
    [
        "",
        "# nothing",
        "result",
        "payment.call",
        "expect(result)",
        "expect(true).to be(true)",
        "expect(1).to eq(1)",
        "expect(1 + 1).to eq 2",
        "expect(nil).to be_nil",
        "expect('a').to be_a(String)",
        "expect([1, 2]).to include(1)",
        "expect(true).to be_truthy.and be(true)",
        "expect(5).to be_within(1).of(5)",
        "expect(5).to be > 3",
        "expect(amount).to eq(5)",
        "5.should eq(5)",
        "expect(Object.new).to be_truthy",
        "expect({ a: 1 }).to eq({ a: 1 })",
        "x = 3\nexpect(x).to eq(3)",
        "payment.call\nexpect(true).to eq(true)",
        "expect { }.not_to raise_error",
        "expect { 1 }.not_to raise_error",
        "expect { }.not_to change(Order, :count)",
        "expect { raise ArgumentError }.to raise_error(ArgumentError)",
        "next\nexpect(result).to eq(1)",
        "return\nexpect(result).to eq(1)",
        "next if true\nexpect(result).to eq(1)",
        "return unless false\nexpect(result).to eq(1)",
        "skip\nexpect(result).to eq(1)",
        "skip 'later'\nexpect(result).to eq(1)",
        "expect(result).to eq(1) if false",
        "expect(result).to eq(1) unless true",
        "if nil\nexpect(result).to eq(1)\nend",
        "while false\nexpect(result).to eq(1)\nend",
        "[].each { |one| expect(result).to eq(one) }",
        "0.times { expect(result).to eq(1) }",
        "false && expect(result).to(eq(1))",
        "true || expect(result).to(eq(1))",
        "begin\nexpect(result).to eq(1)\nrescue Exception\nnil\nend",
        "expect(result).to eq(1)\nrescue RSpec::Expectations::ExpectationNotMetError => e\nnil",
        "begin\nexpect(result).to eq(1)\nensure\nnext\nend",
    ],
)
def test_an_example_that_tests_nothing_is_found(body: str) -> None:
    verdict = judged(body)
    assert verdict is not None
    assert verdict[1], verdict


@pytest.mark.parametrize(
    ("body", "around"),
    [
        ("expect(result).to eq(1)", ""),
        ("expect(result).to be(true)", ""),
        ("expect(1).to eq(result)", ""),
        ("expect(5).to eq(payment.amount)", ""),
        ("expect(Payment::LIMIT).to eq(3)", ""),
        ("is_expected.to eq(1)", ""),
        ("should eq(1)", ""),
        ("result.should eq(1)", ""),
        ("expect { result }.to change(Order, :count).by(1)", ""),
        ("expect { payment.call }.not_to raise_error", ""),
        ("payment.call\nexpect(gateway).to have_received(:charge).with(5)", "let(:gateway) { double }"),
        ("expect(gateway).to receive(:charge)\npayment.call", "let(:gateway) { double }"),
        ("aggregate_failures do\nexpect(result).to eq(1)\nexpect(payment).to be_paid\nend", ""),
        ("freeze_time { expect(result).to eq(1) }", ""),
        ("payment.items.each { |one| expect(one).to be_paid }", ""),
        ("if payment.paid?\nexpect(result).to eq(1)\nelse\nexpect(result).to be_nil\nend", ""),
        ("it_behaves_like 'a payment'", ""),
        ("include_examples 'a payment'", ""),
        ("payment.call", "before { expect(Mailer).to receive(:deliver) }"),
        ("payment.call", "after { expect(Mailer).to have_received(:deliver) }"),
        ("paid(payment)", "def paid(one)\nexpect(one).to be_paid\nend"),
        ("expect('  a '.squish).to eq('a')", ""),
        ('expect("#{result}!").to eq("1!")', ""),
        ("x = payment.call\nexpect(x).to eq(1)", ""),
        ("x = 1\nx = payment.call\nexpect(x).to eq(1)", ""),
        ("payment.each { |amount| expect(amount).to eq(5) }", ""),
        ("expect(amount).to eq(5)", "include_context 'with another amount'"),
        ("expect { result }.to raise_error(ArgumentError)", ""),
        ("begin\nexpect(result).to eq(1)\nrescue StandardError\nnil\nend", ""),
        ("expect(result).to eq(1)\nnext", ""),
    ],
)
def test_an_example_that_tests_something_is_not_reported(body: str, around: str) -> None:
    assert judged(body, around) is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("verify_payment(payment)", "`verify_payment` may verify something"),
        ("everything_is_fine", "`everything_is_fine` may verify something"),
        ("page.assert_text('paid')", "`assert_text` may verify something"),
        ("raise 'not paid' unless payment.paid?", "may verify something"),
        ("payment.call\nif payment.open?\nraise 'open'\nend", "may verify something"),
        ("assert_equal 1, result", "`assert_equal` may verify something"),
        ("expect({ get: '/a' }).to route_to('a#b')", "is about a fixed value"),
        ("expect(payment).to eq(payment)", "compares a value with itself"),
        ("next if payment.free?\nexpect(result).to eq(1)", "`next` comes before the expectation"),
        ("expect(result).to eq(1) if payment.paid?", "depends on a condition"),
        ("skip 'no gateway' unless payment.online?\nexpect(result).to eq(1)", "`skip` ends it"),
        ("check = -> { expect(result).to eq(1) }\ncheck.call", "may not be called"),
        ("begin\nexpect(result).to eq(1)\nrescue Exception => e\nraise e\nend", "its failure is rescued"),
    ],
)
def test_what_cannot_be_decided_is_reported_as_uncertain(body: str, said: str) -> None:
    verdict = judged(body)
    assert verdict is not None
    assert said in verdict[0]
    assert not verdict[1]


def test_the_place_of_an_example_is_given_and_a_broken_file_has_no_crash() -> None:
    data = b'RSpec.describe A do\n  context "b" do\n    it("one") { expect(1).to eq(1) }\n  end\n  it "two"\nend\n'
    first, second = vacuous_examples(data)
    assert (first.line, data[first.start :][:2], first.certain) == (3, b"it", True)
    assert (second.line, second.reason) == (5, "it is empty")
    assert vacuous_examples(b"RSpec.describe A do\n it 'x' do\n expect(1).to (") is not None


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    deep = "(" * 3000 + "1" + ")" * 3000
    assert judged(f"expect({deep}).to eq(1)") is not None
    assert judged("if x\n" * 300 + "expect(result).to eq(1)\n" + "end\n" * 300) is None
