"""The review of a spec file: one verdict for each of the 28 rules."""

from __future__ import annotations

import pytest

from moot.packs.rspec_v1 import review_report
from moot.packs.rspec_v1.method_block import NoBlock
from moot.packs.rspec_v1.review_report import Review, missing_rules, render
from moot.packs.rspec_v1.reviewing import review
from moot.packs.rspec_v1.shipped import rules
from tests.specs.rspec_v1.documents import PAYMENT, changed
from tests.specs.rspec_v1.stage_inputs import SPEC, spec_of

FLAT = changed("characteristics", [])
GOOD = """
    subject(:result) { service.process_payment(amount) }
    let(:service) { described_class.new(user) }
    let(:amount) { 10 }

    context 'when authenticated' do
      let(:user) { build_stubbed(:user) }

      it 'pays' do
        expect(result).to eq(:paid)
      end
    end

    context 'when NOT authenticated' do
      let(:user) { nil }

      it 'raises an error' do
        expect { result }.to raise_error(ArgumentError)
      end
    end
"""
BINARY = changed("characteristics", PAYMENT["characteristics"][:1])


def findings(
    body: str, number: int, document: dict[str, object] | None = FLAT, path: str = SPEC
) -> list[tuple[int, str]]:
    found = review(path, spec_of(body).encode(), document)
    return [(one.line, one.found) for one in found.verdicts[number - 1].remarks]


def reviewed(body: str, document: dict[str, object] | None = BINARY) -> Review:
    return review(SPEC, spec_of(body).encode(), document)


@pytest.mark.proves("S1-REV-02")
def test_a_good_spec_passes_every_rule_that_a_program_can_decide() -> None:
    found = reviewed(GOOD)
    undecided = [one.rule.number for one in found.verdicts if one.verdict == review_report.UNDECIDED]
    assert undecided == [4, 12, 13, 16, 17, 18, 21, 25]
    assert found.counts == {
        "passed": 20,
        "violation": 0,
        "warning": 0,
        "suggestion": 0,
        "not decidable by program": 8,
    }
    assert found.overall == "passed"
    assert found.summary == "passed: 20 rules passed, 8 rules not decidable by program"


BAD = [
    (1, "subject(:r) { s.process_payment }\nit('a') { expect(s).to receive(:x) }", 4, "object under test"),
    (1, "it('a') { expect(s.instance_variable_get(:@x)).to eq 1 }", 3, "instance_variable_get"),
    (1, "it('a') { expect_any_instance_of(described_class).to receive(:x) }", 3, "any instance"),
    (2, "it('a') { result }", 3, "has no expectation"),
    (3, "it('a') { expect(a).to eq 1; expect(b).to eq 2 }", 3, "2 expectations without `aggregate_failures`"),
    (6, "context('when a') { let(:x) { 1 } }\ncontext('when b') { let(:x) { 1 } }", 3, "same in all 2 contexts"),
    (7, "context('when NOT a') { }\ncontext('when a') { }", 4, "stands after"),
    (8, "context('when a') { let(:x) { 1 } }", 2, "All cases are positive"),
    (8, "context('but NOT a') { let(:x) { 1 } }", 2, "All cases are negative"),
    (
        8,
        "context('when a') { it('b') { x } }\ncontext('when NOT a', if: false) { it('b') { x } }",
        2,
        "All cases are positive",
    ),
    (9, "context('when a') { it('b') { expect(1).to eq 1 } }", 3, "no setup of its own"),
    (10, "it('a') { expect(1).to eq 1 }", 2, "no subject"),
    (11, "before { expect(a).to eq 1 }", 3, "in a `before` hook"),
    (14, "let(:user) { create(:user) }", 3, "`create(:user)` at unit level"),
    (15, "it('a') { expect(1).to eq 1 if b }", 3, "contains `if`"),
    (15, "it('a') { [1].each { |n| expect(n).to eq 1 } }", 3, "contains `each`"),
    (19, "it('should pay') { expect(1).to eq 1 }", 3, "contains `should`"),
    (19, "it('pays when rich') { expect(1).to eq 1 }", 3, "`when` clause"),
    (19, "it('does not pay') { expect(1).to eq 1 }", 3, "written `NOT`"),
    (20, "context('if a') { }", 3, "begins with none of"),
    (20, "context('with a') { }", 3, "must begin with `when`"),
    (20, "context('when not a') { }", 3, "written `NOT`"),
    (22, "before { allow_any_instance_of(User).to receive(:x) }", 3, "`allow_any_instance_of` is used"),
    (22, "before { User.any_instance.stub(:x) }", 3, "`any_instance` is used"),
    (23, "it('a', :aggregate_failures) { expect(user.a).to eq 1; expect(order.b).to eq 2 }", 3, "order, user"),
    (24, "let(:x) { double('x') }", 3, "`double` is used"),
    (27, "it('a') { expect(Time.now).to eq 1 }", 3, "`Time.now` without frozen time"),
    (28, "it('a') { expect(a == b).to be true }", 3, "A comparison inside"),
    (28, "it('a') { expect(a > b).to be_truthy }", 3, "A comparison inside"),
]


