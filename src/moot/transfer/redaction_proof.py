"""Checks redacted events of an imported file against the redactions in the file and in the log.

In a file, an event without its text comes before its redaction. So the file is first read for redactions alone.
"""

from __future__ import annotations

from moot.core.integrity.blob import removed_by
from moot.core.integrity.redaction import Redacted, fault_of, is_well_formed
from moot.engine.blob_names import removed_in
from moot.log import REDACTIONS
from moot.transfer import cloudevents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, BinaryIO

    from moot.core.event import Draft, Event
    from moot.log import Shown

_TYPE = Redacted.type.encode()
_IN_MEMORY = 8 << 20  # bytes of a piped file


class RedactionProof:
    """The redactions of a file and of the log that it is imported into."""

    def __init__(self, log: Shown, lines: Iterable[bytes]) -> None:
        self.log = log
        self.removed = removed_in(log)  # blobs: the position of the redaction that removed them
        self._said: dict[int, list[dict[str, Any]]] = {}
        head = log.head()
        for position, said in log.tombstones().items():
            self._said[position] = list(said["each"])
        for raw in lines:
            event = _tombstone(raw) if _TYPE in raw else None
            if event is not None and event.position > head:
                self._said.setdefault(event.data["position"], []).append(event.data)
                self.removed |= dict.fromkeys(removed_by(event), event.position)

    def fault(self, position: int, event: Event | Draft, *, written: bool) -> str | None:
        """What is wrong with the event; None if nothing. See `moot.core.integrity.redaction.fault_of`."""
        return fault_of(event, self._said.get(position, ()), written=written)


def _tombstone(raw: bytes) -> Event | None:
    """The redaction in a line, if there is one. The import checks whether it is allowed there."""
    try:
        event = cloudevents.item(raw.decode("utf-8-sig")).event
    except (cloudevents.Bad, UnicodeDecodeError):
        return None
    fits = event.stream == REDACTIONS and event.type == Redacted.type and is_well_formed(event.data)
    return event if fits else None


def rereadable(file: BinaryIO) -> BinaryIO:
    """The same file, or a temporary copy of what comes through a pipe."""
    if file.seekable():
        return file
    from shutil import copyfileobj
    from tempfile import SpooledTemporaryFile

    kept = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (the caller closes it)
    with file:
        copyfileobj(file, kept)
    kept.seek(0)
    return kept  # type: ignore[return-value]
