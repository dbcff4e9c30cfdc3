"""The event and what is said about a whole commit.

`position` orders a workspace without gaps; `prev` chains the events of one stream. A stream's version is the
position of its last event, 0 for none. Fields are only ever added; a change of meaning raises `v`.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
    """An event of the log."""

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

    @property
    def id(self) -> str:
        return f"{self.commit}.{self.n}"


class Commit(Record):
    """One atomic step: who took it, when, and under which id."""

    id: str
    at: str
    by: str


class Key(Record):
    """A caller's idempotency key: unique within `scope` (the principal), bound to the request by `digest`."""

    scope: str
    name: str
    digest: str
