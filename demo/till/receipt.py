"""The receipt: one line for each thing, the discount, and what is to be paid."""

from __future__ import annotations

from till.basket import Basket
from till.discount import discount
from till.money import shown


def receipt(*names: str) -> list[str]:
    """The lines, as they are printed."""
    basket = Basket()
    for name in names:
        basket.add(name)
    off = discount(basket.total())
    lines = [_line(f"{count} {name}", amount) for count, name, amount in basket.lines()]
    lines += [_line("discount", -off)] if off else []
    return [*lines, _line("to pay", basket.total() - off)]


def _line(what: str, amount: int) -> str:
    return f"{what:<12}{shown(amount):>8}"
