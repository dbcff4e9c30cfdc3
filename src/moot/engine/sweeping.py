"""Removes the files that killed processes left in a state directory.

    NAME.0123456789ab            a temporary file that was never renamed: of a cache, of the mirrors, or another
    blobs/DIGEST                 a blob that no event references (`moot.engine.blob_names`)
    presence/BOOT/~…             a presence stamp that was never renamed
    presence/BOOT/runner-….PID   the presence stamp of a runner whose process has ended
    effects/NAME                 the lock file of an effect, with no holder
    restoring-…                  the copy of a backup
    /tmp/moot-run-…, moot-tree-… copies of the files that a handler runs, and of a git index
    views-N.db                   the views of another version, unused for 30 days

It removes only files of this account with exactly these names that have not changed for a while. Commands that
write do this about once a day; read-only commands never do. What cannot be removed is tried again next time.
"""

from __future__ import annotations

import os
import time
from stat import S_ISREG

from moot.core.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.log import Log

RUN, TREE, RESTORE = "moot-run-", "moot-tree-", "restoring-"  # prefixes of temporary folders
_TEMPORARY = 8  # random letters in the names that `tempfile` makes
STAMP = "swept"  # a file whose modification time is the time of the last sweep
_HOUR, _DAY = 3_600.0, 86_400.0
_UNUSED = 30 * _DAY  # views of another version
_MOST = 5_000  # entries of a folder to inspect in one sweep
_HEX = frozenset("0123456789abcdef")
_RANDOM = 12
_WITH_DRAFTS = ("", "blobs", "cache", "mirrors")
_LOG = "log.db"  # the log manages the files with this prefix itself


def sweep(state: str, log: Log | None = None) -> int:
    """Remove leftover files. Returns how many. Blobs are removed only if `log` is given."""
    from moot.engine import blob_names
    from moot.place import locks
    from moot.place.private_files import discard, write_private
    from moot.views.file import others
    from moot.views.store import VERSION

    gone = 0
    try:
        write_private(os.path.join(state, STAMP), b"")  # first, so that other processes do not sweep as well
        gone += sum(_clean(os.path.join(state, folder), _is_draft, _HOUR) for folder in _WITH_DRAFTS)
        for boot in _folders(os.path.join(state, "presence")):
            gone += _clean(boot, _is_stamp_draft, _HOUR) + _clean(boot, _is_of_dead_runner, _DAY)
        gone += locks.sweep(os.path.join(state, locks.EFFECTS), time.time() - _HOUR)
        sweep_rooms(_temporary())
        sweep_rooms(state)
        gone += 0 if log is None else blob_names.sweep(state, log, time.time() - _DAY)
        unused = time.time() - _UNUSED
        gone += sum(discard(path) for path, written in others(state, VERSION) if written < unused)
    except (OSError, Unavailable):
        pass  # leftovers only cost disk space
    return gone


def _temporary() -> str:
    import tempfile

    return tempfile.gettempdir()


def sweep_rooms(place: str) -> None:
    """Remove the temporary folders that killed processes of this account left in `place`."""
    import shutil

    oldest, me = time.time() - _DAY, os.geteuid()
    with os.scandir(place) as items:
        left = [item for item in items if _is_room(item.name) and item.is_dir(follow_symlinks=False)]
    for item in left:
        try:
            found = item.stat(follow_symlinks=False)
        except OSError:
            continue  # another process removed it
        if found.st_uid == me and found.st_mtime < oldest:
            shutil.rmtree(item.path, ignore_errors=True)


def _is_room(name: str) -> bool:
    token = name.removeprefix(RUN).removeprefix(TREE).removeprefix(RESTORE)
    return token != name and len(token) == _TEMPORARY and token.isascii() and token.replace("_", "a").isalnum()


def _clean(folder: str, fits: Callable[[str], bool], age: float) -> int:
    from moot.place.private_files import discard

    if os.path.islink(folder) or not os.path.isdir(folder):
        return 0
    oldest, gone = time.time() - age, 0
    with os.scandir(folder) as items:
        for _, item in zip(range(_MOST), items, strict=False):
            if fits(item.name) and _is_old(item, oldest):
                gone += discard(item.path)
    return gone


def _folders(parent: str) -> list[str]:
    try:
        with os.scandir(parent) as items:
            some = [item for _, item in zip(range(_MOST), items, strict=False)]
            return [item.path for item in some if item.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _is_old(item: os.DirEntry[str], oldest: float) -> bool:
    try:
        found = item.stat(follow_symlinks=False)
    except OSError:
        return False  # another process removed it
    return S_ISREG(found.st_mode) and found.st_mtime < oldest


def _is_draft(name: str) -> bool:
    start, _, end = name.rpartition(".")
    return bool(start) and len(end) == _RANDOM and _HEX.issuperset(end) and not name.startswith(_LOG)


def _is_stamp_draft(name: str) -> bool:
    return len(name) == 1 + _RANDOM and name.startswith("~") and name[1:].isascii() and name[1:].isalnum()


def _is_of_dead_runner(name: str) -> bool:
    runner, _, pid = name.rpartition(".")
    token = runner.removeprefix("runner-")
    if token == runner or len(token) != 8 or not (pid.isascii() and pid.isdigit() and len(pid) < 10):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # a live process of another account
    return False
