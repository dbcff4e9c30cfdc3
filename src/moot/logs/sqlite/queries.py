"""The named statements of `queries.sql`, and the numbered migrations in `schema/`. It knows no connection."""

from __future__ import annotations

import os

_HERE = os.path.dirname(__file__)


def _text(*path: str) -> str:
    with open(os.path.join(_HERE, *path), encoding="utf-8") as file:
        return file.read()


def _named(text: str) -> dict[str, str]:
    pairs = (part.split("\n", 1) for part in text.split("-- name: ")[1:])
    return {name.strip(): statement.strip() for name, statement in pairs}


def named(file: str) -> dict[str, str]:
    """The statements of another file beside this one, for the few who need them."""
    return _named(_text(file))


_statements = _named(_text("queries.sql"))

HEAD = _statements["head"]
VERSION = _statements["version"]
MOVED = _statements["moved"]
COMMIT = _statements["commit"]
REQUEST = _statements["request"]
ADD_EVENT = _statements["add_event"]
ADD_COMMIT = _statements["add_commit"]
ADD_REQUEST = _statements["add_request"]
READ_ALL = _statements["read_all"]
READ_STREAM = _statements["read_stream"]
READ_ALL_3 = _statements["read_all_3"]
READ_STREAM_3 = _statements["read_stream_3"]
HASH_AT = _statements["hash_at"]
UNCHAINED = _statements["unchained"]
CHAINED = _statements["chained"]
COMMITS_UPTO = _statements["commits_upto"]
REQUESTS_ASTRAY = _statements["requests_astray"]
SCHEMA = _statements["schema"]
COMMIT_ENDING = _statements["commit_ending"]
SET_DIGEST = _statements["set_digest"]
SET_HASH = _statements["set_hash"]
GET_META = _statements["get_meta"]
SET_META = _statements["set_meta"]
PUT_META = _statements["put_meta"]
ERASE = _statements["erase"]
EXTENT = _statements["extent"]
LAST_COMMIT = _statements["last_commit"]
REWRITE = _statements["rewrite"]
INTEGRITY = _statements["integrity"]
WRITE_BACK = _statements["write_back"]


def migrations(folder: str | None = None) -> list[tuple[int, str]]:
    """Number and script of every migration, in order. The number is what `user_version` says afterwards."""
    folder = folder or os.path.join(_HERE, "schema")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".sql"))
    return [(int(name[:4]), _text(folder, name)) for name in names]
