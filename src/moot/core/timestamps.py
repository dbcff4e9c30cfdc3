"""Dates with times, as protocols write them.

Accepts RFC 3339 and these ISO 8601 variants in extended format: no offset (read as UTC), an offset in hours or without
a colon, a comma before the fraction, no seconds. `T`, `t` or one blank separates date and time. Second 60 is a leap
second and valid only at 23:59 UTC. A date alone, a week date or words are not valid.

This module does not know the current time.
"""

from __future__ import annotations

_DAY = 86_400
_FROM_YEAR_1 = 719_163  # days to 1970-01-01
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_date_time(text: str) -> bool:
    return parse(text) is not None


def parse(text: str) -> float | None:
    """Seconds since 1970 in UTC; None if the text is not a valid date-time."""
    days = _days(text[:10])
    if days is None or text[10:11] not in ("T", "t", " "):
        return None
    clock, offset = _split_offset(text[11:])
    seconds = _seconds(clock)
    if seconds is None or offset is None:
        return None
    leap = clock[6:8] == "60"
    if leap and (seconds - 60 - offset) % _DAY != _DAY - 60:
        return None
    fraction = clock[9:18]
    return days * _DAY + seconds - offset + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)


def later(at: str, than: str) -> str:
    """The time `at`, or one millisecond after `than` if that is not earlier: a clock may stand still or go back."""
    if at > than:
        return at
    from datetime import datetime, timedelta  # imported late: this is rare

    moved = datetime.fromisoformat(than) + timedelta(milliseconds=1)
    return moved.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _number(text: str, most: int) -> int | None:
    """Two or four ASCII digits up to `most`."""
    if len(text) not in (2, 4) or not (text.isascii() and text.isdigit()):
        return None
    value = int(text)
    return value if value <= most else None


def _days(text: str) -> int | None:
    """`yyyy-mm-dd` as days since 1970-01-01."""
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        return None
    digits = text[:4] + text[5:7] + text[8:]
    if not (digits.isascii() and digits.isdigit()):
        return None
    year, month, day = int(digits[:4]), int(digits[4:6]), int(digits[6:])
    if not 1 <= month <= 12 or not day >= 1:
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > _MONTHS[month - 1] + (leap and month == 2):
        return None
    past = year - 1
    leap_days = past // 4 - past // 100 + past // 400 + (leap and month > 2)
    return past * 365 + leap_days + sum(_MONTHS[: month - 1]) + day - _FROM_YEAR_1


def _split_offset(text: str) -> tuple[str, int | None]:
    """The clock and the offset in seconds: None for a malformed one, 0 where there is none."""
    if text[-1:] in ("Z", "z"):
        return text[:-1], 0
    at = max(text.rfind("+"), text.rfind("-"))
    if at < 0:
        return text, 0
    clock, sign, offset = text[:at], text[at], text[at + 1 :]
    minutes = offset[3:] if offset[2:3] == ":" else offset[2:] or "00"
    hour, minute = _number(offset[:2], 23), _number(minutes, 59)
    if hour is None or minute is None or len(minutes) != 2:
        return clock, None
    return clock, (hour * 3600 + minute * 60) * (-1 if sign == "-" else 1)


def _seconds(clock: str) -> int | None:
    """`hh:mm`, `hh:mm:ss` or `hh:mm:ss.f` as whole seconds of the day."""
    seconds, fraction = clock[6:8] or "00", clock[8:]
    if clock[2:3] != ":" or clock[5:6] not in ("", ":") or len(clock) == 6:
        return None
    if fraction and not (fraction[0] in ".," and fraction[1:].isascii() and fraction[1:].isdigit()):
        return None
    digits = clock[:2] + clock[3:5] + seconds
    if len(digits) != 6 or not (digits.isascii() and digits.isdigit()):
        return None
    hour, minute, second = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    return hour * 3600 + minute * 60 + second if hour < 24 and minute < 60 and second <= 60 else None
