"""Blobs in a backup: an additional table, so that a backup is one file. A log itself has no such table.

A backup without the table is valid: its log references no blobs, or an earlier version of moot made it.
"""

from __future__ import annotations

import apsw

from moot.logs.sqlite import faults, queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.log import BlobPieces


def add(path: str, blobs: Iterable[BlobPieces]) -> None:
    """Put these blobs into the backup, all of them or none. It must be synced afterwards."""
    sql = queries.named("backup.sql")
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        with connection:
            for number, (digest, pieces) in enumerate(blobs):
                if number == 0:
                    connection.execute(sql["make"])
                connection.executemany(sql["put"], _rows(digest, pieces))
    except apsw.Error as error:
        raise faults.of_sqlite(error, path, connection.system_errno) or error from error
    finally:
        connection.close()


def _rows(digest: str, pieces: Iterable[bytes]) -> Iterator[tuple[str, int, bytes]]:
    yield digest, 0, b""  # a blob may be empty
    for number, piece in enumerate(pieces, 1):
        yield digest, number, piece
