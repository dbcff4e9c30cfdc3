"""Computes the hash chain of a log from before version 4, page by page, inside the transaction of the migration.

The rows of a commit are contiguous. If they are not, the log was damaged before, and `verify` reports it.
"""

from __future__ import annotations

from itertools import groupby

from moot.core.integrity import chain
from moot.logs.sqlite import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import apsw

    from moot.log import Progress

    Row = tuple[Any, ...]

_PAGE = 2000  # rows
_COMMIT = 9  # the column with its id


def compute(connection: apsw.Connection, progress: Progress) -> None:
    """Give every event its digest and every commit its hash."""
    head = int(connection.execute(queries.SQL["head"]).get)
    previous, hashes = chain.START, []
    for id, rows in groupby(_rows(connection, head, progress), lambda row: row[_COMMIT]):  # noqa: A001
        links, at, by = [], "", ""
        for position, type_, v, stream, prev, cause, thread, pack, n, _, at, by, digest in rows:  # noqa: B007
            links.append((position, type_, v, stream, prev, cause, thread, pack, n, digest.hex()))
        previous = chain.hash_of(previous, id, at, by, None, links)
        hashes.append((previous, id))
        if len(hashes) >= _PAGE:
            connection.executemany(queries.SQL["set_hash"], hashes)
            hashes = []
    connection.executemany(queries.SQL["set_hash"], hashes)


def _rows(connection: apsw.Connection, head: int, progress: Progress) -> Iterator[Row]:
    """The metadata of every event and its digest. The digests are stored page by page."""
    position = 0
    page: list[Row]
    while page := connection.execute(queries.SQL["unchained"], (position, _PAGE)).fetchall():
        position = page[-1][0]
        rows = [(*row[:-1], chain.digest_of(row[-1])) for row in page]
        connection.executemany(queries.SQL["set_digest"], [(row[-1], row[0]) for row in rows])
        progress(position, head)
        yield from rows
