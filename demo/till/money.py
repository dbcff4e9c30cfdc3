"""Amounts are whole cents, so that nothing is lost to rounding."""

from __future__ import annotations


def cents(text: str) -> int:
    """`cents("4.50")` is 450."""
    whole, _, part = text.partition(".")
    return int(whole) * 100 + int(part.ljust(2, "0"))


def shown(amount: int) -> str:
    """`shown(450)` is `4.50`; less than nothing has its sign in front."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{abs(amount) // 100}.{abs(amount) % 100:02}"
