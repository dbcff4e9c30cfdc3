"""How events reference blobs: content that is stored next to the log under its SHA-256.

The payload class of an event lists the fields that do (`Payload.blobs`). A redaction lists the blobs that it removes. A
later event that references the same blob restores it.
"""

from __future__ import annotations

from moot.core.event import TOMBSTONE
from moot.core.kind import payload_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from moot.core.event import Draft, Event

REMOVED = "removed"  # the field of a redaction that lists the removed blobs
_DIGITS = 64
_HEX = frozenset("0123456789abcdef")


def is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == _DIGITS and _HEX.issuperset(value)


def named_by(event: Event | Draft, fields: Iterable[str] | None = None) -> tuple[str, ...]:
    """The digests of the blobs that an event references, in all its fields or only in these."""
    known = payload_of(event)
    if known is None or not known.blobs:
        return ()
    wanted = known.blobs if fields is None else [field for field in known.blobs if field in fields]
    return tuple(dict.fromkeys(digest for field in wanted for digest in digests_in(event.data.get(field))))


def removed_by(event: Event | Draft) -> tuple[str, ...]:
    """The digests of the blobs that a redaction removes."""
    return tuple(digests_in(event.data.get(REMOVED))) if event.type == TOMBSTONE else ()


def digests_in(value: Any) -> Iterator[str]:
    """All strings in a value, at any depth, that are a SHA-256."""
    if isinstance(value, str):
        if is_digest(value):
            yield value
    else:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        for one in inner:
            yield from digests_in(one)
