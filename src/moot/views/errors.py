"""Errors and cleanup when a view file cannot be created or written. Imported only then."""

from __future__ import annotations

import errno

import apsw

from moot.core.errors import Unavailable
from moot.private_files import EXHAUSTED, discard, hardly_any_left, is_exhausted, too_many_open_files

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_GROWN = (apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_SHMSIZE)  # shared memory; SQLite does not keep the errno


def unavailable(path: str, error: Exception, reason: int | None = None) -> Unavailable:
    """The error to raise. `reason` is the errno, if SQLite knows it."""
    if isinstance(error, OSError):
        reason = error.errno
    elif not isinstance(error, (apsw.IOError, apsw.CantOpenError)):
        reason = None  # left from an earlier error
    elif reason in EXHAUSTED or hardly_any_left():
        return too_many_open_files()
    if is_exhausted(error):
        return too_many_open_files()
    if isinstance(error, apsw.FullError) or reason in _NO_ROOM or getattr(error, "extendedresult", 0) in _NOT_GROWN:
        return Unavailable(
            "disk_full",
            f"No space is left for the views in {path}.",
            "Free some space (or raise the quota) and try again. Acknowledged writes are safe in the log.",
            path=path,
        )
    return Unavailable(
        "views_unusable",
        f"The views cannot be used: {error}.",
        f"Check the disk and the permissions of {path}. Acknowledged writes are safe in the log.",
    )


def leave_nothing(path: str) -> None:
    """Remove an unused file and the files that SQLite keeps with it, to free space on a full disk."""
    for suffix in ("", "-journal", "-wal", "-shm", ".pointer"):
        discard(path + suffix)
