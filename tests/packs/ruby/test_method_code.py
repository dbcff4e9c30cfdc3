"""The code of a method as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.method_code import assigned_values, constants_of
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


def test_constants_are_those_of_the_method_and_not_of_definitions_inside_it() -> None:
    assert constants_of([pay()]) == ["Prices", "Mailer", "Time", "Net::Timeout"]


def test_the_last_value_of_a_variable_counts() -> None:
    assert {name: value.text for name, value in assigned_values(pay()).items()} == {"total": "@rates[:card] * total"}
