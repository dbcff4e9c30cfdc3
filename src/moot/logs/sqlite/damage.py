"""Handles a row that cannot be read: for readers, the log ends before it. Loaded only when needed."""

from __future__ import annotations

import apsw

from moot.core.errors import Unavailable
from moot.logs.sqlite import faults, queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.core.event import Event
    from moot.logs.sqlite.database import Database

    Read = Callable[[int, int, str | None], list[Event]]

UNREADABLE = (
    ValueError,
    RecursionError,
    Unavailable,
)  # invalid UTF-8 or JSON, a wrong column type, or an error of SQLite


def before(
    read: Read, database: Database, after: int, limit: int, stream: str | None
) -> tuple[list[Event], Unavailable | None]:
    """The events before the damaged one, read one by one, and the error of that one."""
    found: list[Event] = []
    while len(found) < limit:
        try:
            page = read(after, 1, stream)
        except UNREADABLE as error:
            if isinstance(error, Unavailable) and error.code != "damaged_log":
                raise
            what = error.message if isinstance(error, Unavailable) else str(error)
            return found, faults.undecodable(
                database.path, _next(database, after, stream), f"it cannot be read ({what})"
            )
        if not page:
            break
        found += page
        after = page[-1].position
    return found, None


def _next(database: Database, after: int, stream: str | None) -> int:
    """The position of the next row."""
    if stream is not None:
        try:
            with database as connection:
                return int(connection.execute(queries.SQL["next"], (stream, after)).get)
        except (apsw.Error, Unavailable, TypeError):
            pass  # it cannot be found out
    return after + 1
