"""The whole till, from the prices to the receipt."""

from __future__ import annotations

import unittest

import till
from till.basket import Basket
from till.receipt import receipt


class TestTill(unittest.TestCase):
    def test_a_small_basket_pays_the_full_price(self) -> None:
        basket = Basket()
        basket.add("apple", 3)
        self.assertEqual(receipt(basket), ["3 apple         1.20", "to pay          1.20"])

    def test_equal_things_share_a_line_and_ten_gives_a_discount(self) -> None:
        basket = Basket()
        for name in ("cheese", "tea", "cheese"):
            basket.add(name)
        self.assertEqual([line.split()[-1] for line in receipt(basket)], ["9.00", "3.10", "-1.21", "10.89"])

    def test_the_package_says_what_it_offers(self) -> None:
        self.assertEqual(till.__all__, ["cents", "shown"])


if __name__ == "__main__":
    unittest.main()
