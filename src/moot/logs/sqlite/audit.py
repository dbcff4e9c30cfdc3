"""Checks a log against its hash chain and against moot's schema. Reads page by page and changes nothing."""

from __future__ import annotations

from contextlib import closing
from itertools import groupby

import apsw

from moot.core.event import TOMBSTONE
from moot.core.integrity import chain
from moot.core.json_codec import loads
from moot.log import REDACTIONS
from moot.logs.sqlite import file, queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.log import Progress
    from moot.logs.sqlite.database import Database

    Row = tuple[Any, ...]

_PAGE = 1000
_COMMIT = 9  # the column with its id
_IDENTITY, _HEX = 32, frozenset("0123456789abcdef")


def foreign_schema(connection: apsw.Connection) -> Iterator[str]:
    """The differences from moot's schema, each as a clause. A backup may have blobs."""
    with closing(apsw.Connection(":memory:")) as fresh:
        file.fill(fresh)
        if connection.table_exists("main", "blob"):
            fresh.execute(queries.SQL["make_blobs"])
        expected, found = _schema(fresh), _schema(connection)
    for kind, name in sorted({*expected, *found}):
        if (kind, name) not in found:
            yield f"the {kind} {name!r} is missing"
        elif (kind, name) not in expected:
            yield f"the {kind} {name!r} was not made by moot"
        elif expected.get((kind, name), found[kind, name]) != found[kind, name]:
            yield f"the {kind} {name!r} was changed"


def _schema(connection: apsw.Connection) -> dict[tuple[str, str], tuple[str, str]]:
    rows = connection.execute(queries.SQL["schema"]).fetchall()
    return {(str(kind), str(name)): (str(table), str(sql)) for kind, name, table, sql in rows}


class Audit:
    """Checks the chain up to one position."""

    def __init__(self, database: Database, upto: int, progress: Progress) -> None:
        self._database = database
        self._upto, self._progress = upto, progress
        self._changed: dict[int, str] = {}  # types of events whose data does not match its digest, by position
        self._left: dict[int, str] = {}  # by position, the digest of what the last redaction left of an event

    def problems(self) -> Iterator[str]:
        """The problems in order of position, then the events that were changed without a redaction."""
        previous, commits = chain.START, 0
        for id, found in groupby(self._rows(), lambda row: row[_COMMIT]):  # noqa: A001
            rows, commits = list(found), commits + 1
            sound, said = self._commit(previous, id, rows)
            yield from said
            self._look(rows, sound=sound)
            previous = rows[-1][-1] or b""
        for position, kind in self._changed.items():
            if position not in self._left:
                yield f"the data of {kind} at position {position} was changed"
        for position, left in self._left.items():
            if type(position) is not int or self._digest_at(position) != left:
                yield f"the event at position {position} is not what its redaction left"
        with self._database as connection:
            known = connection.execute(queries.SQL["commits_upto"], (self._upto,)).get
            astray = connection.execute(queries.SQL["requests_astray"]).fetchall()
            identity = str(connection.execute(queries.SQL["get_meta"], ("workspace",)).get)
        if len(identity) != _IDENTITY or not _HEX.issuperset(identity):
            yield "it does not name its workspace"
        if known != commits:
            yield f"{known} commits are recorded, but {commits} have events"
        for scope, key in astray:
            yield f"the key {str(key)[:80]!r} of {str(scope)[:80]!r} does not name a commit"

    def _digest_at(self, position: int) -> str:
        with self._database as connection:
            found = connection.execute(queries.SQL["chained"], (position - 1, 1)).fetchone()
        return chain.digest_of(found[13]).hex() if found else ""

    def _rows(self) -> Iterator[Row]:
        position = 0
        while position < self._upto:
            with self._database as connection:
                limit = min(_PAGE, self._upto - position)
                page: list[Row] = connection.execute(queries.SQL["chained"], (position, limit)).fetchall()
            if not page:
                return
            position = page[-1][0]
            self._progress(position, self._upto)
            yield from page

    def _commit(self, previous: bytes, id: str, rows: list[Row]) -> tuple[bool, list[str]]:  # noqa: A002
        """Whether its hash is correct, and the problems found."""
        at, by, via, mark = rows[0][10], rows[0][11], rows[0][-2], rows[0][-1]
        span = f"positions {rows[0][0]} to {rows[-1][0]}" if len(rows) > 1 else f"position {rows[0][0]}"
        if any((row[10], row[11]) != (at, by) for row in rows):
            return False, [f"the commit at {span} has several authors or times"]
        links: list[chain.Link] = [(*row[:9], (row[12] or b"").hex()) for row in rows]
        if mark is None or chain.hash_of(previous, id, at, by, via, links) != mark:
            return False, [f"the commit at {span} was changed: its hash does not match"]
        return True, []

    def _look(self, rows: list[Row], *, sound: bool) -> None:
        for row in rows:
            position, kind, stream, digest, data = row[0], row[1], row[3], row[12], row[13]
            if digest != chain.digest_of(data):
                self._changed[position] = kind
            elif sound and stream == REDACTIONS and kind == TOMBSTONE:
                said = loads(data.decode())
                self._left[said.get("position")] = said.get("rest")
