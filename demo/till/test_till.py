"""The whole till, from the prices to the receipt."""

from __future__ import annotations

import unittest

import till
from till.receipt import receipt


class TestTill(unittest.TestCase):
    def test_a_small_basket_pays_the_full_price(self) -> None:
        assert receipt("apple", "apple") == ["2 apple         0.80", "to pay          0.80"]

    def test_equal_things_share_a_line_and_ten_gives_a_discount(self) -> None:
        amounts = [line.split()[-1] for line in receipt("cheese", "tea", "cheese")]
        assert amounts == ["9.00", "3.10", "-1.21", "10.89"]

    def test_the_package_says_what_it_offers(self) -> None:
        assert till.__all__ == ["cents", "shown"]
