"""Looking at one file: its whole content with a signature by which an unchanged file is known without reading it.

Never waits, never follows a link. This module does not know what the bytes mean, nor that anybody writes files.
"""

from __future__ import annotations

import os
import stat
import time

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_YOUNG_NS = 2_000_000_000  # the coarsest timestamps of a file system, as in git's index
_CALM_READS = 3


class Signature(Record):
    """What a file looked like when its content, known by digest, was read."""

    dev: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    digest: str
    taken_ns: int

    def proves(self, now: os.stat_result) -> bool:
        """Whether the content must be the same: nothing moved, and the file was not too young to tell."""
        then = (self.dev, self.inode, self.size, self.mtime_ns, self.ctime_ns)
        return then == outside(now) and self.settled

    @property
    def settled(self) -> bool:
        """Whether any later change shows in the times."""
        return self.taken_ns - max(self.mtime_ns, self.ctime_ns) >= _YOUNG_NS

    def resembles(self, path: str) -> bool:
        """Whether the file there looks the same now. Of a young one that proves nothing."""
        try:
            return (self.dev, self.inode, self.size, self.mtime_ns, self.ctime_ns) == outside(os.lstat(path))
        except OSError:
            return False


class Missing(Record):
    """There is no such file."""


class Unchanged(Record):
    """The content is the known one. The signature may be newer than the known one: it proves more."""

    signature: Signature


class Changed(Record):
    """The content is another one than the known."""

    data: bytes
    signature: Signature


class Unreadable(Record):
    """Something is there that is no mirror: a directory, a link, too large. It was left alone."""

    reason: str


Look = Missing | Unchanged | Changed | Unreadable


def read(path: str, limit: int, accepts: Callable[[int], bool]) -> Missing | Changed | Unreadable:
    """The whole content with a signature that is not newer than it. Never waits, never follows a link."""
    try:
        unfit = _unfit(os.lstat(path), limit, accepts)  # before opening: a device would notice
        if unfit:
            return Unreadable(unfit)
        fd = os.open(path, OPEN)
    except FileNotFoundError:
        return Missing()
    except OSError as error:
        return Unreadable(error.strerror or str(error))
    try:
        return _read_open(fd, limit, accepts)
    except OSError as error:
        return Unreadable(error.strerror or str(error))
    finally:
        os.close(fd)


def _read_open(fd: int, limit: int, accepts: Callable[[int], bool]) -> Changed | Unreadable:
    taken, seen, data = 0, outside(os.fstat(fd)), b""
    for _ in range(_CALM_READS):  # somebody may be writing; what is still torn afterwards is seen as such
        taken, before, data = time.time_ns(), os.fstat(fd), b""
        seen = outside(before)
        unfit = _unfit(before, limit, accepts)
        if unfit:
            return Unreadable(unfit)
        while len(data) <= limit and (chunk := os.pread(fd, before.st_size + 1, len(data))):
            data += chunk
        if outside(os.fstat(fd)) == seen:
            break
    return Changed(data, Signature(*seen, digest_of(data), taken))


def _unfit(status: os.stat_result, limit: int, accepts: Callable[[int], bool]) -> str | None:
    if stat.S_ISLNK(status.st_mode):
        return "it is a symbolic link"
    if stat.S_ISDIR(status.st_mode):
        return "it is a directory"
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if not accepts(status.st_uid):
        return f"it belongs to another account (uid {status.st_uid})"
    return f"it is larger than {limit} bytes" if status.st_size > limit else None


def outside(status: os.stat_result) -> tuple[int, int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def digest_of(data: bytes) -> str:
    try:
        from _blake2 import blake2b  # hashlib brings OpenSSL, which costs more than everything else here
    except ImportError:
        from hashlib import blake2b
    return blake2b(data, digest_size=16).hexdigest()