@pytest.mark.proves("S1-REV-03")
@pytest.mark.parametrize(("number", "body", "line", "text"), BAD)
def test_a_breach_is_found_with_its_line(number: int, body: str, line: int, text: str) -> None:
    assert any(at == line and text in found for at, found in findings(body, number)), findings(body, number)


GOOD_CASES = [
    (1, "subject(:r) { s.process_payment }\nit('a') { expect(gateway).to receive(:x) }"),
    (2, "it_behaves_like 'x'\nit('a') { it_behaves_like 'b' }"),
    (3, "it('a', :aggregate_failures) { expect(a).to eq 1; expect(b).to eq 2 }"),
    (3, "context('when a', :aggregate_failures) { it('a') { expect(a).to eq 1; expect(b).to eq 2 } }"),
    (6, "context('when a') { let(:x) { 1 } }\ncontext('when b') { let(:x) { 2 } }"),
    (8, "context('when a') { }\ncontext('when NOT a') { }"),
    (14, "let(:user) { create(:user) }\nit('a') { expect(user.reload).to be_paid }"),
    (14, "let!(:user) { create(:user) }\nit('a') { expect { result }.to change(User, :count) }"),
    (19, "it('pays the candidate') { expect(1).to eq 1 }"),
    (19, "it { is_expected.to eq 1 }"),
    (20, "context('when a') { context('and b') { } }"),
    (23, "it('a', :aggregate_failures) { expect(user.a).to eq 1; expect(user.b).to eq 2 }"),
    (24, "let(:x) { instance_double(User) }"),
    (27, "before { freeze_time }\nit('a') { expect(Time.now).to eq 1 }"),
    (28, "it('a') { expect(a).to eq(b) }"),
    (15, "# it 'x' do if y\nlet(:x) { 'if each' }"),
]


@pytest.mark.proves("S1-REV-03")
@pytest.mark.parametrize(("number", "body"), GOOD_CASES)
def test_what_is_no_breach_is_not_reported(number: int, body: str) -> None:
    assert findings(body, number) == []


@pytest.mark.proves("S1-REV-03")
def test_contexts_are_compared_with_the_characteristics() -> None:
    assert findings(GOOD, 5, PAYMENT) == [(2, "The contexts are not those of the characteristics.")]
    assert findings(GOOD, 5, BINARY) == []


@pytest.mark.proves("S1-REV-03")
def test_the_default_state_needs_no_setup_of_its_own() -> None:
    body = "context('when authenticated') { it('a') { x } }\ncontext('when NOT authenticated') { let(:x) { 1 } }"
    assert findings(body, 9, BINARY) != []
    default = changed("characteristics", [{**PAYMENT["characteristics"][0], "default": "authenticated"}])
    assert findings(body, 9, default) == []


@pytest.mark.proves("S1-REV-03")
def test_a_controller_spec_is_a_warning() -> None:
    assert findings("", 26, path="spec/controllers/orders_controller_spec.rb")
    assert findings("", 26) == []


@pytest.mark.proves("S1-REV-03")
def test_the_linters_rule_is_passed_only_with_a_linter_result() -> None:
    linted = changed("automation", {"linter": "rubocop", "polisher_completed": True})
    assert reviewed(GOOD, linted).verdicts[20].verdict == "passed"
    assert reviewed(GOOD, changed("automation", {"linter": "rubocop"})).verdicts[20].verdict == review_report.UNDECIDED


