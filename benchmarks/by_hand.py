"""What moot's send is compared with: a bare insert, and an insert of the same rows by hand.

Both have the same durability as moot (WAL, synchronous=FULL; for the views NORMAL) and nothing else: they look up no
recipient, check no rule and decide nothing.
"""

from __future__ import annotations

import json
import os
import time

import apsw

import moot.logs.sqlite.queries
import moot.views.store
from moot.core.integrity.chain import START, digest_of, hash_of

_HERE = os.path.dirname(os.path.abspath(__file__))
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_WAIT_MS = 30_000


def _statements() -> dict[str, str]:
    with open(os.path.join(_HERE, "by_hand.sql"), encoding="utf-8") as file:
        parts = file.read().split("-- name: ")[1:]
    return {name.strip(): sql.strip() for name, _, sql in (part.partition("\n") for part in parts)}


_SQL = _statements()
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def connect(path: str, synchronous: str) -> apsw.Connection:
    """A connection with the same durability as moot's."""
    db = apsw.Connection(path)
    db.set_busy_timeout(_WAIT_MS)
    db.pragma("auto_vacuum", "none")  # as in moot's files
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", synchronous)
    return db


def create(directory: str) -> None:
    """Create the files: one table for the bare insert; moot's log and views with all indexes and triggers."""
    os.makedirs(directory)
    Bare(directory).close()
    log, views = connect(f"{directory}/log.db", "full"), connect(f"{directory}/views.db", "normal")
    log.execute(moot.logs.sqlite.queries.text("schema.sql"))
    with open(os.path.join(os.path.dirname(moot.views.store.__file__), "schema.sql"), encoding="utf-8") as file:
        views.execute(file.read())
    log.close()
    views.close()


class Bare:
    """An insert into one table. With many writers it takes the lock first, as it should."""

    def __init__(self, directory: str) -> None:
        self._db = connect(f"{directory}/bare.db", "full")
        self._db.execute(_SQL["bare_table"])

    def send(self, text: str) -> None:
        self._db.execute(_SQL["bare"], (text,))

    def send_in_crowd(self, text: str) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(_SQL["bare"], (text,))
        self._db.execute("COMMIT")

    def hurry(self, text: str, times: int) -> None:
        """Write this many without waiting for the disk."""
        self._db.pragma("synchronous", "off")
        for _ in range(times):
            self.send(text)
        self._db.pragma("synchronous", "full")

    def close(self) -> None:
        self._db.close()


class ByHand:
    """Writes the rows of a send: one transaction on the log, one on the views."""

    def __init__(self, directory: str) -> None:
        self._log = connect(f"{directory}/log.db", "full")
        self._views = connect(f"{directory}/views.db", "normal")

    def send(self, text: str, sender: str = "Yeats#1", to: str = "Keats") -> None:
        name, commit, at = f"m-{_word(7)}", _word(26), _now()
        data = _encode({"kind": "note", "sender": sender, "to": [to], "wants": "nothing", "text": text})
        log = self._log.execute
        log("BEGIN IMMEDIATE")
        try:
            head, stream = log(_SQL["head"]).get, f"message/{name}"
            position, digest = head + 1, digest_of(data.encode())
            before = log(_SQL["last_hash"], (head,)).get or START
            link = (position, "message:sent", 1, stream, 0, None, name, None, 0, digest.hex())
            log(_SQL["event"], (position, stream, at, sender, data, name, commit, digest))
            log(_SQL["commit"], (commit, position, hash_of(before, commit, at, sender, "python", [link])))
            log("COMMIT")
        except apsw.Error:
            log("ROLLBACK")
            raise
        said = {
            "id": name,
            "position": position,
            "thread": name,
            "kind": "note",
            "sender": sender,
            "to": [to],
            "wants": "nothing",
        }
        views = self._views.execute
        views("BEGIN IMMEDIATE")
        try:
            views(_SQL["message"], (position, commit, name, sender, _encode({**said, "text": text, "at": at})))
            views(_SQL["delivery"], (to.lower(), position, name))
            views("COMMIT")
        except apsw.Error:
            views("ROLLBACK")
            raise

    def hurry(self, text: str, times: int) -> None:
        """Write this many without waiting for the disk."""
        self._log.pragma("synchronous", "off")
        for _ in range(times):
            self.send(text)
        self._log.pragma("synchronous", "full")

    def close(self) -> None:
        self._log.close()
        self._views.close()


class Disk:
    """The cost of the disk alone: overwrite a page and flush it."""

    def __init__(self, directory: str) -> None:
        self._file = os.open(f"{directory}/page", os.O_RDWR | os.O_CREAT, 0o600)
        self.write()

    def write(self) -> None:
        os.pwrite(self._file, bytes(4096), 0)
        getattr(os, "fdatasync", os.fsync)(self._file)  # macOS has no fdatasync

    def close(self) -> None:
        os.close(self._file)


def _word(length: int) -> str:
    return "".join([_ALPHABET[byte & 31] for byte in os.urandom(length)])


def _now() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"


def differences(log: str, views: str, directory: str) -> list[str]:
    """The tables in which the last row that moot wrote differs in shape from the last row written here."""
    found = []
    pairs = ((log, "log.db", ("event", "commits")), (views, "views.db", ("message", "delivery")))
    for theirs, ours, tables in pairs:
        one, other = apsw.Connection(theirs), apsw.Connection(f"{directory}/{ours}")
        try:
            found += [table for table in tables if _shape(one, table) != _shape(other, table)]
        finally:
            one.close()
            other.close()
    return found


def _shape(db: apsw.Connection, table: str) -> list[tuple[str, int]]:
    """The types and lengths of the values in the newest row. Random values and times always have the same length."""
    by = {"commits": "last"}.get(table, "position")
    row = db.execute(f"SELECT * FROM {table} ORDER BY {by} DESC LIMIT 1").fetchall()[0]
    return [(type(value).__name__, len(value) if isinstance(value, str) else 0) for value in row]
