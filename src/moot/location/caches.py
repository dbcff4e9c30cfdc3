"""Small cache files, each with a checksum.

A cache may be lost at any time. A damaged cache counts as lost.
"""

from __future__ import annotations

from moot.core.errors import Unavailable
from moot.core.json_codec import dumps_ascii, loads
from moot.private_files import read_private, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


def _sum(content: bytes) -> bytes:
    return b"%x" % (int.from_bytes(content, "big") % _PRIME)
