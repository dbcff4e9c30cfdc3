"""A commit of this log that was seen, kept outside of the repository, in the user's own store.

The chain shows what was changed inside of a log. It cannot show that its end was cut off, or that all of it was
replaced by another that fits in itself: for this somebody must remember where it was. A missing record is no error, nor
is one that cannot be written.
"""

from __future__ import annotations

import os
import time

from moot.core.errors import MootError
from moot.core.integrity.chain import digest_of
from moot.core.json_codec import dumps_ascii, loads
from moot.location.user_state import home, read, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.log import Archive, Log

SELDOM = 60.0  # seconds: commands that write renew the record no more often
_FOLDER = "known"


def remember_now_and_then(env: Mapping[str, str], state: str, log: Log, at: int) -> None:
    """Renew the record with the commit that ends `at`, which is on the disk, unless that was done within a minute.

    Not with the last one of the log: that may be of another process, and a loss of power may take it yet.
    """
    try:
        age = time.time() - os.stat(os.path.join(home(env), *_name(state))).st_mtime
    except OSError:
        age = SELDOM
    if not 0 <= age < SELDOM:
        remember(env, state, log.archive, at=at)


def remember(
    env: Mapping[str, str], state: str, archive: Archive, *, at: int | None = None, anew: bool = False
) -> None:
    """Renew the record. One that the log contradicts stays, as evidence, unless it is to be made `anew`."""
    try:
        position, mark = archive.tip(at)
        if mark and (anew or contradiction(env, state, archive) is None):
            said = {"workspace": archive.identity(), "position": position, "hash": mark}
            said |= {"state": state, "carried": archive.carried()}
            write(env, *_name(state), content=_text(said), sync=False)
    except (OSError, MootError):
        return


def forget(env: Mapping[str, str], state: str) -> None:
    """Remove the record, before another log is put into place: whenever that is killed, none contradicts it.

    Nor does one that came back because the power failed: the disk is waited for.
    """
    path = os.path.join(home(env), *_name(state))
    try:
        os.unlink(path)
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError:
        return  # there was none


def contradiction(env: Mapping[str, str], state: str, archive: Archive) -> str | None:
    """What the log lacks that was seen in it; None if nothing does, or if nothing is known about it."""
    known = _recorded(env, state)
    if known is None:
        return None
    path = os.path.join(home(env), *_name(state))
    if isinstance(known.get("workspace"), str) and known["workspace"] != archive.identity():
        return (
            f"history_rewritten: the log of another workspace was seen here, {known['workspace']}, so this one was put "
            f"in its place by hand or by another account (the record: {path})"
        )
    position, mark = known.get("position"), known.get("hash")
    if not isinstance(position, int) or not isinstance(mark, str) or archive.has(position, mark):
        return None
    return (
        f"history_rewritten: the commit that was seen at position {position} is not there any more, so the log was cut "
        f"off before it, or replaced by hand or by another account (the record: {path})"
    )


def _recorded(env: Mapping[str, str], state: str) -> dict[str, Any] | None:
    try:
        text = read(env, *_name(state))
        found = loads(text.decode().strip()) if text is not None else None
    except (OSError, MootError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _text(said: dict[str, Any]) -> bytes:
    return f"{dumps_ascii(said)}\n".encode()


def _name(state: str) -> tuple[str, str]:
    return _FOLDER, digest_of(os.fsencode(state)).hex()[:32]
