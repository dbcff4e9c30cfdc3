"""The sample of the protocol as real Ruby: a payment, a processor that uses it, and what changed in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.packs.rspec.repository import Repository


def method(name: str, lines: int, *body: str) -> str:
    """A method of exactly so many lines; what the body leaves is filled with assignments."""
    filler = (f"    step_{number} = {number}\n" for number in range(lines - 2 - len(body)))
    return f"  def {name}\n{''.join(filler)}{''.join(f'    {line}' + chr(10) for line in body)}  end\n"


def _padded(text: str, lines: int) -> str:
    """The text with blank lines at its end."""
    return text + "\n" * (lines - text.count("\n"))


def payment(*, before: bool = False) -> str:
    """85 lines of code and 4 methods; `validate` is on the lines 10 to 24 and `charge` on 25 to 45."""
    head = _padded("class Payment\n" + method("initialize(amount)", 4, "@amount = amount", "@currency = :eur"), 9)
    validate = method("validate", 15, "@amount.positive?")
    if before:
        return head + validate.replace("positive", "nonzero") + "end\n"
    charge = method("charge", 21, "calculate_fee + @amount")
    rest = "  private\n" + method("calculate_fee", 42, "@amount * 3 / 100")
    return head + validate + charge + rest + "end\n"


def payment_processor(*, before: bool = False) -> str:
    """180 lines of code and 8 methods; `process` is on the lines 10 to 35."""
    head = _padded("class PaymentProcessor\n" + method("initialize", 4), 9)
    process = method("process(id)", 26, "payment = Payment.find(id)", "validate_amount(payment)", "payment")
    process = process.replace("step_3 = 3", "step_3 = 0") if before else process
    private = "  private\n" + method("validate_amount(payment)", 22, "payment.positive?")
    return head + process + private + "".join(method(f"helper_{n}", 25) for n in range(5)) + "end\n"


def payments(repository: Repository) -> None:
    """A branch on which `validate` and `process` were modified, and `charge` is new."""
    repository.write("app/models/payment.rb", payment(before=True))
    repository.write("app/services/payment_processor.rb", payment_processor(before=True))
    repository.commit()
    repository.branch()
    repository.write("app/models/payment.rb", payment())
    repository.write("app/services/payment_processor.rb", payment_processor())
    repository.commit()
