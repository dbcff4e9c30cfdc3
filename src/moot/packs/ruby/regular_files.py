"""Reads files of a repository that may be anything: only regular files are read, and a pipe is never waited for."""

from __future__ import annotations

import os
from stat import S_ISREG

from moot.place.private_files import read_all


class NotRegular(OSError):
    """It is a directory, a pipe, a socket or a device."""


def read_regular(path: str, largest: int) -> tuple[bytes, int]:
    """The first `largest` bytes of a file, and its mtime in nanoseconds. Raises `OSError`, also `NotRegular`."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        found = os.fstat(file)
        if not S_ISREG(found.st_mode):
            raise NotRegular(f"{path} is not a regular file")
        return read_all(file, largest), found.st_mtime_ns
    finally:
        os.close(file)
