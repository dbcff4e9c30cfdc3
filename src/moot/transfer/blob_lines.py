"""Blobs in an export: lines before the commit that names them, each a CloudEvents envelope with a piece of a blob.

    {"specversion": "1.0", "type": "moot.blob", "subject": "blob/DIGEST", "mootn": 0, "mootlast": true, …}

So an import stores a blob before the commit, and refuses a blob that the next commit does not name.
"""

from __future__ import annotations

from moot.core.errors import MootError
from moot.core.integrity.blob import is_digest, named_by
from moot.core.record import Record
from moot.engine.blob_names import NamedBlobs, removed_in
from moot.engine.blobs import LARGEST
from moot.transfer import cloudevents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from moot.core.event import Event
    from moot.engine.blobs import Blobs, BlobWriter
    from moot.log import Shown

_TYPE = "moot.blob"
_STREAM = "blob/"
_HINT = '"data_base64"'
_MOST = 1 << 30  # bytes of all blobs before one commit


class Piece(Record):
    """A part of a blob, from one line."""

    digest: str
    number: int
    last: bool
    data: bytes
    source: str


def piece_of(text: str) -> Piece | None:
    """The piece of a blob in a line; None if the line contains something else. Raises `cloudevents.Bad`."""
    if _HINT not in text:
        return None
    found = cloudevents.parsed(text)
    if found.get("type") != _TYPE:
        return None
    from base64 import b64decode

    digest, number, last = str(found.get("subject")).removeprefix(_STREAM), found.get("mootn"), found.get("mootlast")
    if not is_digest(digest) or type(number) is not int or last not in (None, True):
        raise cloudevents.Bad("it is not a valid piece of a blob")
    try:
        data = b64decode(str(found.get("data_base64")), validate=True)
    except ValueError:
        raise cloudevents.Bad("`data_base64` is not base64") from None
    return Piece(digest=digest, number=number, last=bool(last), data=data, source=str(found.get("source")))


class BlobExport:
    """The blobs that exported events name, each once. `lost` is called for a blob that cannot be read."""

    def __init__(self, log: Shown, blobs: Blobs, lost: Callable[[MootError], None]) -> None:
        self._blobs, self._lost = blobs, lost
        self._source = cloudevents.source_of(log.archive.identity())
        self._removed = removed_in(log)
        self.sent: set[str] = set()

    def named_by(self, events: Iterable[Event]) -> list[str]:
        """The digests that these events name, without redacted blobs and those that were already exported."""
        found = {
            digest: None
            for event in events
            for digest in named_by(event)
            if digest not in self.sent and self._removed.get(digest, 0) < event.position
        }
        return list(found)

    def envelopes(self, digest: str) -> Iterator[dict[str, Any]]:
        from base64 import b64encode

        self.sent.add(digest)
        try:
            pieces = self._blobs.pieces(digest)
        except MootError as error:
            self._lost(error)
            return
        piece, number = next(pieces, b""), 0
        while True:
            following = next(pieces, None)
            found = {
                "specversion": cloudevents.SPEC,
                "id": f"{digest}.{number}",
                "source": self._source,
                "type": _TYPE,
                "subject": f"{_STREAM}{digest}",
                "datacontenttype": "application/octet-stream",
                "mootn": number,
            }
            found |= {"mootlast": True} if following is None else {}
            yield {**found, "data_base64": b64encode(piece).decode()}
            if following is None:
                return
            piece, number = following, number + 1


class BlobImport:
    """Stores the blobs of an imported file. Raises `cloudevents.Bad`."""

    def __init__(self, blobs: Blobs, removed: dict[str, int], *, dry_run: bool) -> None:
        self._blobs, self._removed, self._dry_run = blobs, removed, dry_run
        self._named = NamedBlobs()
        self._writing: BlobWriter | None = None
        self._current = ("", 0)  # the digest of the unfinished blob, and the number of its next piece
        self._waiting: dict[str, int] = {}  # complete blobs that the next commit must name, and their sizes
        self._source = ""
        self._digest: Any = None
        self._size = 0
        self._seen: set[str] = set()
        self.brought = 0

    def take(self, piece: Piece, last: int) -> None:
        """Store a piece that comes after the event at position `last`."""
        if self._current[0] == "":
            self._begin(piece, last)
        if (piece.digest, piece.number) != self._current or piece.source != self._source:
            raise cloudevents.Bad("it does not continue the blob of the previous line")
        self._size += len(piece.data)
        if self._size > LARGEST or self._size + sum(self._waiting.values()) > _MOST:
            raise cloudevents.Bad(f"a blob may have {LARGEST} bytes, and all blobs before a commit {_MOST}")
        self._digest.update(piece.data)
        if self._writing is not None:
            self._writing.write(piece.data)
        self._current = (piece.digest, piece.number + 1)
        if piece.last:
            self._end(piece.digest)

    def _begin(self, piece: Piece, last: int) -> None:
        from hashlib import sha256

        self._current, self._source, self._digest, self._size = (piece.digest, 0), piece.source, sha256(), 0
        redacted = self._removed.get(piece.digest, 0) > last  # the commit that names it comes right after `last`
        if not self._dry_run and not redacted and self._blobs.fault(piece.digest) is not None:
            self._writing = self._blobs.begin()

    def _end(self, digest: str) -> None:
        if self._digest.hexdigest() != digest:
            raise cloudevents.Bad("the blob does not match its digest")
        if self._writing is not None:
            self._writing.keep(digest)
            self.brought += 1
        self.close()
        self._waiting[digest] = self._size
        self._seen.add(digest)
        self._current = ("", 0)

    def commit(self, events: list[Event], source: str) -> None:
        """Check that a complete commit names the blobs before it."""
        if self._current[0]:
            raise cloudevents.Bad("the blob before it is incomplete")
        if self._waiting:
            named = {digest for event in events for digest in named_by(event)}
            if not named.issuperset(self._waiting) or source != self._source:
                raise cloudevents.Bad("it does not name the blob before it")
            self._waiting.clear()
        self._named.see(events)

    def lacking(self) -> tuple[str, ...]:
        """The blobs that events of the file name, and that are neither in the file nor here."""
        stored = self._blobs.stored() | self._seen
        named = (digest for digest, at in self._named.at.items() if self._removed.get(digest, 0) < at)
        return tuple(sorted(digest for digest in named if digest not in stored))

    def close(self) -> None:
        if self._writing is not None:
            self._writing.close()
            self._writing = None
