"""Small cache files, each with a checksum.

A cache may be lost at any time. A damaged cache counts as lost.
"""

from __future__ import annotations

import os

from moot.core.errors import Unavailable
from moot.core.json_codec import dumps_ascii, loads
from moot.place.private_files import check_folders, read_private, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

YOUNG = 2.0  # seconds; within one tick of the file system a file can change again and keep its signature
_FOLDER = "cache"
_PRIME = (1 << 61) - 1  # the remainder modulo this prime is a checksum that needs no import and detects short changes


def recall(path: str) -> Any:
    """The cached value; None if the cache is missing, damaged or not private."""
    try:
        checksum, _, content = read_private(path).partition(b"\n")
        return loads(content.decode("ascii")) if checksum == _sum(content) else None
    except (OSError, ValueError, RecursionError, Unavailable):
        return None


def keep(path: str, value: Any) -> None:
    """Cache a JSON value. A failed write leaves no file."""
    content = dumps_ascii(value).encode("ascii")
    write_private(path, _sum(content) + b"\n" + content)


def recall_parsed(state: str, name: str) -> Any:
    """The cached parsed form of some files of the workspace with this state directory."""
    return recall(os.path.join(state, _FOLDER, name))


def keep_parsed(state: str, name: str, value: Any) -> None:
    """Cache a parsed form. A cache that cannot be written is not an error."""
    try:
        keep(os.path.join(check_folders(state, _FOLDER, make=True), name), value)
    except (OSError, Unavailable):
        return


def signature(path: str) -> list[Any]:
    """Changes when the file changes, unless it changes twice while it is `YOUNG`."""
    found = os.stat(path)
    return [path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _sum(content: bytes) -> bytes:
    return b"%x" % (int.from_bytes(content, "big") % _PRIME)
