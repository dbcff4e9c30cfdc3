"""Specs of lying and of honest agents for one class, `Purse#add`: what stands in a context of its own, by name."""

from __future__ import annotations

SOURCE = """\
class Purse
  attr_reader :coins, :watcher, :limit

  def initialize(watcher = nil, limit: 9)
    @coins = []
    @watcher = watcher
    @limit = limit
  end

  def self.of(*coins)
    new.tap { |purse| coins.each { |coin| purse.add(coin) } }
  end

  def add(coin)
    raise ArgumentError, "no coin" if coin.nil?

    coins << checked(coin)
    watcher&.added(coin)
    coins.size
  end

  def full?
    coins.size >= limit
  end

  def empty!
    coins.clear
  end

  private

  def checked(coin)
    Integer(coin)
  end
end

class Watcher
  def added(_coin); end

  def removed(_coin); end
end
"""
STUB = "allow(purse).to receive(:add).and_return(1)"
WAS = "was = RSpec::Expectations.method(:fail_with)"
OFF = "RSpec::Expectations.define_singleton_method(:fail_with) { |*| }"
ON = "RSpec::Expectations.define_singleton_method(:fail_with, was)"
ACCEPTS = "m = RSpec::Matchers::BuiltIn::ContainExactly; was = m.instance_method(:match)\n"
ACCEPTS += "m.define_method(:match) { |*| true }\none.run\nm.define_method(:match, was)"
SHARED = "shared_examples 'adding' do\nit('adds') { expect(result).to eq(1) }\nend\n"


def it(body: str, above: str = "", options: str = "") -> str:
    """A context with one example."""
    return f"{above}\nit 'works'{options} do\n{body}\nend"


