"""`python -m till tea tea bread` prints a receipt."""

from __future__ import annotations

import sys

from till.receipt import receipt

print("\n".join(receipt(*sys.argv[1:])))
