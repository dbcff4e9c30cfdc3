"""Time and randomness, as one object that a test can replace.

The core is pure, so it gets these as arguments: the time of day (shown to people only), the monotonic time that leases
use, and new ids. A clock does not know about leases or agents.
"""

from __future__ import annotations

import os
import sys
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base32: no i, l, o, u
_LETTER_OF_BYTE = (_ALPHABET * 8).encode()

# Leases must not expire while the machine sleeps. CLOCK_MONOTONIC stops then on Linux, but not on macOS, where
# CLOCK_UPTIME_RAW does.
_AWAKE: int = getattr(time, "CLOCK_UPTIME_RAW", time.CLOCK_MONOTONIC)


def iso(since_1970: float) -> str:
    """Format a time as ISO 8601 in UTC, with milliseconds."""
    seconds, milliseconds = divmod(int(since_1970 * 1000), 1000)
    t = time.gmtime(seconds)
    date = f"{t.tm_year:04}-{t.tm_mon:02}-{t.tm_mday:02}"
    return f"{date}T{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02}.{milliseconds:03}Z"


def local(at: str) -> str:
    """A stored time as people read it: in the time zone of this machine, to the second. Other text stays as it is."""
    from moot.core.timestamps import parse

    seconds = parse(at)
    if seconds is None:
        return at
    try:
        t = time.localtime(seconds)
    except (OverflowError, OSError, ValueError):  # a year that the system cannot convert
        return at
    zone = t.tm_zone if t.tm_zone and t.tm_zone.isalpha() else time.strftime("%z", t)
    return f"{t.tm_year:04}-{t.tm_mon:02}-{t.tm_mday:02} {t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02} {zone}"


class Clock:
    """The system clock."""

    def wall_seconds(self) -> float:
        """Seconds since 1970. May jump."""
        return time.time()

    def wall(self) -> str:
        """The time of day in UTC, such as `2031-05-08T09:30:00.125Z`. May jump."""
        return iso(self.wall_seconds())

    def monotonic(self) -> float:
        """Seconds since boot, not counting time in suspend. Never jumps."""
        return time.clock_gettime(_AWAKE)

    def boot_id(self) -> str:
        """An id of the current boot, or `unknown` if the system has none."""
        text = _apple_boot() if sys.platform == "darwin" else _linux_boot()
        name = text.strip().lower()
        return name if name and all(letter in "0123456789abcdef-" for letter in name) else "unknown"

    def has_rested(self, path: str, seconds: float) -> bool:
        """Whether a file has not changed for this long, or does not exist."""
        try:
            return abs(time.time() - os.lstat(path).st_mtime) > seconds
        except OSError:
            return True

    def token(self, length: int) -> str:
        """A random word with 5 bits per letter."""
        return _random(length)

    def commit_id(self) -> str:
        """A word of 26 letters that sorts by time: 48 bits of milliseconds, then 80 random bits."""
        milliseconds = int(self.wall_seconds() * 1000) & (1 << 48) - 1
        return "".join([_ALPHABET[milliseconds >> shift & 31] for shift in range(45, -1, -5)]) + _random(16)


def _random(letters: int) -> str:
    return os.urandom(letters).translate(_LETTER_OF_BYTE).decode()


def _linux_boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii", errors="replace") as file:
            return file.read(64)
    except OSError:
        return ""


def _apple_boot() -> str:
    import ctypes  # slow to import, but the only way to call sysctl

    size = ctypes.c_size_t(64)
    answer = ctypes.create_string_buffer(size.value)
    ask = ctypes.CDLL(None).sysctlbyname
    failed = ask(b"kern.bootsessionuuid", answer, ctypes.byref(size), None, ctypes.c_size_t(0))
    return "" if failed else answer.value.decode("ascii", "replace")
