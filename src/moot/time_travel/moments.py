"""Parses moments: a date, a date with a time, or how long ago."""

from __future__ import annotations

from moot.core import timestamps
from moot.settings import seconds


def moment(text: str, now: float) -> float | None:
    """Seconds since 1970; None if the text is not a moment. A date alone means its start, in UTC.

    A bare number is not a moment: it could be seconds or a position of the log.
    """
    text = text.strip()
    if text.isdigit():
        return None
    ago = seconds(text.removesuffix("ago").strip())
    if ago is not None:
        return now - ago
    found = timestamps.parse(text)
    return timestamps.parse(f"{text}T00:00:00Z") if found is None and len(text) == len("2031-05-08") else found
