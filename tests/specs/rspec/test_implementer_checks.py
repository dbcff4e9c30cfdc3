"""test-implementer: its claims are checked on the real files."""

from __future__ import annotations

import re
from typing import Any

import pytest

from moot.packs.rspec.architect import plan_spec
from moot.packs.rspec.implementer import claims_hold, count_examples, spec_is_implemented
from moot.packs.rspec.isolation import decide
from tests.specs.rspec.samples import sample
from tests.specs.rspec.test_document_check import document

PATH = "spec/services/payment_processor_spec.rb"
FACTORY = "spec/factories/payments.rb"


def planned() -> tuple[dict[str, Any], bytes]:
    """A document after test-architect, and its spec file."""
    given = document()
    given["methods"] = decide(given, "rails").methods
    plan = plan_spec(given, None)
    given["structure"], given["spec_file"] = plan.structure, PATH
    return given, plan.data


def implemented(data: bytes) -> bytes:
    """The work of an honest test-implementer."""
    filled = re.sub(rb"# \{SETUP_CODE\}.*", b"let(:payment) { instance_double(PaymentGateway) }", data)
    return filled.replace(b'skip "{EXPECTATION}"', b"expect(payment).to be_truthy")


def problems(given: dict[str, Any], data: bytes) -> list[str]:
    return [f"{one.line}: {one.text}" for one in spec_is_implemented(given, PATH, data)]


@pytest.mark.proves("S2-IMPL-03")
def test_a_filled_spec_is_complete() -> None:
    given, data = planned()
    assert problems(given, implemented(data)) == []
    assert count_examples(given, data) == 8


@pytest.mark.proves("S2-IMPL-03", "S2-IMPL-01", "S2-HARD-05")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"expect(payment).to be_truthy", b'skip "{EXPECTATION}"', "{EXPECTATION} is left"),
        (b"let(:payment) { instance_double(PaymentGateway) }", b"# {SETUP_CODE}", "{SETUP_CODE} is left"),
        (b"expect(payment).to be_truthy", b"payment", "has no expectation"),
        (b"expect(payment).to be_truthy", b"", "has no expectation"),
        (b"expect(payment).to be_truthy", b"pays(payment)", "has no expectation"),
        (b'it "refunds the transaction"', b'it "refunds"', "expected the examples"),
        (b'context "when NOT eligible"', b'context "when not eligible"', "expected the context"),
        (b'describe "#refund" do', b'describe "#repay" do', "no block for #refund"),
        (b'describe "#refund" do', b'describe "#refund" do (', "does not parse"),
    ],
)
def test_unfinished_or_changed_specs_are_refused_with_the_line(old: bytes, new: bytes, said: str) -> None:
    given, data = planned()
    full = implemented(data)
    assert old in full
    found = problems(given, full.replace(old, new, 1))
    assert any(said in text for text in found), found
    assert all(not text.startswith("0:") for text in found)


@pytest.mark.proves("S2-IMPL-03")
def test_only_the_blocks_of_the_selected_methods_are_judged() -> None:
    given, data = planned()
    other = b'  describe "#other" do\n    it "is open" do\n      skip "{EXPECTATION}"\n    end\n  end\nend\n'
    full = implemented(data).removesuffix(b"end\n") + other
    assert problems(given, full) == []
    assert count_examples(given, full) == 8


@pytest.mark.proves("S2-IMPL-03")
def test_shared_contexts_in_a_block_are_not_contexts_of_the_plan() -> None:
    given, data = planned()
    shared = b'describe "#refund" do\n    shared_context "with money" do\n      let(:money) { 1 }\n    end\n'
    assert problems(given, implemented(data).replace(b'describe "#refund" do\n', shared, 1)) == []


@pytest.mark.proves("S2-IMPL-05", "S2-IMPL-02", "S2-FACT-01")
def test_the_printed_answer_is_accepted_with_a_warning_for_each_wrong_number() -> None:
    given, data = planned()
    files = sample("test-implementer")["data"]["files_created"]
    contents = {PATH: implemented(data), FACTORY: b""}
    both = {"pending", "completed"}
    assert list(claims_hold(files, given, contents, {FACTORY: (both, both)})) == []
    (problem,) = claims_hold(files, given, contents, {FACTORY: ({"pending"}, {"pending"})})
    assert "expected 2 traits, found 1: completed missing" in problem.text
    assert not problem.certain
    (problem,) = claims_hold(files, given, contents, {FACTORY: ({*both, "vip"}, {*both, "vip"})})
    assert "vip added and not stated" in problem.text
    start = contents[PATH].index(b'        it "sends payment notification"')
    end = contents[PATH].index(b'        it "sends confirmation email"')
    contents[PATH] = contents[PATH][:start] + contents[PATH][end:]
    (problem,) = claims_hold(files, given, contents, {FACTORY: (both, both)})
    assert "expected 8 examples, found 7" in problem.text
    assert not problem.certain
    del contents[PATH]
    (problem,) = claims_hold(files, given, contents, {FACTORY: (both, both)})
    assert (problem.path, "no such file" in problem.text, problem.certain) == (PATH, True, True)


@pytest.mark.proves("S2-IMPL-04")
@pytest.mark.parametrize(
    "call",
    ["create(:payment)", "create_list(:payment, 2)", "Payment.create!(amount: 1)", "FactoryBot.create(:payment)"],
)
@pytest.mark.parametrize("database", ["stubbed", "none", "real"])
def test_records_are_not_stored_where_the_database_is_stubbed_or_unused(call: str, database: str) -> None:
    given, data = planned()
    for method in given["methods"]:
        method["test_config"]["isolation"]["db"] = database
    code = f"let(:payment) {{ {call} }}".encode()
    full = implemented(data).replace(b"let(:payment) { instance_double(PaymentGateway) }", code, 1)
    found = problems(given, full)
    if database == "real":
        assert found == []
    else:
        assert len(found) == 1, "a warning"
        assert f"stores a record, and the database is {database}" in found[0]


@pytest.mark.proves("S2-IMPL-04")
@pytest.mark.parametrize(
    "call", ["build_stubbed(:payment)", "# create(:payment)", '"create(:payment)"', "order.create"]
)
def test_other_calls_and_mere_words_are_no_breach(call: str) -> None:
    given, data = planned()
    full = implemented(data).replace(b"instance_double(PaymentGateway)", f"[described_class, {call}\n]".encode())
    assert problems(given, full) == []
