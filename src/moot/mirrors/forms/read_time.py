"""The time of the last read, as a program wrote it into a file."""

from __future__ import annotations

from moot.core import timestamps
from moot.engine.clock import iso


def seconds(last_read: object) -> float | None:
    """The time in seconds since 1970; None if it is not a date and time."""
    return timestamps.parse(last_read) if isinstance(last_read, str) else None


def time_of(last_read: object, before: str | None, now: str) -> str | None:
    """The time in the file, or the current time if that is in the future or before the last read."""
    found = seconds(last_read)
    if found is None:
        return None
    given = iso(found + 1e-6)  # a float may be slightly below the millisecond that was written
    return given if (before or "") <= given <= now else now
