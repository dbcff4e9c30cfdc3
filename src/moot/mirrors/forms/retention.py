"""How long entries stay in a file: a text such as `90m`, `24h` or `7d`."""

from __future__ import annotations

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86_400.0}
_DIGITS = 9


def seconds_of(policy: object) -> float | None:
    """The seconds of `90m`, `24h` or `7d`; None for anything else."""
    if not isinstance(policy, str) or policy[-1:] not in _UNITS:
        return None
    digits = policy[:-1]
    if not 0 < len(digits) <= _DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits) * _UNITS[policy[-1]] or None
