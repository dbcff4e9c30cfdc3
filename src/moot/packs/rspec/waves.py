"""Waves: changed methods in the order in which their classes depend on each other.

Knows methods only by id, class and the classes they use. How those were found is not its business.
"""

from __future__ import annotations

from moot.core.layers import layers_of
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class WaitingMethod(Record):
    """A method and the classes it needs. `order` sorts the methods of one wave."""

    method_id: str
    class_name: str
    needs: tuple[str, ...]
    order: tuple[str, int]


class Waves(Record):
    """The methods of each wave, in order, and a warning for each cycle that was cut."""

    waves: tuple[tuple[WaitingMethod, ...], ...]
    warnings: tuple[str, ...]


def waves_of(methods: Sequence[WaitingMethod]) -> Waves:
    known: Mapping[str, WaitingMethod] = {method.method_id: method for method in methods}
    found = layers_of(
        {method.method_id: method.class_name for method in methods}, {m.method_id: m.needs for m in methods}
    )
    waves = tuple(tuple(sorted((known[name] for name in layer), key=lambda m: m.order)) for layer in found.layers)
    warnings = tuple(
        f"Dependency cycle {' → '.join(cut.cycle)}: cut at {cut.node}, taken before {', '.join(cut.waits_for)}."
        for cut in found.cuts
    )
    return Waves(waves=waves, warnings=warnings)


def wave_name(number: int) -> str:
    return f"Depends on wave {number - 1}" if number else "Leaf methods"
