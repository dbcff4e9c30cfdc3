"""A till: what things cost, what is in the basket, what the receipt says."""

from till.money import cents, shown

__all__ = ["cents", "shown"]
