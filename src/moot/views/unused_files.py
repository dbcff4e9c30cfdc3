"""Removes view files that are no longer used: old generations, and files of older versions.

    views-14                        the pointer of version 14
    views-14-0123456789ab.db        a generation of it, with the files that SQLite keeps next to it
    views                           the pointer of versions up to 13

Views in use are written to, because every command catches them up with the log. So the time of the last change shows
whether a file is in use. Files of newer versions are never removed. If a file is removed by mistake, nothing is lost:
the next command rebuilds it from the log.
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISREG

from moot.core.errors import Unavailable
from moot.private_files import discard, read_private

_DAY = 86_400.0
UNUSED = 3 * _DAY  # views of an older version that were not written to for this long count as unused
_LEFT_BEHIND = _DAY
_ENDINGS = (".db", ".db-wal", ".db-shm", ".db-journal", ".db.pointer")
_HEX = frozenset("0123456789abcdef")
_RANDOM = 12  # random letters in the name of a generation


def remove_all(directory: str, kind: str, keep: tuple[str, str]) -> None:
    """Remove the files of all versions except this pointer and this generation, because they contain redacted text."""
    pointer, generation = keep
    for item in os.scandir(directory):
        if not (item.name == kind or item.name.startswith(f"{kind}-")):
            continue
        if item.name == pointer or item.name.startswith(generation) or item.is_dir(follow_symlinks=False):
            continue
        try:
            os.unlink(item.path)
        except OSError:  # fine if another process has removed it; a file that remains is an error
            if os.path.lexists(item.path):
                raise


def sweep(directory: str, kind: str, version: int, keep: str = "") -> None:
    """Remove unused files: old generations of this version, and all files of older versions."""
    groups: dict[str, list[tuple[str, float]]] = {}
    for item in os.scandir(directory):
        its = version_of(item.name, kind)
        if its is None or its > version or (keep and item.name.startswith(keep)):
            continue
        found = _regular(item)
        if found is not None and not (its == version and item.name == f"{kind}-{version}"):
            group = item.name[: len(f"{kind}-{its}-") + _RANDOM] if its == version else f"{kind}-{its}"
            groups.setdefault(group, []).append((item.path, found.st_mtime))
    now, current = _now(), _named(os.path.join(directory, f"{kind}-{version}"))
    for group, files in groups.items():
        ours = group.startswith(f"{kind}-{version}-")
        if (ours and current.startswith(group)) or now - max(at for _, at in files) <= (
            _LEFT_BEHIND if ours else UNUSED
        ):
            continue
        for path, _ in files:
            discard(path)
    _sweep_first_pointer(directory, kind)


def version_of(name: str, kind: str) -> int | None:
    """The version in the name of a file; None if it is not a view file."""
    start, _, rest = name.partition("-")
    number, dash, end = rest.partition("-")
    if start != kind or not (number.isascii() and number.isdigit() and len(number) < 10):
        return None
    if dash and not (len(end) > _RANDOM and _HEX.issuperset(end[:_RANDOM]) and end[_RANDOM:] in _ENDINGS):
        return None
    return int(number)


def _sweep_first_pointer(directory: str, kind: str) -> None:
    """Remove the pointer that versions up to 13 shared, once the file that it names is gone."""
    pointer = os.path.join(directory, kind)
    name = _named(pointer)
    if name and version_of(name, kind) is not None and not os.path.lexists(os.path.join(directory, name)):
        discard(pointer)


def _named(pointer: str) -> str:
    try:
        return read_private(pointer, 100).decode("ascii", "replace").strip()
    except (OSError, Unavailable):
        return ""


def _regular(item: os.DirEntry[str]) -> os.stat_result | None:
    try:
        found = item.stat(follow_symlinks=False)
    except OSError:
        return None  # another process removed it
    return found if S_ISREG(found.st_mode) else None


def _now() -> float:
    import time

    return time.time()


def real_directory(path: str) -> bool:
    """Whether it is a directory and not a link. Files are removed only in real directories."""
    try:
        return S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
