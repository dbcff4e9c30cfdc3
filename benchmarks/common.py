"""Compares variants in short rounds in random order, and reports medians as rows, a table and JSON.

Each round gives one ratio, so both variants run under the same load. A row shows the median over all rounds, and its
note the spread. This module knows nothing about moot.
"""

from __future__ import annotations

import json
import math
import operator
import os
import random
import statistics
import textwrap
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

WIDTH = 120
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
}


@dataclass(frozen=True)
class Size:
    """How long to measure, and with how much data."""

    name: str
    seconds: float  # for each comparison within one process
    least: int  # minimum number of rounds
    events: int  # in the large log
    many: int  # in the very large log
    crowd_rounds: int  # rounds with thirty writers
    crowd_seconds: float
    followed: int  # events
    repeats: int  # of measurements that count instead of timing
    letters: int  # messages that each of eight processes writes to a mailbox
    emitters: tuple[int, ...]  # processes that emit an event at once
    shown: int  # events in a large file of them

    @property
    def small(self) -> int:
        """Events in the small log."""
        return min(1_000, self.events)


# SMOKE runs everything once, for the tests. Its figures mean nothing.
FULL = Size(
    "full",
    30,
    30,
    100_000,
    1_000_000,
    crowd_rounds=9,
    crowd_seconds=3,
    followed=300,
    repeats=5,
    letters=25,
    emitters=(20, 50, 100),
    shown=10_000,
)
QUICK = Size(
    "quick",
    3,
    11,
    10_000,
    20_000,
    crowd_rounds=3,
    crowd_seconds=0.5,
    followed=100,
    repeats=1,
    letters=25,
    emitters=(20,),
    shown=2_000,
)
SMOKE = Size(
    "smoke",
    0,
    2,
    200,
    300,
    crowd_rounds=1,
    crowd_seconds=0.1,
    followed=10,
    repeats=1,
    letters=3,
    emitters=(3,),
    shown=50,
)


@dataclass(frozen=True)
class Row:
    """One line of the table. `goal` is a comparison such as `>= 0.4`; None if there is no goal."""

    name: str
    value: float | None
    unit: str
    goal: str | None
    note: str

    @property
    def holds(self) -> bool | None:
        """Whether this run met the goal; None without a goal or a value."""
        if self.goal is None or self.value is None:
            return None
        sign, bound = self.goal.split()
        return _COMPARED[sign](self.value, float(bound))


@dataclass(frozen=True)
class Spread:
    """A median, and the range of the middle half of the values."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if len(values) == 1:
            return cls(values[0], values[0], values[0], 1)
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high, len(values))

    def __str__(self) -> str:
        return f"middle half {self.low:.2f} to {self.high:.2f}, rounds: {self.count}"


class Rounds:
    """The cost of each variant in each round."""

    def __init__(self) -> None:
        self._costs: dict[str, list[float]] = {}

    def add(self, variant: str, cost: float) -> None:
        self._costs.setdefault(variant, []).append(cost)

    def ratio(self, dividend: str, divisor: str) -> Spread:
        pairs = zip(self._costs[dividend], self._costs[divisor], strict=True)
        return Spread.of([a / b for a, b in pairs])

    def median(self, variant: str) -> float:
        return statistics.median(self._costs[variant])

    def total(self, variant: str) -> float:
        return sum(self._costs[variant])


def interleaved(variants: Mapping[str, Callable[[], float]], seconds: float, least: int) -> Rounds:
    """Run all variants in every round, in random order. A variant does a little work and returns its cost."""
    rounds, order = Rounds(), list(variants)
    end, done = time.monotonic() + seconds, 0
    while done < least or time.monotonic() < end:
        random.shuffle(order)
        for name in order:
            rounds.add(name, variants[name]())
        done += 1
    return rounds


def timed(act: Callable[[], object], times: int) -> Callable[[], float]:
    """A variant that calls `act` this many times. The cost is the seconds per call."""

    def burst() -> float:
        start = time.perf_counter()
        for _ in range(times):
            act()
        return (time.perf_counter() - start) / times

    return burst


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that a `share` of all values do not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def write(rows: Iterable[Row], path: str) -> None:
    """Name → value, unit, goal, holds, note."""
    content: dict[str, dict[str, Any]] = {}
    for row in rows:
        value = None if row.value is None else round(row.value, 3)
        content[row.name] = {
            "value": value,
            "unit": row.unit,
            "goal": row.goal,
            "holds": row.holds,
            "note": row.note,
        }
    draft = f"{path}.{os.getpid()}"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, ensure_ascii=False)
        file.write("\n")
    os.replace(draft, path)


def lines(row: Row) -> list[str]:
    """A row as text: the figures, with the note below."""
    verdict = {True: "holds", False: "MISSED", None: ""}[row.holds]
    value = "-" if row.value is None else f"{row.value:,.0f}" if row.unit == "messages" else f"{row.value:,.2f}"
    head = f"{row.name:<32}{value:>10} {row.unit:<20}{row.goal or '':<10}{verdict}".rstrip()
    return [head, *textwrap.wrap(row.note, WIDTH, initial_indent="    ", subsequent_indent="    ")]
