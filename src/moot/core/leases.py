"""When a holder has lost its lease: the one place that judges silence.

A lease (a task, a claim on files, an agent's name, an effect that a runner performs) never ends by the clock. Its
holder keeps it while it gives signs of life. Once the holder was silent for longer than the lease's ttl, anybody who
needs the thing may end the lease by an event.
"""

from __future__ import annotations


def has_lapsed(silent_for: float | None, ttl: float) -> bool:
    """Whether this silence, in seconds, is longer than the ttl. A ttl of 0 never ends; None is unknown, so no."""
    return silent_for is not None and ttl > 0 and silent_for > ttl
