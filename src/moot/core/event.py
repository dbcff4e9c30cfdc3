"""Events and commits.

`position` orders a workspace without gaps; `prev` chains the events of one stream. A stream's version is the position
of its last event, or 0 if it has none. Fields are only ever added; a change of meaning raises `v`.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TOMBSTONE = "event:redacted"  # the type of the event that redacts another one; see `moot.core.integrity.redaction`


class Draft(Record):
    """An event that has been decided and not yet appended."""

    stream: str
    type: str
    data: dict[str, Any]
    v: int = 1
    cause: str | None = None
    thread: str | None = None
    pack: str | None = None


class Event(Record):
    """An event of the log.

    via: the source of its commit (see `Commit`).
    digest: of the data as first stored (`moot.core.integrity.chain`).
    """

    position: int
    type: str
    v: int
    stream: str
    prev: int
    at: str
    by: str
    data: dict[str, Any]
    cause: str | None
    thread: str | None
    pack: str | None
    commit: str
    n: int
    via: str | None = None
    digest: str | None = None

    @property
    def id(self) -> str:
        return f"{self.commit}.{self.n}"


class Commit(Record):
    """One atomic change: its id, time, author and source.

    via: `cli`, `python`, `file PATH` (written into that file) or `handler NAME` (sent by that handler of moot.toml).
    """

    id: str
    at: str
    by: str
    via: str | None = None


class Key(Record):
    """A caller's idempotency key: unique within `scope` (the principal), bound to the request by `digest`."""

    scope: str
    name: str
    digest: str
