"""Digests and hashes, the same on every engine. They reveal changes that were made to a log by hand.

An event's digest is that of its data as first stored. A commit's hash covers the hash of the previous commit, its own
metadata, and the metadata and digest of each of its events. It does not cover the data itself, so the chain can still
be checked after text was redacted. Both are BLAKE2b with 32 bytes.
"""

from __future__ import annotations

from moot.core.json_codec import dumps_ascii

try:
    from _blake2 import blake2b  # hashlib brings OpenSSL, which takes longer to load than an append takes
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    # position, type, v, stream, prev, cause, thread, pack, n, digest in hexadecimal digits
    Link = tuple[int, str, int, str, int, str | None, str | None, str | None, int, str]

START = b""  # in place of the hash before the first commit
_FORMAT = 1
_SIZE = 32  # bytes


def digest_of(text: bytes) -> bytes:
    """The digest of data, given as the JSON that `moot.core.json_codec.storable` makes of it, in UTF-8."""
    return blake2b(text, digest_size=_SIZE).digest()


def hash_of(previous: bytes, id: str, at: str, by: str, via: str | None, links: Sequence[Link]) -> bytes:  # noqa: A002
    """The hash of a commit. JSON keeps the parts apart, whatever they contain."""
    span = links[0][0], links[-1][0]
    text = dumps_ascii([_FORMAT, previous.hex(), id, at, by, via, *span, links])
    return blake2b(text.encode("ascii"), digest_size=_SIZE).digest()
