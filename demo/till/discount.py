"""Ten per cent off, from 10.00 upwards."""

from __future__ import annotations

from till.money import cents

FROM = cents("10")


def discount(total: int) -> int:
    """What is taken off a total."""
    return total // 10 if total >= FROM else 0
