"""Moments as people write them: a date, a date with a time, or how long ago."""

from __future__ import annotations

from moot.core import timestamps
from moot.settings import seconds


def moment(text: str, now: float) -> float | None:
    """Seconds since 1970; None for what is no moment. A date alone is its beginning, in UTC.

    A bare number is none: it could be seconds as well as a position of the log.
    """
    said = text.strip()
    if said.isdigit():
        return None
    ago = seconds(said.removesuffix("ago").strip())
    if ago is not None:
        return now - ago
    found = timestamps.parse(said)
    return timestamps.parse(f"{said}T00:00:00Z") if found is None and len(said) == len("2031-05-08") else found
