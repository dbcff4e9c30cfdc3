"""Reads a file, with a signature that later shows that the file is unchanged without reading it again.

Never blocks and never follows a link. This module does not know what the bytes mean, and writes nothing.
"""

from __future__ import annotations

import os
import stat
import time

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_YOUNG_NS = 2_000_000_000  # the coarsest timestamps of a file system, as in git's index
_TRIES = 3
_CHUNK = 4096
_BLOCK = 1 << 16
_SIZE = 16  # bytes of a digest


class Signature(Record):
    """Size, times and digest of a file when it was read."""

    dev: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    digest: str
    taken_ns: int

    @property
    def settled(self) -> bool:
        """Whether any later change of the file changes its times, too. A young file can change within one tick."""
        return self.taken_ns - max(self.mtime_ns, self.ctime_ns) >= _YOUNG_NS

    def resembles(self, path: str) -> bool:
        """Whether the file at `path` has this size and these times. If `settled`, it has the same content."""
        try:
            return (self.dev, self.inode, self.size, self.mtime_ns, self.ctime_ns) == outside(os.lstat(path))
        except OSError:
            return False  # reading it gives the reason


class Missing(Record):
    """The file does not exist."""


class Unchanged(Record):
    """The content is the known one. The signature may be newer, and so prove more."""

    signature: Signature


class Changed(Record):
    """The content differs from the known one, or nothing was known."""

    data: bytes
    signature: Signature


class Unreadable(Record):
    """Not a usable file: a directory, a link, too large. It was left alone."""

    reason: str


Look = Missing | Unchanged | Changed | Unreadable


def read(path: str, limit: int, accepts: Callable[[int], bool]) -> Missing | Changed | Unreadable:
    """The whole content, with a signature that is not newer than the content."""
    try:
        if unfit := _unfit(os.lstat(path), limit, accepts):  # before opening: a device would notice
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


def _read_open(fd: int, limit: int, accepts: Callable[[int], bool], tries: int = _TRIES) -> Changed | Unreadable:
    """Read the content, again if the file changes meanwhile. If it still does, the content may be torn."""
    taken, before, data = time.time_ns(), os.fstat(fd), b""
    if unfit := _unfit(before, limit, accepts):
        return Unreadable(unfit)
    while len(data) <= limit and (chunk := os.pread(fd, max(before.st_size + 1 - len(data), _CHUNK), len(data))):
        data += chunk
    seen = outside(before)
    if tries > 1 and outside(os.fstat(fd)) != seen:
        return _read_open(fd, limit, accepts, tries - 1)
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
    """A digest of the content. That of a large one is taken from the digests of its blocks."""
    try:
        from _blake2 import blake2b  # hashlib brings OpenSSL, which costs more than everything else here
    except ImportError:
        from hashlib import blake2b
    if len(data) <= _BLOCK:
        return blake2b(data, digest_size=_SIZE).hexdigest()
    return blake2b(b"".join(_block_digests(data, blake2b)), digest_size=_SIZE, person=b"blocks").hexdigest()


_last: tuple[bytes, list[bytes]] = b"", []  # the last large content, and the digests of its blocks


def _block_digests(data: bytes, hashed: Callable[..., Any]) -> list[bytes]:
    """The digest of each block. One sync reads and writes a file several times with few changes: only those count."""
    global _last  # noqa: PLW0603 (replaced as a whole, so threads do not disturb each other)
    (before, known), found = _last, []
    for n, start in enumerate(range(0, len(data), _BLOCK)):
        block = data[start : start + _BLOCK]
        same = before.startswith(block, start) and (len(block) == _BLOCK or len(data) == len(before))
        found.append(known[n] if same else hashed(block, digest_size=_SIZE).digest())
    _last = data, found
    return found
