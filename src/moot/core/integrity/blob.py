"""How events name blobs: bytes that are kept beside the log under their SHA-256.

The payload class of an event says which of its fields do (`Payload.blobs`). A redaction lists those whose bytes it
removes; an event that names the same bytes later brings them back.
"""

from __future__ import annotations

from moot.core.event import TOMBSTONE
from moot.core.kind import payload_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from moot.core.event import Draft, Event

REMOVED = "removed"  # the field of a redaction that lists them
_DIGITS = 64
_HEX = frozenset("0123456789abcdef")


def is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == _DIGITS and _HEX.issuperset(value)


def named_by(event: Event | Draft, fields: Iterable[str] | None = None) -> tuple[str, ...]:
    """The digests of the blobs that an event names; only in these fields, if some are given."""
    known = payload_of(event)
    if known is None or not known.blobs:
        return ()
    wanted = known.blobs if fields is None else [field for field in known.blobs if field in fields]
    return tuple(dict.fromkeys(digest for field in wanted for digest in digests_in(event.data.get(field))))


def removed_by(event: Event | Draft) -> tuple[str, ...]:
    """The digests of the blobs that a redaction removes."""
    return tuple(digests_in(event.data.get(REMOVED))) if event.type == TOMBSTONE else ()


def digests_in(value: Any) -> Iterator[str]:
    """All texts in a value, however deep, that are a SHA-256."""
    if isinstance(value, str):
        if is_digest(value):
            yield value
    else:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        for one in inner:
            yield from digests_in(one)
