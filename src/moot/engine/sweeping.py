"""Taking away what killed processes have left in a state directory.

    NAME.0123456789ab            a draft that did not get its name: of a cache, of what the mirrors know, of any file
    quarantine/.DIGEST.PID       the same of bytes that could not be read, by earlier versions
    blobs/DIGEST                 bytes that no event names (`moot.engine.blob_names`)
    past/draft-…                 a snapshot that nobody finished
    presence/BOOT/~…             a first sign of life that did not get its name
    presence/BOOT/runner-….PID   the sign of life of a runner whose process is gone
    effects/NAME                 the lock of an effect that nobody holds
    verify-PID                   what a verification has folded
    /tmp/moot-run-…, moot-tree-… copies of what a handler runs, and of a git index
    views-…, search-…            generations and versions that nobody uses (`moot.views.leftovers`)

Only what belongs to this account, by its exact name, and only what nobody has touched for an hour, or a day. It is done
about once a day, by a command that writes, never by a read-only one. What cannot be removed stays for the next time.
"""

from __future__ import annotations

import os
import time
from stat import S_ISREG

from moot.core.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.log import Shown

RUN, TREE = "moot-run-", "moot-tree-"  # folders among the temporary files
_TEMPORARY = 8  # random letters, as `tempfile` makes names
STAMP = "swept"  # the time of its last change says when it was done
_HOUR, _DAY = 3_600.0, 86_400.0
_MOST = 5_000  # entries of a folder that are looked at in one go
_HEX = frozenset("0123456789abcdef")
_RANDOM = 12
_DIGEST = 64
_WITH_DRAFTS = ("", "blobs", "cache", "mirrors", "quarantine")
_VERIFICATION = "verify-"  # and the number of a process
_LOG = "log.db"  # whatever begins so is the log's own affair


def sweep(state: str, log: Shown | None = None) -> int:
    """Remove what was left. How many files it were. Only the log says which blobs are named."""
    from moot.engine import blob_names, runners
    from moot.private_files import write_private
    from moot.views import leftovers, search, store

    gone = 0
    try:
        write_private(os.path.join(state, STAMP), b"")  # first: others need not do the same beside us
        gone += sum(_clean(os.path.join(state, folder), _is_draft, _HOUR) for folder in _WITH_DRAFTS)
        gone += _clean(os.path.join(state, "quarantine"), _is_quarantine_draft, _HOUR)
        gone += _clean(os.path.join(state, "past"), _is_snapshot_draft, _HOUR)
        for boot in _folders(os.path.join(state, "presence")):
            gone += _clean(boot, _is_stamp_draft, _HOUR) + _clean(boot, _is_of_dead_runner, _DAY)
        gone += runners.sweep(state, time.time() - _HOUR)
        sweep_verifications(state)
        sweep_rooms(_temporary())
        gone += 0 if log is None else blob_names.sweep(state, log, time.time() - _DAY)
        for kind, version in ((store.Store.kind, store.VERSION), (search.Index.kind, search.VERSION)):
            leftovers.sweep(state, kind, version)
    except (OSError, Unavailable):
        pass  # what is left costs room and nothing else
    return gone


def _temporary() -> str:
    import tempfile

    return tempfile.gettempdir()


def sweep_rooms(place: str) -> None:
    """Remove the folders that killed processes of this account have left there. Only what has our names."""
    import shutil

    oldest, me = time.time() - _DAY, os.geteuid()
    with os.scandir(place) as items:
        left = [item for item in items if _is_room(item.name) and item.is_dir(follow_symlinks=False)]
    for item in left:
        try:
            found = item.stat(follow_symlinks=False)
        except OSError:
            continue  # another was faster
        if found.st_uid == me and found.st_mtime < oldest:
            shutil.rmtree(item.path, ignore_errors=True)


def _is_room(name: str) -> bool:
    token = name.removeprefix(RUN).removeprefix(TREE)
    return token != name and len(token) == _TEMPORARY and token.isascii() and token.replace("_", "a").isalnum()


def sweep_verifications(state: str) -> None:
    """Remove what killed verifications of earlier versions have left. They have all texts."""
    for name in os.listdir(state):
        pid = name.removeprefix(_VERIFICATION)
        if not name.startswith(_VERIFICATION) or not pid.isdigit():
            continue
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            import shutil

            shutil.rmtree(os.path.join(state, name), ignore_errors=True)
        except OSError:
            continue  # somebody else's, and alive


def _clean(folder: str, fits: Callable[[str], bool], age: float) -> int:
    from moot.views.leftovers import real_directory

    if not real_directory(folder):
        return 0
    oldest, gone = time.time() - age, 0
    with os.scandir(folder) as items:
        for _, item in zip(range(_MOST), items, strict=False):
            if fits(item.name) and _is_old(item, oldest):
                gone += _removed(item.path)
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
        return False  # another was faster
    return S_ISREG(found.st_mode) and found.st_mtime < oldest


def _removed(path: str) -> int:
    try:
        os.unlink(path)
    except OSError:
        return 0
    return 1


def _is_draft(name: str) -> bool:
    start, _, end = name.rpartition(".")
    return bool(start) and len(end) == _RANDOM and _HEX.issuperset(end) and not name.startswith(_LOG)


def _is_quarantine_draft(name: str) -> bool:
    dot, digest, pid = (name[:1], *name[1:].partition(".")[::2])
    return dot == "." and len(digest) == _DIGEST and _HEX.issuperset(digest) and pid.isascii() and pid.isdigit()


def _is_snapshot_draft(name: str) -> bool:
    word, _, rest = name.partition("-")
    token, dash, position = rest.partition("-")
    whole = not dash or (position.isascii() and position.isdigit())
    return word == "draft" and len(token) == _RANDOM and _HEX.issuperset(token) and whole


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
        return False  # somebody else's, and alive
    return False
