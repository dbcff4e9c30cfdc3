"""Events as rows, and the steps of an append inside its transaction: check for a duplicate and the conditions, write.

It knows the tables, but not locks, files or the bell.
"""

from __future__ import annotations

from moot.core.event import Event
from moot.core.json_codec import dumps_ascii, loads, storable
from moot.log import Conflict, Duplicate, Mismatch, not_json
from moot.logs.sqlite import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import apsw

    from moot.core.event import Commit, Draft, Key
    from moot.core.integrity.chain import Link

_FEW = 5  # streams: up to this many, one query each is faster than one query for all
# The types of the columns that are read.
_COLUMNS = (*("int", "str") * 2, "int", *("str",) * 3, *("str?",) * 3, "str", "int", "str?", "bytes")
_sound: set[tuple[type, ...]] = set()  # valid combinations of column types that were seen


def known(connection: apsw.Connection, commit: Commit, key: Key | None) -> Duplicate | Mismatch | None:
    """The result for a commit or request that is already in the log; None if it is new."""
    found = connection.execute(queries.SQL["commit"], (commit.id,)).get
    if found is not None:
        return Duplicate(*found)
    if key is None:
        return None
    found = connection.execute(queries.SQL["request"], (key.scope, key.name)).get
    if found is None:
        return None
    digest, first, last = found
    return Duplicate(first, last) if digest == key.digest else Mismatch(key.name, first)


def moved(connection: apsw.Connection, conditions: Mapping[str, int]) -> Conflict | None:
    """The first stream that no longer has the version that was read."""
    if len(conditions) <= _FEW:
        for stream, version in conditions.items():
            now = connection.execute(queries.SQL["version"], (stream,)).get
            if now != version:
                return Conflict(stream, now)
        return None
    found = connection.execute(queries.SQL["moved"], (dumps_ascii([*conditions.items()]),)).fetchone()
    return Conflict(*found) if found else None


def write(
    connection: apsw.Connection,
    head: int,
    previous: bytes,
    commit: Commit,
    conditions: Mapping[str, int],
    events: Sequence[Draft],
    data: Sequence[str],
    key: Key | None,
) -> tuple[int, bytes, tuple[str, ...]]:
    """Add the events past `head`, each chained to the one before it in its stream. The conditions hold.

    `previous` is the hash of the commit that ends there. Returns the same two for the commit that was added, and the
    digests of its events.
    """
    from moot.core.integrity.chain import digest_of, hash_of  # not needed to read

    execute = connection.execute
    versions = dict(conditions)
    position = head
    links: list[Link] = []
    for n, draft in enumerate(events):
        position += 1
        stream, text = draft.stream, data[n]
        prev = versions[stream] if stream in versions else execute(queries.SQL["version"], (stream,)).get
        versions[stream] = position
        digest = digest_of(text.encode())
        start, about = (position, draft.type, draft.v, stream, prev), (draft.cause, draft.thread, draft.pack)
        execute(queries.SQL["add_event"], (*start, commit.at, commit.by, text, *about, commit.id, n, digest))
        links.append((*start, *about, n, digest.hex()))
    mark = hash_of(previous, commit.id, commit.at, commit.by, commit.via, links)
    execute(queries.SQL["add_commit"], (commit.id, head + 1, position, commit.via, mark))
    if key is not None:
        execute(queries.SQL["add_request"], (key.scope, key.name, key.digest, head + 1, position))
    return position, mark, tuple([link[-1] for link in links])


def data_of(draft: Draft) -> str:
    """The event's data as JSON text."""
    try:
        return storable(draft.data)
    except (TypeError, ValueError, RecursionError) as error:
        raise not_json(draft.stream, str(error)) from error


def event_of(row: tuple[Any, ...]) -> Event:
    """The event of a row; the columns are in the order of its fields."""
    fields = [*row]
    types = tuple(map(type, row))
    if types not in _sound:
        _check(types)
    data = fields[7] = loads(fields[7])
    if type(data) is not dict:
        raise ValueError("its data is not a JSON object")
    fields[14] = fields[14].hex()
    return Event.in_order(fields)


def _check(types: tuple[type, ...]) -> None:
    """Check the types: in a damaged file, a column may hold anything, despite the schema."""
    for found, wanted in zip(types, _COLUMNS, strict=True):
        if found.__name__ != wanted.removesuffix("?") and not (found is type(None) and wanted.endswith("?")):
            raise ValueError(f"a column has the type {found.__name__} instead of {wanted.removesuffix('?')}")
    _sound.add(types)
