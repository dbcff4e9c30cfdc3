"""Views as they were: whole files, each folded up to one position of the log and never changed again.

They lie in a folder of their own beside the views, few and bounded in bytes, and can be deleted at any time. A snapshot
is made in a draft and renamed in when it is whole; its name has a checksum over all of it. Nothing in here knows a log:
whoever opens one checks that it belongs to theirs.
"""

from __future__ import annotations

import os
from errno import ENOTDIR

import apsw

from moot.core.errors import Unavailable
from moot.private_files import hand_over, make_folder, open_private
from moot.views.file import DAMAGE, distrust
from moot.views.leftovers import real_directory
from moot.views.store import VERSION, Store

_FOLDER = "past"
_KIND, _DRAFT = "views-", "draft-"
_PARTS = 4  # of a name after the kind: version, position, mark, checksum
_DIGITS = 20
_MOST = 8
_MOST_BYTES = 1 << 30
_UNUSED = 7 * 86_400.0  # seconds
_ABANDONED = 3_600.0  # a draft that nobody wrote to for so long
_SETTINGS = ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "cache_size = -64000")


class Snapshot(Store):
    """One file: a draft that is being folded, or a whole one to read."""

    def __init__(self, path: str, *, draft: bool = False) -> None:
        super().__init__(os.path.dirname(path))
        self.path = path
        self.mark = 0  # the position of the last tombstone that it was made upon
        self._draft = draft

    def become(self, other: Snapshot) -> None:
        """Go on with what another one has open."""
        with self._gate, other._gate:  # not while another thread forks
            self.close()
            self.directory, self.path, self.mark = other.directory, other.path, other.mark
            self._db, other._db = other._db, None

    def _open(self) -> apsw.Connection:
        try:
            if self._draft:
                return self._open_draft()
            return self._open_whole()
        except (apsw.Error, OSError) as error:
            raise self._given_up(error) from error

    def _open_whole(self) -> apsw.Connection:
        db = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READONLY)
        distrust(db)
        try:
            if not self._sound(db):  # SQLite takes an empty file for an empty database
                raise apsw.CorruptError("it is not whole")
        except apsw.Error:
            db.close()
            raise
        return db

    def _open_draft(self) -> apsw.Connection:
        new = not os.path.exists(self.path)
        db = apsw.Connection(self.path)
        for setting in _SETTINGS:  # what is half done after a crash is thrown away: nothing needs to be undone
            db.execute(f"PRAGMA {setting}").fetchall()
        if new:
            db.execute(self.script())
            hand_over(self.path)
        return db

    def renew(self, *, alone: bool = False) -> apsw.Connection:  # noqa: ARG002
        raise self._given_up(apsw.CorruptError("it is of another log"))

    def _given_up(self, error: Exception) -> Unavailable:
        """A snapshot that is damaged is left behind: the next who asks for that moment makes it anew."""
        self.close()
        if isinstance(error, DAMAGE):
            discard(self.path)
        return Unavailable(
            "past_unusable",
            f"The views of that moment cannot be used: {error}.",
            f"Do it again. If it stays so, look at the disk and the rights of {self.directory}.",
            path=self.path,
        )


