"""Small files of what was worked out before, each with a checksum over it.

A cache may be lost at any time, and one in which a single bit is wrong counts as lost.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PRIME = (1 << 61) - 1  # the rest of a division by it is a checksum that needs no module: no short change keeps it


def recall(path: str) -> Any:
    """What was kept there; None if there is nothing, or not what was written."""
    try:
        with open(path, "rb") as file:
            told, _, content = file.read().partition(b"\n")
        return json.loads(content) if told == _sum(content) else None
    except (OSError, ValueError):
        return None


def keep(path: str, value: Any) -> None:
    """Keep a value that JSON can say. Nothing is left of what could not be written."""
    content = json.dumps(value).encode("ascii")
    draft = f"{path}.{os.urandom(6).hex()}"
    try:
        with open(draft, "xb") as file:
            file.write(_sum(content) + b"\n" + content)
        os.replace(draft, path)
    except OSError:
        try:
            os.unlink(draft)
        except OSError:
            pass  # it was not even begun
        raise


def _sum(content: bytes) -> bytes:
    return b"%x" % (int.from_bytes(content, "big") % _PRIME)
