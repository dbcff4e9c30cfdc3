"""A record of the last commit seen in this log, kept outside the repository, in the user's state directory.

The hash chain reveals changes inside a log. It cannot reveal that the end was cut off, or that the whole log was
replaced by another valid one. The record reveals both. A missing record is not an error. Neither is one that cannot be
written.
"""

from __future__ import annotations

import os
import time

from moot.core.errors import MootError
from moot.core.integrity.chain import digest_of
from moot.core.json_codec import dumps_ascii, loads
from moot.location.user_state import home, read, write
from moot.private_files import sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.log import Archive, Log

SELDOM = 60.0  # seconds: commands that write update the record at most this often
_FOLDER = "known"


def remember_now_and_then(env: Mapping[str, str], state: str, log: Log, at: int) -> None:
    """Update the record with the commit that ends at position `at`, unless it was updated within the last minute.

    That commit is durable. The last commit of the log may be another process's and could still be lost in a power cut.
    """
    try:
        age = time.time() - os.stat(path_of(env, state)).st_mtime
    except OSError:
        age = SELDOM
    if not 0 <= age < SELDOM:
        remember(env, state, log.archive, at=at)


def remember(
    env: Mapping[str, str], state: str, archive: Archive, *, at: int | None = None, anew: bool = False
) -> None:
    """Update the record. If the log contradicts it, keep it as evidence, unless `anew` is set."""
    try:
        position, mark = archive.tip(at)
        if mark and (anew or contradiction(env, state, archive) is None):
            record = {"workspace": archive.identity(), "position": position, "hash": mark}
            record |= {"state": state, "carried": archive.transfers()}
            write(env, *_name(state), content=_text(record), sync=False)
    except (OSError, MootError):
        return


def path_of(env: Mapping[str, str], state: str) -> str:
    """The path of the record. It need not exist."""
    return os.path.join(home(env), *_name(state))


def forget(env: Mapping[str, str], state: str) -> None:
    """Remove the record before the log is replaced, so that it does not contradict the new log.

    The removal is synced, so the record does not come back after a power cut.
    """
    path = path_of(env, state)
    try:
        os.unlink(path)
        sync(os.path.dirname(path))
    except OSError:
        return  # there was no record


def contradiction(env: Mapping[str, str], state: str, archive: Archive) -> str | None:
    """How the log contradicts the record; None if it does not, or if there is no record."""
    known = _recorded(env, state)
    if known is None:
        return None
    path = path_of(env, state)
    if isinstance(known.get("workspace"), str) and known["workspace"] != archive.identity():
        return (
            f"history_rewritten: this log belongs to another workspace than the one last seen here "
            f"({known['workspace']}). It was replaced by hand or by another account (record: {path})"
        )
    position, mark = known.get("position"), known.get("hash")
    if not isinstance(position, int) or not isinstance(mark, str) or archive.has(position, mark):
        return None
    return (
        f"history_rewritten: the commit last seen at position {position} is missing. The log was truncated, or "
        f"replaced by hand or by another account (record: {path})"
    )


def _recorded(env: Mapping[str, str], state: str) -> dict[str, Any] | None:
    try:
        text = read(env, *_name(state))
        found = loads(text.decode().strip()) if text is not None else None
    except (OSError, MootError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _text(record: dict[str, Any]) -> bytes:
    return f"{dumps_ascii(record)}\n".encode()


def _name(state: str) -> tuple[str, str]:
    return _FOLDER, digest_of(os.fsencode(state)).hex()[:32]
