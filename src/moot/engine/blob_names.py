"""Finds the blobs that events reference, and removes unreferenced ones (a commit failed, or its process was killed).

Before a blob is removed, its digest is searched anywhere in the data of every event, including events that this version
of moot does not know: another version may need the blob. Each daily sweep reads a limited number of events. The file
`blobs/named` records how far the log was read and the digests found so far.
"""

from __future__ import annotations

import json
import os

from moot.core.errors import Unavailable, Unknown
from moot.core.integrity.blob import digests_in, is_digest, named_by, removed_by
from moot.engine.blobs import FOLDER, Blobs
from moot.log import REDACTIONS
from moot.place.private_files import read_private, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from moot.core.event import Event
    from moot.log import Log

_NOTE = "named"
_PAGE = 1000
_MOST = 50_000  # events read per sweep


class NamedBlobs:
    """The blobs that events reference. Events must be passed in log order.

    at: by digest, the position of the last event that references the blob.
    removed: by digest, the position of the redaction that removed the blob, unless a later event references it again.
    """

    def __init__(self) -> None:
        self.at: dict[str, int] = {}
        self.removed: dict[str, int] = {}

    def see(self, events: Iterable[Event]) -> None:
        for event in events:
            for digest in removed_by(event):
                self.at.pop(digest, None)
                self.removed[digest] = event.position
            for digest in named_by(event):
                self.removed.pop(digest, None)
                self.at[digest] = event.position


def removed_in(log: Log) -> dict[str, int]:
    """By digest, the position of the last redaction that removed the blob."""
    found: dict[str, int] = {}
    after = 0
    while page := log.read(after, _PAGE, REDACTIONS):
        found |= {digest: event.position for event in page for digest in removed_by(event)}
        after = page[-1].position
    return found


def bytes_of(digest: str, state: str, log: Log) -> bytes:
    """The bytes with this digest. Raises `Unknown` with the code `blob_redacted` if they were redacted."""
    try:
        return Blobs(state).get(digest)
    except Unknown:
        position = removed_in(log).get(digest)
        if position is None:
            raise
        message = f"The blob with the SHA-256 {digest} was redacted at position {position}."
        remedy = "It cannot be recovered. `moot log` shows who redacted it and why."
        raise Unknown("blob_redacted", message, remedy, sha256=digest, position=position) from None


def mentioned(events: Iterable[Event]) -> Iterator[str]:
    """Every string in these events that looks like a SHA-256."""
    return (digest for event in events for digest in digests_in(event.data))


def sweep(state: str, log: Log, oldest: float) -> int:
    """Remove the blobs that no event references and that were last put before `oldest`. Returns the number removed."""
    blobs, note = Blobs(state), os.path.join(state, FOLDER, _NOTE)
    stored = blobs.stored()
    if not stored or _has_other_logs(state):
        return 0
    position, named = _noted(note, log)
    if not any(_is_old(state, digest, oldest) for digest in stored - named):
        return 0
    left, commit = _MOST, ""
    while left > 0 and (page := log.read(position, min(_PAGE, left))):
        named.update(mentioned(page))
        position, commit, left = page[-1].position, page[-1].commit, left - len(page)
    if commit:
        record = {"position": position, "commit": commit, "named": sorted(named)}
        write_private(note, json.dumps(record).encode())
    if position < log.head() or log.handle.damage is not None:
        return 0  # continue tomorrow; events behind a damaged one may reference any blob
    return blobs.sweep(stored - named, oldest)


def _noted(note: str, log: Log) -> tuple[int, set[str]]:
    """How far the log was read, and the digests found so far. A record of another log is ignored."""
    try:
        record: Any = json.loads(read_private(note))
        position, commit, named = record["position"], record["commit"], record["named"]
        if type(position) is int and position > 0 and isinstance(named, list) and all(map(is_digest, named)):
            found = log.read(position - 1, 1)
            if found and found[0].commit == commit:
                return position, set(named)
    except (OSError, ValueError, LookupError, TypeError, Unavailable):
        pass
    return 0, set()


def _has_other_logs(state: str) -> bool:
    """Whether replaced logs are kept here. They may reference blobs that the current log does not."""
    return any(name.startswith("log-") and name.endswith(".db") for name in os.listdir(state))


def _is_old(state: str, digest: str, oldest: float) -> bool:
    try:
        return os.lstat(os.path.join(state, FOLDER, digest)).st_mtime < oldest
    except OSError:
        return False
