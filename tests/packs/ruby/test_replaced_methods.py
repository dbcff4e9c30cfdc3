"""A spec that replaces what it tests is found in its source, with the line; ordinary stubs are not."""

from __future__ import annotations

import pytest

from moot.packs.ruby.replaced_methods import replacements
from moot.packs.ruby.spec_overrides import overrides

SPEC = """RSpec.describe Shop::Payment do
  describe "#pay" do
    {}
  end
end
"""


def found(line: str, *, certain: bool = True) -> list[tuple[int, str]]:
    data = SPEC.format(line).encode()
    all_of = replacements(data, "Shop::Payment", ("#pay", ".make"))
    return [(one.line, one.reason) for one in all_of if one.certain is certain]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("class Shop::Payment; def pay(*) = :large; end", "is reopened"),
        ("module Shop; class Payment; def pay(*) = :large; end; end", "is reopened"),
        ("class << described_class; def make = 1; end", "is reopened"),
        ("def described_class.make = 1", "is redefined"),
        ("before { Shop::Payment.class_eval { def pay = 1 } }", "is changed by `class_eval`"),
        ("before { ::Shop::Payment.define_method(:pay) { 1 } }", "is changed by `define_method`"),
        ("before { described_class.send(:define_method, :pay) { 1 } }", "is changed by `define_method`"),
        ("before { Shop::Payment.prepend(Module.new { def pay = 1 }) }", "is changed by `prepend`"),
        ("before { described_class.singleton_class.prepend(Fake) }", "is changed by `prepend`"),
        ("before { Object.const_get('Shop::Payment').alias_method(:pay, :to_s) }", "is changed by `alias_method`"),
        ('before { stub_const("Shop::Payment", Fake) }', "is replaced by `stub_const`"),
        ("before { allow_any_instance_of(Shop::Payment).to receive(:pay).and_return(1) }", "is stubbed"),
        ("before { expect_any_instance_of(described_class).to receive(:pay) }", "is stubbed"),
        ("before { allow(subject).to receive_messages(pay: 1) }", "is stubbed"),
        ("before { allow(described_class.new).to receive(:pay) { 1 } }", "is stubbed"),
    ],
)
def test_a_replacement_of_what_is_tested_is_found_with_its_line(line: str, said: str) -> None:
    ((number, reason),) = found(line)
    assert number == 3
    assert reason.endswith(said)


@pytest.mark.parametrize(
    "line",
    [
        "class Fake; def pay = 1; end",
        "let(:gateway) { instance_double(Gateway, pay: 1) }",
        "before { allow(gateway).to receive(:pay) }",
        "before { allow(Gateway).to receive(:pay) }",
        "before { allow_any_instance_of(Gateway).to receive(:pay) }",
        "before { allow(subject).to receive(:fee).and_return(1) }",
        "before { allow(subject).to receive(:pay).and_call_original }",
        "before { allow(described_class).to receive(:pay) }",
        "before { allow(described_class).to receive(:make).and_return(1) }",
        'before { stub_const("Shop::FEE", 1) }',
        "let(:other) { Class.new { include Comparable } }",
        "let(:child) { Class.new(described_class) { def fee = 1 } }",
    ],
)
def test_other_classes_and_other_methods_may_be_stubbed(line: str) -> None:
    assert found(line) == []
    assert found(line, certain=False) == []


def test_a_class_method_may_be_stubbed_only_outside_its_own_block() -> None:
    data = SPEC.replace('"#pay"', '".make"').format("before { allow(described_class).to receive(:make) }").encode()
    (one,) = replacements(data, "Shop::Payment", ("#pay", ".make"))
    assert (one.line, one.reason) == (3, "`make`, which the block tests, is stubbed")


def test_what_may_only_read_the_class_is_not_certain() -> None:
    assert found("before { described_class.instance_eval { @cache = nil } }", certain=False)


@pytest.mark.parametrize(
    ("line", "certain"),
    [
        ("at_exit { puts 1 }", [True]),
        ("before { exit! }", [True]),
        ("END { puts 1 }", [True]),
        ("before { Kernel.send(:at_exit) { puts 1 } }", [True]),
        ("before { Process.exit!(0) }", [True]),
        ("before { Kernel.exit(0) }", [False]),
        ("before { Moot::CountingReport.compiled = nil }", [True]),
        ("let(:motion) { Moot::Motion.new }", []),
        ("before { allow(Kernel).to receive(:exit!) }", []),
        ("before { service.exit }", []),
    ],
)
def test_a_spec_that_gets_in_the_way_of_the_report_is_found(line: str, certain: list[bool]) -> None:
    assert [one.certain for one in overrides(SPEC.format(line).encode())] == certain
