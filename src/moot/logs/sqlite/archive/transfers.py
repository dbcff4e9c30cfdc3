"""The list of the last imports into a log and restores of it, kept in its `meta` table. They are not events.

A restore replaces the file, so it copies the list: `noted` from the old log, `put` into the new one.
"""

from __future__ import annotations

from moot.core.json_codec import dumps, loads
from moot.logs.sqlite import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

_KEY = "carried"
_MOST = 100


def noted(connection: apsw.Connection) -> list[dict[str, Any]]:
    """The list, oldest first."""
    text = connection.execute(queries.SQL["get_meta"], (_KEY,)).get
    try:
        found = loads(str(text)) if text is not None else []
    except ValueError:
        return []  # not written by moot
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def put(connection: apsw.Connection, *more: dict[str, Any], before: list[dict[str, Any]] | None = None) -> None:
    """Add to the list, or replace it by `before` and these. Uses the caller's transaction, if there is one."""
    known = noted(connection) if before is None else before
    connection.execute(queries.SQL["put_meta"], (_KEY, dumps([*known, *more][-_MOST:])))