@pytest.mark.proves("S1-REV-02")
def test_the_verdict_follows_the_severity_of_the_rule() -> None:
    found = reviewed("it('should') { result }", FLAT)
    assert found.verdicts[1].verdict == "violation"
    assert found.verdicts[9].verdict == "warning"
    assert found.overall == "violations found"


@pytest.mark.proves("S1-REV-02", "S1-PUR-02")
def test_the_report_has_one_row_per_rule_and_every_finding_with_line_and_fix() -> None:
    text = render(reviewed("it('a | b') { result }", FLAT))
    assert missing_rules(text, rules()) == []
    rows = [line for line in text.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert len(rows) == 28
    assert "- line 3: The example 'a \\| b' has no expectation. Fix: Expect a result, or remove the example." in text
    assert text == render(reviewed("it('a | b') { result }", FLAT))


@pytest.mark.proves("S1-REV-02")
def test_a_report_that_misses_a_rule_is_noticed() -> None:
    text = render(reviewed(GOOD))
    cut = "\n".join(line for line in text.splitlines() if not line.startswith("| 13 |"))
    assert missing_rules(cut, rules()) == [13]
    assert missing_rules(text.replace("| 13 |", "| 13 | never", 1).replace("not decidable by program", "?"), rules())
    assert len(missing_rules("", rules())) == 28


@pytest.mark.proves("S1-REV-06")
def test_without_a_document_the_report_says_what_was_left_out() -> None:
    found = review(SPEC, spec_of(GOOD).encode(), None)
    assert [one.split(",")[0] for one in found.left_out] == ["rule 5", "rule 14"]
    assert "Left out without the metadata document: rule 5" in render(found)
    assert found.verdicts[4].verdict == review_report.UNDECIDED


TIME = [
    ("it('a') { expect(Date.today).to eq 1 }", "`Date.today` without frozen time."),
    ("let(:x) { Date.parse('2025-01-01') }", "`Date.parse` ignores the time zone of the application."),
    ("let(:x) { Time.parse('2025-01-01') }", "`Time.parse` ignores the time zone of the application."),
    ("before { freeze_time }", "`freeze_time` without a block and without `travel_back`."),
    ("before { travel_to(x) }", "`travel_to` without a block and without `travel_back`."),
    (
        "it('a') { x.wday; sql('EXTRACT(DOW FROM y)') }",
        "`wday` and SQL `EXTRACT(DOW` count the days of the week in two",
    ),
    ("it('a') { travel_to('2025-03-30 02:30') { } }", "`travel_to` between 02:00 and 03:00"),
    ("it('a') { travel_to(Time.zone.local(2025, 3, 30, 2, 15)) { } }", "`travel_to` between 02:00 and 03:00"),
]


@pytest.mark.proves("S1-REV-04")
@pytest.mark.parametrize(("body", "text"), TIME)
def test_time_handling_is_found_with_its_line(body: str, text: str) -> None:
    found = reviewed(body, FLAT)
    assert [one.line for one in found.time if one.found.startswith(text)] == [3]
    assert "## Time handling" in render(found)


@pytest.mark.proves("S1-REV-04")
@pytest.mark.parametrize(
    "body",
    [
        "it('a') { freeze_time { expect(Time.now).to eq 1 } }",
        "before { freeze_time }\nafter { travel_back }\nit('a') { expect(Date.today).to eq 1 }",
        "let(:x) { Time.zone.parse('2025-01-01') }",
        "it('a') { travel_to('2025-03-30 12:02') { } }",
        "it('a') { x.wday }",
        "it('a') { 'Time.now' } # Time.now",
    ],
)
def test_stable_time_has_no_finding_and_the_report_says_so(body: str) -> None:
    found = reviewed(body, FLAT)
    assert found.time == ()
    assert render(found).endswith("## Time handling\n\nNo finding.\n")


@pytest.mark.parametrize("text", ["", "puts 1\n", "RSpec.describe A do\n (\nend\n"])
def test_a_file_without_a_spec_is_refused(text: str) -> None:
    with pytest.raises(NoBlock):
        review(SPEC, text.encode(), None)
