"""What is for sale, and at what price."""

from __future__ import annotations

from till.money import cents

PRICES = {
    "apple": cents("0.40"),
    "bread": cents("2.80"),
    "cheese": cents("4.50"),
    "tea": cents("3.10"),
}


def price(name: str) -> int:
    """The price of one; a `KeyError` for what is not for sale."""
    return PRICES[name]
