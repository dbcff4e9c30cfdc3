"""`python -m till tea tea bread` prints a receipt."""

from __future__ import annotations

import sys

from till.basket import Basket
from till.receipt import receipt

basket = Basket()
for name in sys.argv[1:]:
    basket.add(name)
print("\n".join(receipt(basket)))
