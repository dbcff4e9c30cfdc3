"""The settings of a workspace: `moot.toml` in the root of the main worktree, one file for all worktrees.

If the main worktree has no such file, the one in the current worktree is used. A bare repository has it in its git
directory. Reading TOML is slow, so the parsed settings are cached by the file's signature. Only
`moot.place.settings.parse` knows what the file may contain. It is loaded only when the cache is stale.
"""

from __future__ import annotations

import os
import time
from stat import S_ISREG

from moot.core.errors import Unavailable
from moot.core.record import Record
from moot.place import MAIN
from moot.place.gitdir import read
from moot.place.trust import check_author

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.place import Place

FILE = "moot.toml"
_CACHE = "settings.json"

_SCHEMA = 5  # increase it when a field, a default or a limit changes: older caches are then stale
_LARGEST = 1 << 20
_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Settings(Record):
    """The settings and their defaults. Durations are in seconds."""

    packs: tuple[str, ...] = ()
    task_ttl: float = 1800.0  # of silence
    task_attempts: int = 3
    task_review: bool = True
    task_lifecycle: str = "core"
    task_receipt: bool = False  # whether the core lifecycle requires receipts
    claim_ttl: float = 1800.0
    claim_scope: str = "workspace"  # or "worktree"
    message_limit: int = 1 << 20  # bytes
    mirror_torn_after: float = 5.0
    handlers: tuple[Mapping[str, Any], ...] = ()  # fields of `moot.core.handler.Handler`
    pack_settings: Mapping[str, Mapping[str, Any]] = {}  # by pack, as written in [pack.NAME]; the pack checks them
    runs: Mapping[str, Mapping[str, Mapping[str, Any]]] = {}  # commands of agents, by pack and stage: as `handlers`


def load(place: Place, *, keep: bool = True) -> Settings:
    """The settings for a place. Raises `Usage` with every problem in the file.

    `keep`: write the parsed settings to the cache.
    """
    path = source(place)
    if path is None:
        return Settings()
    from moot.place import caches

    try:
        for follow in (False, True):  # check the author of a symbolic link and of its target
            check_author(place, path, os.stat(path, follow_symlinks=follow).st_uid)
        signature = caches.signature(path)
        kept = caches.recall_parsed(place.state, _CACHE)
        try:
            if kept["schema"] == _SCHEMA and kept["signature"] == signature:
                return Settings.of(kept["settings"])
        except (ValueError, TypeError, KeyError, AttributeError):
            pass  # no cache yet, or one in another format
        raw = read(path, _LARGEST, lambda uid: check_author(place, path, uid))
        settled = caches.signature(path) == signature and time.time() - signature[3] / 1e9 > caches.YOUNG
    except OSError as problem:
        raise _unreadable(path, problem.strerror or "it cannot be read") from problem
    if len(raw) > _LARGEST:
        raise _unreadable(path, "it is larger than 1 MiB")
    from moot.place.settings.parse import parse

    settings = parse(path, raw)
    # Without a log there is no workspace yet: create nothing.
    if keep and settled and os.path.lexists(os.path.join(place.state, "log.db")):
        content = {"schema": _SCHEMA, "signature": signature, "settings": settings.plain()}
        caches.keep_parsed(place.state, _CACHE, content)
    return settings


def signature(place: Place) -> list[Any] | None:
    """Changes when the settings file does; None without a usable one."""
    try:
        path = source(place)
        if path is None:
            return None
        from moot.place import caches

        return caches.signature(path)
    except (OSError, Unavailable):
        return None


def source(place: Place) -> str | None:
    """The path of the settings file for a place, if there is one."""
    for root in homes(place):
        path = os.path.join(root, FILE)
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            if os.path.islink(path):  # do not silently fall back to defaults
                raise _unreadable(path, "it is a link to a file that does not exist") from None
            continue
        except OSError as problem:
            raise _unreadable(path, problem.strerror or "it cannot be read") from problem
        if not S_ISREG(mode):
            raise _unreadable(path, "it is not a regular file")
        return path
    return None


def homes(place: Place) -> tuple[str, ...]:
    """The directories to search for the settings, in order; new ones go into the first."""
    in_main = place.worktree == MAIN and place.root != place.common
    if place.common is not None and place.main_root is None and not in_main:
        return (place.common,)
    main = place.main_root or place.root
    return (main,) if main == place.root else (main, place.root)


def ignored(place: Place, used: str | None) -> str | None:
    """The settings file of the current worktree, if it is not used and differs from the one in use."""
    path = os.path.join(place.root, FILE)
    if path == used or not os.path.isfile(path):
        return None
    try:
        mine, theirs = read(path, _LARGEST), b"" if used is None else read(used, _LARGEST)
    except OSError:
        return path
    return None if mine == theirs else path


def seconds(value: object) -> float | None:
    """Parse a duration: `90s`, `30m`, `2h`, `1d`, `250ms`, or a number of seconds. None if it is not a duration."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if 0 <= value < 1e15 else None  # rejects inf and nan
    if not isinstance(value, str):
        return None
    text = value.strip()
    number = text.rstrip("mshd")
    if len(text) > 20 or not number.isascii() or not number.replace(".", "", 1).isdigit():
        return None
    unit = _UNITS.get(text[len(number) :])
    return None if unit is None else float(number) * unit


def _unreadable(path: str, why: str) -> Unavailable:
    return Unavailable(
        "settings_unreadable", f"{path} cannot be used: {why}.", "Make it a readable file, or remove it.", file=path
    )
