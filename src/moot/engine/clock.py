"""Time and chance, as one object that a test can replace.

Everything that the core takes as an argument because it is not pure comes from here: the time of day (for
people only), the time that leases are judged by, and ids. A clock knows nothing of leases or agents.
"""

from __future__ import annotations

import os
import sys
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base32: no i, l, o, u
_LETTER_OF_BYTE = (_ALPHABET * 8).encode()

# Leases must not run while the machine sleeps. Linux's CLOCK_MONOTONIC stops then; Apple's does not, but this one does.
_AWAKE: int = getattr(time, "CLOCK_UPTIME_RAW", time.CLOCK_MONOTONIC)


_last = (-1, "")  # the second that was written last, and how


def iso(since_1970: float) -> str:
    """A moment in UTC, ISO 8601 with milliseconds."""
    global _last  # noqa: PLW0603 (one pair, replaced as a whole)
    seconds, milliseconds = divmod(int(since_1970 * 1000), 1000)
    known, text = _last
    if seconds != known:
        t = time.gmtime(seconds)
        text = f"{t.tm_year:04}-{t.tm_mon:02}-{t.tm_mday:02}T{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02}"
        _last = seconds, text
    return f"{text}.{milliseconds:03}Z"


class Clock:
    """The real one."""

    def wall_seconds(self) -> float:
        """Seconds since 1970, as the machine believes. It may jump."""
        return time.time()

    def wall(self) -> str:
        """The time of day in UTC, such as `2031-05-08T09:30:00.125Z`. It may jump."""
        return iso(self.wall_seconds())

    def monotonic(self) -> float:
        """Seconds since boot, without those that the machine was suspended. It never jumps."""
        return time.clock_gettime(_AWAKE)

    def boot_id(self) -> str:
        """Names this boot of the machine; `unknown` where nothing does."""
        said = _apple_boot() if sys.platform == "darwin" else _linux_boot()
        name = said.strip().lower()
        return name if name and all(letter in "0123456789abcdef-" for letter in name) else "unknown"

    def has_rested(self, path: str, seconds: float) -> bool:
        """Whether nobody has changed a file for so long, or there is none."""
        try:
            return abs(time.time() - os.lstat(path).st_mtime) > seconds
        except OSError:
            return True

    def token(self, length: int) -> str:
        """A random word, 5 bits a letter."""
        return _random(length)

    def commit_id(self) -> str:
        """A word of 26 letters that sorts by time: 48 bits of milliseconds, then 80 random ones."""
        return _ten_letters(int(self.wall_seconds() * 1000) & (1 << 48) - 1) + _random(16)


_last_letters = (-1, "")  # the upper bits of the number that was written last, and how


def _ten_letters(number: int) -> str:
    global _last_letters  # noqa: PLW0603 (one pair, replaced as a whole)
    upper, text = _last_letters
    if number >> 10 != upper:
        upper = number >> 10
        text = "".join([_ALPHABET[upper >> shift & 31] for shift in range(35, -1, -5)])
        _last_letters = upper, text
    return text + _ALPHABET[number >> 5 & 31] + _ALPHABET[number & 31]


def _random(letters: int) -> str:
    return os.urandom(letters).translate(_LETTER_OF_BYTE).decode()


def _linux_boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii", errors="replace") as file:
            return file.read(64)
    except OSError:
        return ""


def _apple_boot() -> str:
    import ctypes  # slow to import, and the only way to ask

    size = ctypes.c_size_t(64)
    answer = ctypes.create_string_buffer(size.value)
    ask = ctypes.CDLL(None).sysctlbyname
    failed = ask(b"kern.bootsessionuuid", answer, ctypes.byref(size), None, ctypes.c_size_t(0))
    return "" if failed else answer.value.decode("ascii", "replace")
