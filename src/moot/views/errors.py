"""What is said, and taken away, when the file behind the views cannot be made or written. Loaded only then."""

from __future__ import annotations

import errno
import os

import apsw

from moot.core.errors import Unavailable
from moot.private_files import EXHAUSTED, hardly_any_left, is_exhausted, too_many_open_files

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_GROWN = (apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_SHMSIZE)  # shared memory; SQLite keeps no number of why


def unavailable(path: str, error: Exception, reason: int | None = None) -> Unavailable:
    """The error to raise; `reason` is the system's number for it, where SQLite knows it."""
    if isinstance(error, OSError):
        reason = error.errno
    elif not isinstance(error, (apsw.IOError, apsw.CantOpenError)):
        reason = None  # it is of an error before
    elif reason in EXHAUSTED or hardly_any_left():
        return too_many_open_files()
    if is_exhausted(error):
        return too_many_open_files()
    if isinstance(error, apsw.FullError) or reason in _NO_ROOM or getattr(error, "extendedresult", 0) in _NOT_GROWN:
        return Unavailable(
            "disk_full",
            f"There is no room left for the views in {path}.",
            "Free space (or raise the quota) and do it again. What was acknowledged is safe in the log.",
            path=path,
        )
    return Unavailable(
        "views_unusable",
        f"The views cannot be used: {error}.",
        f"Look at the disk and the rights of {path}. What was acknowledged is safe in the log.",
    )


def leave_nothing(path: str) -> None:
    """Remove a file that nobody uses, and those beside it: on a full disk others need the room."""
    for suffix in ("", "-journal", "-wal", "-shm", ".pointer"):
        try:
            os.unlink(path + suffix)
        except OSError:
            pass  # it was not made