class Shelf:
    """The snapshots of one workspace.

    `mark` is the position of the log's last tombstone: what was folded before it may hold a text that is out of sight
    since, and is removed.
    """

    def __init__(self, state: str, mark: int = 0) -> None:
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

    def draft(self, base: str | None) -> Snapshot:
        """A new file to fold into, empty or with what `base` has."""
        path = os.path.join(self.directory, f"{_DRAFT}{os.urandom(6).hex()}")
        try:
            make_folder(self.directory)
            if not real_directory(self.directory):
                raise NotADirectoryError(ENOTDIR, "it is a link", self.directory)
            if base is not None:
                _copy(base, path)
        except OSError as error:
            discard(path)
            raise _unwritable(self.directory, error) from error
        return Snapshot(path, draft=True)

    def draft_of(self, live: Store) -> Snapshot:
        """A new file with what the live views have, at one moment."""
        draft = self.draft(None)
        try:
            with draft.db.backup("main", live.db, "main") as copying:
                copying.step(-1)
            draft.close()
            _no_journal(draft.path)
        except (apsw.Error, OSError) as error:
            draft.close()
            discard(draft.path)
            raise _unwritable(self.directory, error) from error
        return draft

    def keep(self, draft: Snapshot, position: int, *, copy: bool = False) -> Snapshot:
        """Put a draft that is folded up to `position` in its place; with `copy`, it can be folded on."""
        draft.close()
        whole, path = draft.path, ""
        try:
            if copy:
                whole = f"{draft.path}-{position}"
                _copy(draft.path, whole)
            _on_disk(whole)  # else the new name may outlive a loss of power, and the content not
            path = os.path.join(self.directory, f"{_KIND}{VERSION}-{position}-{self._mark}-{_sum(whole)}.db")
            os.replace(whole, path)
        except OSError as error:
            discard(whole)
            raise _unwritable(self.directory, error) from error
        for at, other in self._all():
            if at == position and other != path:
                discard(other)
        self._tidy(path)
        return Snapshot(path)

    def sound(self, path: str) -> bool:
        """Whether it is still what was kept. One that is not is removed."""
        try:
            if path.endswith(f"-{_sum(path)}.db"):
                return True
        except OSError:
            return False
        discard(path)
        return False

    def touch(self, path: str) -> None:
        """Say that it was used."""
        try:
            os.utime(path)
        except OSError:
            return  # gone, or not ours: it is only a sign

    def clear(self) -> None:
        """Remove them all: of what the log does not say any more, nothing may be left."""
        for item in self._files():
            discard(item.path)

    def _all(self) -> list[tuple[int, str]]:
        named = [(self._position(item.name), item.path) for item in self._files()]
        return [(at, path) for at, path in named if at is not None]

    def _position(self, name: str) -> int | None:
        """Where the snapshot of this name stands; None if it is none, or of another version or mark."""
        parts = _parts(name)
        return parts[1] if parts is not None and (parts[0], str(parts[2])) == (VERSION, self._mark) else None

    def _is_outdated(self, name: str) -> bool:
        """Whether it is of no use to any version. Another version's that is up to date is that one's affair."""
        parts = _parts(name)
        return name.startswith(_KIND) and (parts is None or str(parts[2]) != self._mark)

    def _files(self) -> list[os.DirEntry[str]]:
        """Only our own: whatever else is called so was not put there by us, and a link may lead anywhere."""
        try:
            found = list(os.scandir(self.directory)) if real_directory(self.directory) else []
        except OSError:
            return []
        return [item for item in found if item.name.startswith((_KIND, _DRAFT)) and item.is_file(follow_symlinks=False)]

    def _tidy(self, new: str) -> None:
        """Keep what was used last, as far as there is room; and no draft that was abandoned."""
        now, room, kept = os.stat(new).st_mtime, _MOST_BYTES, 0
        found = [(item.stat(), item.path) for item in self._files() if os.path.exists(item.path)]
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
    """Version, position and mark in the name of a snapshot; None if it is called otherwise."""
    parts = name.removeprefix(_KIND).split("-") if name.startswith(_KIND) else []
    if len(parts) != _PARTS or not all(part.isascii() and part.isdigit() and len(part) < _DIGITS for part in parts[:3]):
        return None
    return int(parts[0]), int(parts[1]), int(parts[2])


def discard(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # another was faster, or it is not ours to remove


def _copy(source: str, target: str) -> None:
    """Copy a file, as one step where the file system can."""
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


def _on_disk(path: str) -> None:
    file = os.open(path, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _no_journal(path: str) -> None:
    """A copy of live views says that it has a write-ahead log, and a file that is only read must not need one."""
    db = apsw.Connection(path)
    db.execute("PRAGMA journal_mode = DELETE").fetchall()
    db.close()


def _unwritable(directory: str, error: Exception) -> Unavailable:
    return Unavailable(
        "past_unusable",
        f"The views of that moment cannot be made: {error}.",
        f"Going back needs to write: make {directory} writable, or free some space.",
    )
