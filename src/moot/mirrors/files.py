"""One mirror file: reads and replaces it, without losing what another program writes at the same time.

Other programs write the file at any time, in place or by renaming, and may have it open while it is replaced. So each
replaced file, a grave, is kept for some seconds and read again: see `moot.mirrors.exchange`.

Only files and directories of accepted accounts are read: see `moot.mirrors.folders`.

`write` and `absorbed` require the mirrors' lock (`moot.mirrors.lock`); `look` and `graves` do not. This module does not
know what the bytes mean.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from moot.core.errors import Usage
from moot.core.record import Record
from moot.mirrors.exchange import Kept, bring, has_kept, kept_in, nonce, stamp
from moot.mirrors.file_reading import OPEN, Changed, Missing, Signature, Unchanged, Unreadable, digest_of, outside, read
from moot.mirrors.folders import Stopped, enter, is_own
from moot.mirrors.lock import open_for_writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.mirrors.file_reading import Look

LIMIT = 16 * 1024 * 1024
LINGER = 10.0  # seconds that a grave is kept if the system cannot say whether a program has it open
SETTLED = 2.0  # seconds if it can: long enough for a program that was just about to open the file

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Displaced(Record):
    """Content of a replaced file that is not in the log yet. It is found again until it is `absorbed`.

    `age`: seconds since it was replaced. A young torn one may still be in the middle of a write.
    """

    data: bytes
    grave: Kept
    age: float
    unreadable: str | None = None


class Written(Record):
    """The file has the new content. `displaced`: unread content that it replaced, which must be absorbed."""

    signature: Signature
    displaced: tuple[Displaced, ...]


class Unwritable(Record):
    """The file could not be replaced. Nothing is lost."""

    reason: str


class MirrorFile:
    """The file `relative` below the directory `root`. `keep` is where replaced files are kept for a while.

    `resolved`: both directories are real paths, without links. `makes`: missing directories below `root` are created.
    """

    def __init__(
        self,
        root: str,
        relative: str,
        keep: str,
        *,
        limit: int = LIMIT,
        linger: float = LINGER,
        accepts: Callable[[int], bool] = is_own,
        resolved: bool = False,
        makes: bool = True,
    ) -> None:
        parts = relative.split(os.sep)
        if not relative or os.path.isabs(relative) or "\0" in relative or {"", ".", ".."} & set(parts):
            raise Usage("path_outside", f"{relative!r} is not a path below {root}", "give a plain relative path")
        self.root = root if resolved else os.path.realpath(root)
        self.relative = relative
        self.path = os.path.join(self.root, relative)
        self._mirror = digest_of(os.fsencode(self.path))[:16]
        self._keep = keep if resolved else os.path.realpath(keep)
        self._limit, self._linger, self._settled = limit, linger, min(linger, SETTLED)
        self._accepts, self._makes = accepts, makes

    def look(self, known: Signature | None) -> Look:
        """The state of the file, compared with what is known."""
        return self.visit(known, graves=False)[0]

    def visit(self, known: Signature | None, *, graves: bool = True) -> tuple[Look, list[Displaced]]:
        """The state of the file and, with `graves`, displaced content. A file proven unchanged is not opened."""
        proof = known if known is not None and known.settled and known.resembles(self.path) else None
        if proof is not None and not (graves and self._has_kept()):
            return Unchanged(proof), []
        moment, found = stamp(), list[Displaced]()
        try:
            folder = self._folder()
            if graves:
                found = self._graves(moment, folder)
            if proof is not None:
                return Unchanged(proof), found
            return self._read(os.path.join(folder, os.path.basename(self.path)), known), found
        except FileNotFoundError:
            look: Look = Missing()
        except Stopped as stopped:
            look = Unreadable(stopped.reason)
        except OSError as error:
            look = Unreadable(_reason(error))
        return look, found or (self._graves(moment) if graves else [])

    def _has_kept(self) -> bool:
        return any(has_kept(home, self._mirror) for home in (self._keep, os.path.dirname(self.path)))

    def is_being_written(self, *, unknown: bool = True) -> bool:
        """Whether a program has the file open for writing. `unknown`: the answer if the system cannot say."""
        try:
            fd = os.open(os.path.join(self._folder(), os.path.basename(self.path)), OPEN)
        except (Stopped, OSError):
            return unknown
        try:
            found = open_for_writing(fd)
        finally:
            os.close(fd)
        return unknown if found is None else found

    def write(self, data: bytes, seen: Signature | None, *, sync: bool = False) -> Written | Unwritable:
        """Replace the content atomically. `seen`: the content that is already absorbed or held.

        `sync`: flush it to the disk.
        """
        try:
            return self._write(self._folder(make=self._makes), data, seen, sync=sync)
        except Stopped as stopped:
            return Unwritable(stopped.reason)
        except OSError as error:
            return Unwritable(_reason(error))

    def _write(self, folder: str, data: bytes, seen: Signature | None, *, sync: bool) -> Written | Unwritable:
        path = os.path.join(folder, os.path.basename(self.path))
        # A file that resembles `seen` is not read. If its content differs all the same, `_replace` finds it.
        there = Unchanged(seen) if seen is not None and seen.resembles(path) else self._read(path, seen)
        if isinstance(there, Unreadable):
            return Unwritable(there.reason)
        render = digest_of(data)
        if not isinstance(there, Missing) and there.signature.digest == render:
            return Written(there.signature, ())
        return self._replace(folder, path, data, render, seen, sync=sync)

    def graves(self, now: float | None = None) -> list[Displaced]:
        """Content of replaced files that is not absorbed yet, oldest first. `now` is monotonic.

        Also removes leftovers of dead processes, and graves that no program can write to any more.
        """
        moment = stamp(now)
        try:
            return self._graves(moment, self._folder())
        except (Stopped, OSError):
            return self._graves(moment)

    def _graves(self, moment: int, *folder: str) -> list[Displaced]:
        found = (self._visit(kept, moment) for kept in self._kept(*folder))
        return [one for one in found if one is not None]

    def absorbed(self, found: Displaced) -> None:
        """Mark displaced content as absorbed. Only later writes to that file will be found again."""
        kind, seen = ("held", found.grave.seen) if found.unreadable else ("old", digest_of(found.data))
        try:
            if found.grave.home == self._keep:
                found.grave.renamed(kind=kind, seen=seen, stamp=stamp())
                return
            self._put_away(found.grave, kind=kind, seen=seen, stamp=stamp())
        except FileNotFoundError:
            pass  # already marked, or it is found again

    def _folder(self, *, make: bool = False) -> str:
        return enter(self.root, os.path.dirname(self.relative), self._accepts, make=make)

    def _read(self, path: str, known: Signature | None) -> Look:
        """Read the file, and compare it with the known content."""
        got = read(path, self._limit, self._accepts)
        if isinstance(got, Changed) and known is not None and got.signature.digest == known.digest:
            return Unchanged(got.signature)
        return got

    def _put_away(self, kept: Kept, **changes: str | int) -> None:
        """Rename a kept file, and move it out of the project, unless that is on another file system than the log."""
        try:
            kept.renamed(home=self._keep, **changes)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            kept.renamed(**changes)

    def _replace(
        self, folder: str, path: str, data: bytes, render: str, seen: Signature | None, *, sync: bool
    ) -> Written | Unwritable:
        """Write a hidden file beside the old one, and exchange the two."""
        new = Kept(folder, self._mirror, "new", stamp(), 0, render, seen.digest if seen else "-", nonce())
        fd, ours = os.open(new.path, _CREATE, 0o644), new
        try:
            _resemble(fd, path, self._accepts)
            with open(fd, "wb", closefd=False) as file:
                file.write(data)
            if sync:
                os.fsync(fd)
            ours = new.renamed(kind="out", inode=os.fstat(fd).st_ino)
            came_out = bring(ours, path)
            if sync:
                _sync_folder(folder)
            taken = time.time_ns()
            signature = Signature(*outside(os.fstat(fd)), render, taken)
        except OSError:
            _discard(ours, fd)
            raise
        finally:
            os.close(fd)
        found = self._visit(came_out, stamp()) if came_out else None
        if found is None:
            return Written(signature, ())
        if found.unreadable is None:
            return Written(signature, (found,))
        bring(found.grave, path)  # put it back; what a program wrote to our render meanwhile, `graves` finds
        return Unwritable(found.unreadable)

    def kept(self) -> list[Kept]:
        """The kept files of this mirror in both places where they may be, oldest first."""
        try:
            return self._kept(self._folder())
        except (Stopped, OSError):
            return self._kept()

    def _kept(self, *homes: str) -> list[Kept]:
        kept = [one for home in {self._keep, *homes} for one in kept_in(home, self._mirror)]
        return sorted(kept, key=lambda one: (one.stamp, one.nonce))

    def _visit(self, kept: Kept, now: int) -> Displaced | None:
        try:
            if kept.kind == "new":
                if kept.age(now) > self._linger:
                    os.unlink(kept.path)
            elif kept.kind == "out":
                return self._inspect(kept, now)
            elif kept.kind == "old":
                return self._revisit(kept, now)
        except OSError:
            pass  # tried again later
        return None

    def _inspect(self, out: Kept, now: int) -> Displaced | None:
        """Find out what an `out` file is: our own render, known content, or content to absorb."""
        status = os.lstat(out.path)
        ours = status.st_ino == out.inode
        if not ours:
            out.mark(status)
        got = read(out.path, self._limit, self._accepts)
        if isinstance(got, Missing):
            return None
        age = out.age(now)
        if isinstance(got, Unreadable):
            return Displaced(b"", out, age, got.reason)
        digest = got.signature.digest
        if ours and digest == out.render:
            if age > self._linger:  # a younger one may be about to be exchanged
                os.unlink(out.path)
        elif digest in (out.render, out.seen):
            self._put_away(out, kind="old", seen=digest, stamp=now)
        else:
            return Displaced(got.data, out, age)
        return None

    def _revisit(self, old: Kept, now: int) -> Displaced | None:
        """Check whether a program wrote to an `old` file. Delete it when its time is up."""
        age = old.age(now)
        if age <= self._settled and not old.touched():
            return None
        try:
            fd = os.open(old.path, OPEN)
        except PermissionError:
            return self._inspect(old.renamed(kind="out", inode=0, stamp=now), now)
        try:
            in_use = open_for_writing(fd)
            got = read(old.path, self._limit, self._accepts)
            if not isinstance(got, Changed) or got.signature.digest != old.seen:
                return self._inspect(old.renamed(kind="out", inode=0, stamp=now), now)
            if age > (self._linger if in_use is None else self._settled) and not in_use:
                os.unlink(old.path)
        finally:
            os.close(fd)
        return None


def _resemble(fd: int, path: str, accepts: Callable[[int], bool]) -> None:
    """Give a render the mode of the file that it replaces."""
    try:
        like = os.lstat(path)
    except FileNotFoundError:
        return
    if accepts(like.st_uid):  # else it was created a moment ago, and will be put back
        os.fchmod(fd, stat.S_IMODE(like.st_mode) & 0o777)


def _sync_folder(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _discard(ours: Kept, fd: int) -> None:
    """Remove a render that was not put in place."""
    try:
        if os.path.samestat(os.lstat(ours.path), os.fstat(fd)):
            os.unlink(ours.path)
    except OSError:
        pass  # `graves` removes it later


def _reason(error: OSError) -> str:
    """Why it failed. The name of a file that is being written says nothing, and differs each time."""
    name = str(error.filename or "")
    said = "" if os.path.basename(name).startswith(".moot.") else name
    return f"{said}: {error.strerror}".lstrip(": ")
