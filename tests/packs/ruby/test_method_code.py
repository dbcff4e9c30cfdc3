"""The code of a method as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.method_code import (
    assigned_values,
    calls_of,
    calls_of_classes,
    conditionals_of,
    constants_of,
    names_in,
    statements_of,
)
from moot.packs.ruby.syntax import parse

if TYPE_CHECKING:
    from moot.packs.ruby.methods import Method
    from moot.packs.ruby.syntax import RubySource

CODE = """\
class Order
  aasm do
    state :new
  end

  def pay(card)
    total = ::Prices.sum(items)
    total = @rates[:card] * total
    # not a statement
    (return :free) if total.zero?
    card.user.wallet.pay(total) do |receipt|
      Mailer.paid(receipt, at: Time.now) unless quiet?
    end
  rescue Net::Timeout
    retry
  ensure
    def inner; Hidden.call; end
  end
end
"""


def source() -> RubySource:
    found = parse(CODE.encode())
    assert not found.problems
    return found


def pay() -> Method:
    return next(one for one in declarations(source()).methods if one.name == "pay")


def test_a_method_has_the_statements_of_its_body_but_not_of_rescue_and_ensure() -> None:
    assert [one.kind for one in statements_of(pay())] == ["assignment", "assignment", "conditional", "call"]


def test_conditionals_say_whether_they_are_statements_of_their_own() -> None:
    found = [(one.conditional.form, one.top) for one in conditionals_of(pay())]
    assert found == [("if", True), ("unless", False)]


def test_calls_have_their_receivers_arguments_and_the_constant_that_the_chain_begins_with() -> None:
    found = [(one.name, one.receiver.text if one.receiver else "", one.root) for one in calls_of([pay()])]
    assert ("sum", "::Prices", "::Prices") in found
    assert ("pay", "card.user.wallet", "") in found
    assert ("paid", "Mailer", "Mailer") in found
    (paid,) = (one for one in calls_of([pay()]) if one.name == "paid")
    assert [one.name for one in paid.operands] == ["receipt"]
    assert [(key, value.text) for key, value in paid.pairs] == [("at", "Time.now")]


def test_constants_are_those_of_the_method_and_not_of_definitions_inside_it() -> None:
    assert constants_of([pay()]) == ["Prices", "Mailer", "Time", "Net::Timeout"]


def test_the_last_value_of_a_variable_counts() -> None:
    assert {name: value.text for name, value in assigned_values(pay()).items()} == {"total": "@rates[:card] * total"}


def test_names_in_an_expression_are_no_words_of_texts_and_symbols() -> None:
    total, *_ = statements_of(pay())
    assert names_in(total) == {"total", "Prices", "sum", "items"}
    assert names_in(total.replace(text='session[:now] + "cookies"')) == {"session"}


def test_calls_of_classes_are_those_outside_of_methods() -> None:
    assert calls_of_classes(source()) == {"aasm", "state"}
