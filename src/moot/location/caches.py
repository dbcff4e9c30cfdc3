"""Small files of what was worked out before, each with a checksum over it.

A cache may be lost at any time, and one in which a single bit is wrong counts as lost.
"""

from __future__ import annotations

from moot.core.errors import Unavailable
from moot.core.json_codec import dumps_ascii, loads
from moot.private_files import read_private, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PRIME = (1 << 61) - 1  # the rest of a division by it is a checksum that needs no module: no short change keeps it


def recall(path: str) -> Any:
    """What was kept there; None if there is nothing, or not what was written, or not by us."""
    try:
        told, _, content = read_private(path).partition(b"\n")
        return loads(content.decode("ascii")) if told == _sum(content) else None
    except (OSError, ValueError, RecursionError, Unavailable):
        return None


def keep(path: str, value: Any) -> None:
    """Keep a value that JSON can say. Nothing is left of what could not be written."""
    content = dumps_ascii(value).encode("ascii")
    write_private(path, _sum(content) + b"\n" + content)


def _sum(content: bytes) -> bytes:
    return b"%x" % (int.from_bytes(content, "big") % _PRIME)
