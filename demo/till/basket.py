"""A basket: things and how many of each."""

from __future__ import annotations

from till.stock import price


class Basket:
    """Equal things share one line, with a count."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, name: str) -> None:
        """Put one more in; what is not for sale is refused."""
        price(name)
        self.counts[name] = self.counts.get(name, 0) + 1

    def lines(self) -> list[tuple[int, str, int]]:
        """How many, of what, for how much together."""
        return [(count, name, count * price(name)) for name, count in self.counts.items()]

    def total(self) -> int:
        """What it all costs."""
        return sum(amount for _, _, amount in self.lines())
