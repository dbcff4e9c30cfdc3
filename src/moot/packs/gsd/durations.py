"""Durations of the protocol: how long a task took (`15min`, `1h30min`, `45s`), and how long events stay (`24h`).

Pure. Functions that read answer None for what is not a duration.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_UNITS = (("h", 3600), ("min", 60), ("s", 1))  # the largest first
_KEPT = {"m": 60, "h": 3600, "d": 86_400}
_DIGITS = 9


def seconds(text: Any) -> float | None:
    """The length of `15min`, `1h30min` or `45s`: each unit at most once, the largest first."""
    if not isinstance(text, str):
        return None
    rest, found = text, 0.0
    for unit, size in _UNITS:
        digits = _leading(rest)
        if digits and rest[len(digits) :].startswith(unit) and not _goes_on(rest[len(digits) + len(unit) :]):
            found += float(digits) * size
            rest = rest[len(digits) + len(unit) :]
    return found if text and not rest else None


def spelled(length: float) -> str:
    """A length in seconds in the form of the protocol, to the second: `1h30min`, `0s`."""
    left, text = max(round(length), 0), ""
    for unit, size in _UNITS:
        number, left = divmod(left, size)
        text += f"{number}{unit}" if number else ""
    return text or "0s"


def retention(text: Any) -> float | None:
    """The seconds of a retention policy: a whole number from 1 with `m`, `h` or `d`."""
    if not isinstance(text, str):
        return None
    digits, unit = text[:-1], text[-1:]
    if unit not in _KEPT or not 0 < len(digits) <= _DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    return float(int(digits) * _KEPT[unit]) or None


def _leading(text: str) -> str:
    """The number that the text begins with, at most with one fraction."""
    whole = _digits(text)
    if not whole:
        return ""
    fraction = _digits(text[len(whole) + 1 :]) if text[len(whole) : len(whole) + 1] == "." else ""
    return f"{whole}.{fraction}" if fraction else whole


def _digits(text: str) -> str:
    end = next((n for n, letter in enumerate(text) if not (letter.isascii() and letter.isdigit())), len(text))
    return text[:end] if end <= _DIGITS else ""


def _goes_on(rest: str) -> bool:
    """Whether a unit is only the beginning of a longer word."""
    return bool(rest) and not rest[0].isdigit()