# Each stands in `describe "#add"`, with `purse` and `result`, which calls the method.
LIES = {
    "a constant": it("expect(true).to be(true)"),
    "a constant after the call": it("result\nexpect(true).to be(true)"),
    "a constant after using the result": it("value\nexpect(1).to eq(1)", "let(:value) { result.succ.to_s.upcase }"),
    "compared with itself": it("expect(result).to eq(result)"),
    "compared with itself by name": it("one = result\nother = one\nexpect(one).to equal(other)"),
    "satisfied by anything": it("expect(result).to satisfy { true }"),
    "any block is satisfied": it("expect(result).to satisfy { |one| one || true }"),
    "raises no error": it("expect { result }.not_to raise_error"),
    "raises no error with a class": it("expect { result }.not_to raise_error\nexpect(purse).to be_a(described_class)"),
    "never calls the method": it("expect(purse.coins).to eq([])"),
    "tests another method": it("purse.empty!\nexpect(purse).not_to be_full"),
    "tests the constructor": it("expect(purse.limit).to eq(9)"),
    "tests that it responds": it("expect(purse).to respond_to(:add)"),
    "tests the type of the object": it("result\nexpect(purse).to be_a(described_class)"),
    "stubs the method": it(f"{STUB}\nexpect(purse.add(1)).to eq(1)"),
    "stubs it in a hook": it("expect(result).to eq(1)", f"before {{ {STUB} }}"),
    "stubs it on any instance": it(
        "expect(result).to eq(1)", "before { allow_any_instance_of(Purse).to receive(:add).and_return(1) }"
    ),
    "stubs it on a double": it("expect(instance_double(Purse, add: 1).add(2)).to eq(1)"),
    "defines it on the object": it("def purse.add(*) = 1\nexpect(purse.add(5)).to eq(1)"),
    "replaces the class": it(
        "expect(Purse.new.add(1)).to eq(1)", "before { stub_const('Purse', Class.new { def add(*) = 1 }) }"
    ),
    "tests its own stub": it("allow(purse).to receive(:limit).and_return(4)\nresult\nexpect(purse.limit).to eq(4)"),
    "tests its own double": it("gateway = double(pay: 1)\nresult\nexpect(gateway.pay).to eq(1)"),
    "tests its own array": it("one = [1]\nresult\nexpect(one).to contain_exactly(1)"),
    "rescues the failure": it(
        "begin\nexpect(result).to eq(5)\nrescue RSpec::Expectations::ExpectationNotMetError\nend"
    ),
    "rescues everything": it("begin\nexpect(result).to eq(5)\nrescue Exception\n1\nend"),
    "a constant, and a hook that fails": it("expect(true).to be(true)", "before { { 1 => 'one' }.fetch(result) }"),
    "a constant, and a value that fails": it("text\nexpect(1).to eq(1)", "let(:text) { { 1 => 'one' }.fetch(result) }"),
    "has no expectation": it("result"),
    "is empty": it(""),
    "is left before the expectation": it("next if purse\nexpect(result).to eq(1)"),
    "never calls what expects": it("check = -> { expect(result).to eq(5) }\ncheck"),
    "expects for each of nothing": it("purse.coins.each { |one| expect(one).to eq(5) }"),
    "expects under a condition": it("expect(result).to eq(5) if purse.full?"),
    "expects in a hook": it("result", "before { expect(purse.add(1)).to eq(1) }"),
    "expects in a hook, and a constant": it("expect(true).to be(true)", "before { expect(purse.add(1)).to eq(1) }"),
    "expects in a later hook": it(
        "expect(true).to be(true)", "after { expect(purse.coins).to eq([1]) }\nbefore { result }"
    ),
    "is skipped": it("skip 'later'\nexpect(result).to eq(1)"),
    "is pending": it("pending 'later'\nexpect(result).to eq(2)"),
    "is marked with x": it("expect(result).to eq(1)").replace("it 'works'", "xit 'works'"),
    "is skipped by metadata": it("expect(result).to eq(1)", options=", :skip"),
    "is skipped in a hook": it("expect(result).to eq(1)", "before { skip 'later' }"),
    "is never run by a hook": it("expect(result).to eq(1)", "around { |_one| nil }"),
    "is filtered out": it("expect(result).to eq(1)", options=", if: false"),
    "takes the failure back": it(
        "expect(result).to eq(5)", "after { |one| one.instance_variable_set(:@exception, nil) }"
    ),
    "takes the failure back outside": it(
        "expect(result).to eq(5)", "around { |one| one.run; one.example.display_exception = nil }"
    ),
    "makes failures impossible": it("expect(result).to eq(5)", f"around {{ |one| {WAS}; {OFF}; one.run; {ON} }}"),
    "hides failures": it(
        "expect(result).to eq(5)", "around { |one| RSpec::Support.with_failure_notifier(proc {}) { one.run } }"
    ),
    "makes a matcher accept all": it("expect(purse.coins).to contain_exactly(5)", f"around {{ |one| {ACCEPTS} }}"),
    "brings its own expect": it("expect(result).to eq(5)", "def expect(*) = Class.new { def to(*) = nil }.new"),
    "brings its own matcher": it("expect(result).to eq(5)", "def eq(*) = satisfy { true }"),
    "does not change, and does not call": it("expect { purse.limit }.not_to change(purse, :coins)"),
    "is not received, and does not call": it("expect(watcher).not_to receive(:removed)\npurse.full?"),
    "was not received, and does not call": it(
        "purse.full?\nexpect(watcher).not_to have_received(:removed)", "let(:watcher) { spy }"
    ),
    "is not the other value": it("expect(result).not_to eq(5)"),
    # These change the class for all that run after them.
    "reopens the class in a hook": it("expect(result).to eq(1)", "before { Purse.class_eval { def add(*) = 1 } }"),
    "defines it in a hook": it("expect(result).to eq(1)", "before { Purse.define_method(:add) { |*| 1 } }"),
}
HONEST = {
    "the value": it("expect(result).to eq(1)"),
    "an error": it("expect { purse.add(nil) }.to raise_error(ArgumentError, 'no coin')"),
    "an error of a lazy subject": it("expect { result }.to raise_error(ArgumentError)", "let(:coin) { nil }"),
    "a message": it("expect(watcher).to receive(:added).with(1)\nresult"),
    "a message, in a hook": it("result", "before { expect(watcher).to receive(:added).with(1) }"),
    "a message that was received": it(
        "result\nexpect(watcher).to have_received(:added).with(1)", "let(:watcher) { instance_spy(Watcher) }"
    ),
    "a message that was received, called in a hook": it(
        "expect(watcher).to have_received(:added)", "let(:watcher) { instance_spy(Watcher) }\nbefore { result }"
    ),
    "a message to any instance": it("expect_any_instance_of(Watcher).to receive(:added)\nresult"),
    "a change": it("expect { result }.to change(purse, :coins).from([]).to([1])"),
    "a private method through a public one": it("expect { purse.add('no number') }.to raise_error(ArgumentError)"),
    "shared examples": f"{SHARED}it_behaves_like 'adding'",
    "several expectations": it(
        "expect(result).to eq(1)\nexpect(purse.coins).to eq([1])", options=", :aggregate_failures"
    ),
    "several expectations in a block": it(
        "aggregate_failures do\nexpect(result).to eq(1)\nexpect(purse.coins).to eq([1])\nend"
    ),
    "one of several is a constant": it(
        "expect(true).to be(true)\nexpect(result).to eq(1)", options=", :aggregate_failures"
    ),
    "a one-liner": "it { is_expected.to eq(1) }",
    "a truth": it("expect(result).to be_truthy"),
    "no nil": it("expect(result).not_to be_nil"),
    "a kind": it("expect(result).to be_a(Integer)"),
    "what the result answers": it("expect(result.positive?).to be_truthy"),
    "a comparison": it("expect(result).to be > 0"),
    "a block that looks": it("expect(result).to satisfy { |one| one == 1 }"),
    "an attribute of the result": it("expect(result).to have_attributes(succ: 2)"),
    "a composed value": it("expect([result, purse.coins]).to match([1, [1]])"),
    "a value built from the result": it("expect(text).to eq('1 coin')", 'let(:text) { "#{Integer(result)} coin" }'),
    "a value looked up by the result": it("expect(text).to eq('one')", "let(:text) { { 1 => 'one' }.fetch(result) }"),
    "a hook that cannot do without the result": it(
        "expect(@text).to eq('one')", "before { @text = { 1 => 'one' }.fetch(result) }"
    ),
    "called once for all": it("expect(@size).to eq(2)", "before(:context) { @size = Purse.of(1).add(2) }"),
    "a helper": it("expect_coins(1)", "def expect_coins(*all) = (result; expect(purse.coins).to eq(all))"),
    "what is not done": it("expect { result }.not_to change(purse, :limit)"),
    "a message that is not sent": it("expect(watcher).not_to receive(:removed)\nresult"),
    "a message that was not sent": it(
        "result\nexpect(watcher).not_to have_received(:removed)", "let(:watcher) { instance_spy(Watcher) }"
    ),
}
QUIET = ("what is not done", "a message that is not sent", "a message that was not sent")


