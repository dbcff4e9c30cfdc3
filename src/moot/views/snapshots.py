"""Snapshots of the views: files that are folded up to one position of the log and then never change.

They are in the folder `past` next to the views. Their number and total size are limited, and they can be deleted at any
time. A snapshot is built as a draft and renamed when it is complete; its name contains a checksum of its content. This
module does not know the log. The caller checks that a snapshot belongs to its log.
"""

from __future__ import annotations

import os
from errno import ENOTDIR

from moot.core.errors import Unavailable
from moot.private_files import discard, hand_over, make_folder, open_private, sync
from moot.views.private_copy import PrivateCopy
from moot.views.store import VERSION
from moot.views.unused_files import real_directory

_FOLDER = "past"
_KIND, _DRAFT = "views-", "draft-"
_PARTS = 4  # of a name after the kind: version, position, mark, checksum
_DIGITS = 20
_MOST = 8
_MOST_BYTES = 1 << 30
_UNUSED = 7 * 86_400.0  # seconds
_ABANDONED = 3_600.0  # seconds since the last write to a draft


class Snapshots:
    """The snapshots of one workspace.

    `mark` is the position of the log's last tombstone. Snapshots from before it may contain text that was redacted
    since, so they are removed.
    """

    def __init__(self, state: str, mark: int = 0) -> None:
        self._state = state
        self.directory = os.path.join(state, _FOLDER)
        self._mark = str(mark)

    def at_or_before(self, position: int) -> list[tuple[int, str]]:
        """Position and path of each snapshot up to `position`, nearest first."""
        found = []
        for item in self._files():
            at = self._position(item.name)
            if at is not None and at <= position:
                found.append((at, item.path))
            elif at is None and self._is_outdated(item.name):
                discard(item.path)
        return sorted(found, reverse=True)

    def draft(self, base: str | None) -> PrivateCopy:
        """A new copy to fold into: of the snapshot `base`, of the shared views (None), or empty ("").

        If no file can be created in the folder, the copy has no name and is not kept.
        """
        if not may_write(self.directory if os.path.isdir(self.directory) else self._state):
            return PrivateCopy(self._state, base)
        try:
            make_folder(self.directory)
            if not real_directory(self.directory):
                raise NotADirectoryError(ENOTDIR, "it is a link", self.directory)
        except OSError as error:
            raise _unwritable(self.directory, error) from error
        return PrivateCopy(self._state, base, into=os.path.join(self.directory, f"{_DRAFT}{os.urandom(6).hex()}"))

    def keep(self, draft: PrivateCopy, position: int, *, copy: bool = False) -> PrivateCopy:
        """Turn a draft that is folded up to `position` into a snapshot. With `copy`, it can be folded further."""
        if not draft.file:
            if not copy:
                draft.db.execute("PRAGMA query_only = ON").fetchall()
            return draft
        whole, path = draft.file, ""
        try:
            if copy:
                whole = f"{draft.file}-{position}"
                _copy(draft.file, whole)
            sync(whole)  # otherwise a power loss may keep the new name without the content
            path = os.path.join(self.directory, f"{_KIND}{VERSION}-{position}-{self._mark}-{_sum(whole)}.db")
            os.replace(whole, path)
        except OSError as error:
            discard(whole)
            raise _unwritable(self.directory, error) from error
        for at, other in self._all():
            if at == position and other != path:
                discard(other)
        self._tidy(path)
        if copy:
            return draft
        draft.close()
        return PrivateCopy(self._state, path)

    def sound(self, path: str) -> bool:
        """Whether its content still matches its checksum. If not, it is removed."""
        try:
            if path.endswith(f"-{_sum(path)}.db"):
                return True
        except OSError:
            return False
        discard(path)
        return False

    def touch(self, path: str) -> None:
        """Record that it was used."""
        try:
            os.utime(path)
        except OSError:
            return  # it was removed, or belongs to another account

    def clear(self) -> None:
        """Remove all snapshots: they may contain text that the log no longer has."""
        for item in self._files():
            discard(item.path)

    def _all(self) -> list[tuple[int, str]]:
        named = [(self._position(item.name), item.path) for item in self._files()]
        return [(at, path) for at, path in named if at is not None]

    def _position(self, name: str) -> int | None:
        """The position of the snapshot with this name; None if it has another version or mark, or is no snapshot."""
        parts = _parts(name)
        return parts[1] if parts is not None and (parts[0], str(parts[2])) == (VERSION, self._mark) else None

    def _is_outdated(self, name: str) -> bool:
        """Whether no version can use it. Current snapshots of other versions are left to those."""
        parts = _parts(name)
        return name.startswith(_KIND) and (parts is None or str(parts[2]) != self._mark)

    def _files(self) -> list[os.DirEntry[str]]:
        """The files that moot made in the folder. Links are not followed."""
        try:
            found = list(os.scandir(self.directory)) if real_directory(self.directory) else []
        except OSError:
            return []
        return [item for item in found if item.name.startswith((_KIND, _DRAFT)) and item.is_file(follow_symlinks=False)]

    def _tidy(self, new: str) -> None:
        """Keep the snapshots that were used last, within the limits. Remove abandoned drafts."""
        found = [(seen, item.path) for item in self._files() if (seen := _status(item.path)) is not None]
        now = next((seen.st_mtime for seen, path in found if path == new), None)
        if now is None:
            return  # another process that tidies has removed it
        room, kept = _MOST_BYTES, 0
        whole = {path for _, path in self._all()}
        for seen, path in sorted(found, key=lambda one: (one[1] == new, one[0].st_mtime), reverse=True):
            if path not in whole:
                its = _parts(os.path.basename(path))
                if now - seen.st_mtime > (_UNUSED if its else _ABANDONED) and not (its and its[0] > VERSION):
                    discard(path)
                continue
            kept, room = kept + 1, room - seen.st_size
            if path != new and (kept > _MOST or room < 0 or now - seen.st_mtime > _UNUSED):
                discard(path)


def _parts(name: str) -> tuple[int, int, int] | None:
    """Version, position and mark in the name of a snapshot; None if the name has another form."""
    parts = name.removeprefix(_KIND).split("-") if name.startswith(_KIND) else []
    if len(parts) != _PARTS or not all(part.isascii() and part.isdigit() and len(part) < _DIGITS for part in parts[:3]):
        return None
    return int(parts[0]), int(parts[1]), int(parts[2])


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None  # another process removed it


def may_write(directory: str) -> bool:
    """Whether this user can create files there."""
    return os.access(directory, os.W_OK | os.X_OK)


def _copy(source: str, target: str) -> None:
    """Copy a file, in one step if the file system supports it."""
    with open(open_private(source), "rb") as old, open(target, "xb") as new:
        left = os.fstat(old.fileno()).st_size
        step = getattr(os, "copy_file_range", None)
        try:
            while step is not None and left > 0 and (done := step(old.fileno(), new.fileno(), left)):
                left -= done
        except OSError:
            old.seek(0)
            new.seek(0)
        while piece := old.read(1 << 20):
            new.write(piece)
    hand_over(target)


def _sum(path: str) -> str:
    from zlib import crc32

    total = 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            total = crc32(piece, total)
    return f"{total:08x}"


def _unwritable(directory: str, error: Exception) -> Unavailable:
    return Unavailable(
        "past_unusable",
        f"The views of that moment cannot be written: {error}.",
        f"Make {directory} writable, or free some disk space.",
    )