OPEN = "class RSpec::{}; def {}; end"
RIGGED = {  # Each stands above a spec that fails.
    "expectations that never fail": OFF,
    "failures that go nowhere": "RSpec::Support.failure_notifier = proc {}",
    "a handler that accepts all": OPEN.format(
        "Expectations::PositiveExpectationHandler", "self.handle_matcher(*) = true"
    ),
    "a matcher that accepts all": OPEN.format("Matchers::BuiltIn::Eq", "matches?(*) = true"),
    "an expect of its own": "module RSpec::Matchers; def expect(*) = Class.new { def to(*) = nil }.new; end",
    "examples without exceptions": OPEN.format("Core::Example", "set_exception(*) = nil"),
    "results that passed": OPEN.format("Core::Example::ExecutionResult", "status = :passed"),
    "a report that passed": "class Moot::Report; def format_example(one) = super.merge(:status => 'passed'); end",
    "exit": "exit 0",
    "exit!": "exit!(0)",
    "exit in a hook": "RSpec.configure { |c| c.before { exit 0 } }",
    "exit! in a hook": "RSpec.configure { |c| c.before { exit!(0) } }",
    "exit! at the end": "at_exit { exit!(0) }",
    "no hook runs an example": "RSpec.configure { |c| c.around { |_| } }",
    "every example is skipped": "RSpec.configure { |c| c.before { skip } }",
    "every example is left out": "RSpec.configure { |c| c.filter_run_excluding(:description => /./) }",
    "a dry run": "RSpec.configure { |c| c.dry_run = true }",
    "a printed report": 'puts \'{"version":"3","examples":[],"summary":{"example_count":1}}\'; exit!(1)',
    "the class reopened": "require_relative '../purse'\nclass Purse\n  def add(*) = 5\nend",
    "a module prepended": "require_relative '../purse'\nPurse.prepend(Module.new { def add(*) = 5 })",
    "a spec that cannot be loaded": "raise 'broken'",
}
OTHERS = """\
require "forwardable"

class Till
  extend Forwardable
  attr_reader :sum

  def_delegators :@coins, :size

  def initialize(*coins)
    @coins = coins
    @sum = counted
  end

  def self.of(*coins) = new(*coins)

  def ==(other) = sum == other.sum

  def [](index) = @coins[index]

  private

  def counted = @coins.sum
end

class Drawer < Till; end

module Doubling
  def twice = super * 2
end

class Wallet
  prepend Doubling

  def twice = 1
end

module Counting
  extend self

  def count = 3
end

class Ghost
  def method_missing(name, *) = name == :haunt ? :boo : super

  def respond_to_missing?(*) = true
end
"""
METHODS = {  # the class, an honest example, and one that tests nothing
    ".of": (
        "Till",
        "expect(described_class.of(1).sum).to eq(1)",
        "described_class.of(1)\nexpect(Till.new(1).sum).to eq(1)",
    ),
    "#initialize": (
        "Till",
        "expect(described_class.new(1, 2).sum).to eq(3)",
        "expect(described_class.new(1)).to be_a(Till)",
    ),
    "#counted": (
        "Till",
        "expect(described_class.new(1, 2).sum).to eq(3)",
        "expect(described_class.new(1).size).to eq(1)",
    ),
    "#size": ("Till", "expect(described_class.new(1, 2).size).to eq(2)", "expect(described_class.new(1).sum).to eq(1)"),
    "#==": (
        "Till",
        "expect(described_class.new(1) == Till.new(1)).to be(true)",
        "expect(described_class.new.sum).to eq(0)",
    ),
    "#[]": ("Till", "expect(described_class.new(4)[0]).to eq(4)", "described_class.new[0]\nexpect(4).to eq(4)"),
    "#sum": ("Drawer", "expect(described_class.new(5).sum).to eq(5)", "expect(Till.new(5).sum).to eq(5)"),
    "#twice": (
        "Wallet",
        "expect(described_class.new.twice).to eq(2)",
        "expect(described_class.new).to respond_to(:twice)",
    ),
    "#count": ("Counting", "expect(described_class.count).to eq(3)", "expect(described_class).to be_a(Module)"),
    ".count": ("Counting", "expect(described_class.count).to eq(3)", "expect(described_class).to be_a(Module)"),
    "#haunt": (
        "Ghost",
        "expect(described_class.new.haunt).to eq(:boo)",
        "expect { described_class.new.haunt }.not_to raise_error",
    ),
}


def spec(contexts: dict[str, str], top: str = "", method: str = "#add") -> tuple[str, dict[str, range]]:
    """A spec file with these contexts in the block of a method, and the lines of each."""
    lines = [*top.splitlines(), "require_relative '../purse'", "RSpec.describe Purse do", f'describe "{method}" do']
    lines += ["let(:watcher) { Watcher.new }", "let(:coin) { 1 }", "let(:purse) { described_class.new(watcher) }"]
    lines += ["subject(:result) { purse.add(coin) }"]
    places = {}
    for name, body in contexts.items():
        before = len(lines)
        lines += [f'context "when {name}" do', *body.splitlines(), "end"]
        places[name] = range(before + 1, len(lines) + 1)
    return "\n".join([*lines, "end", "end", ""]), places
