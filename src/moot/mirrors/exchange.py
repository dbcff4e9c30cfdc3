"""Swaps two files atomically, and names the files that a swap leaves, so that a crash loses nothing.

Linux has renameat2(RENAME_EXCHANGE), macOS renamex_np(RENAME_SWAP). If the system or the file system has neither, a
hard link keeps the old file and a rename puts the new one in place. Readers see no difference, and writes to the old
file are still found. Only a file that another program renames to `path` between the two calls is lost.

The name of a kept file says everything about it, and is given before the step that it describes. So after a crash the
next process knows what is left to do. A kept file is

    new     a render that is being written. Useless when its writer is dead.
    out     a render about to be swapped, or, if its inode differs, the replaced file, not absorbed yet.
    old     a replaced file with the known content `seen`. Deleted after some seconds, unless it changed again.
    held    a replaced file that cannot be read, and was reported. Kept for a person.

This module only handles names. It does not read the files.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Rename = Callable[[bytes, bytes], int]

_AT_FDCWD = -100
_LINUX_NOREPLACE, _LINUX_EXCHANGE = 1, 2
_MACOS_SWAP, _MACOS_EXCL = 2, 4
_REFUSED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
_NO_LINKS = _REFUSED | {errno.EPERM, errno.EMLINK}
_ATTEMPTS = 16
PREFIX = ".moot"
_MARK_NS = 315_619_200 * 1_000_000_000  # 1980-01-02
_YOUNG_NS = 2_000_000_000  # the coarsest timestamps of a file system
_HOMES = 100  # directories whose kept files are remembered
_listed: dict[tuple[int, int], tuple[tuple[int, int], tuple[str, ...]]] = {}  # by inode: times, and names of kept files
_REBOOT_NS = 60_000_000_000  # a stamp this far in the future is from before a reboot


class Kept(Record):
    """A kept file, as its name describes it. `stamp` is monotonic, in nanoseconds."""

    home: str
    mirror: str
    kind: str
    stamp: int
    inode: int
    render: str
    seen: str
    nonce: str

    @property
    def path(self) -> str:
        fields = (self.mirror, self.kind, str(self.stamp), f"{self.inode:x}", self.render, self.seen, self.nonce)
        return os.path.join(self.home, ".".join((PREFIX, *fields)))

    def age(self, now: int) -> float:
        """Seconds since the stamp. Infinite for one from before a reboot: no program has that file open."""
        return float("inf") if self.stamp > now + _REBOOT_NS else max(0, now - self.stamp) / 1e9

    def renamed(self, **changes: str | int) -> Kept:
        """Rename the file to a name with these changes."""
        kept = self.replace(**changes)
        os.rename(self.path, kept.path)
        return kept

    def mark(self, status: os.stat_result) -> None:
        """Set an mtime that any later write changes, however coarse the clock is."""
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:  # with a second name, others would see the mtime
            try:
                os.utime(self.path, ns=(status.st_atime_ns, _MARK_NS))
            except PermissionError:
                pass  # a file of another account always counts as touched

    def touched(self) -> bool:
        """Whether it may have been written to since it was marked."""
        return os.lstat(self.path).st_mtime_ns != _MARK_NS


def kept_in(home: str, mirror: str) -> list[Kept]:
    """All kept files of a mirror in a directory."""
    try:
        names = os.listdir(home)
    except OSError:
        return []
    ours = f"{PREFIX}.{mirror}."
    return [kept for name in names if name.startswith(ours) and (kept := _parse(home, name))]


def has_kept(home: str, mirror: str) -> bool:
    """Whether a directory has kept files of a mirror. A directory that has not changed is listed once."""
    try:
        now, found = time.time_ns(), os.stat(home)
        changed = found.st_mtime_ns, found.st_ctime_ns
        known = _listed.get((found.st_dev, found.st_ino))
        if known is None or known[0] != changed:
            known = changed, tuple(name for name in os.listdir(home) if name.startswith(PREFIX))
            if len(_listed) >= _HOMES:
                _listed.clear()
            if now - max(changed) >= _YOUNG_NS:  # a young one can change again within the same tick
                _listed[found.st_dev, found.st_ino] = known
    except OSError:
        return False
    ours = f"{PREFIX}.{mirror}."
    return any(name.startswith(ours) for name in known[1])


def _parse(home: str, name: str) -> Kept | None:
    try:
        _prefix, mirror, kind, stamp, inode, render, seen, nonce = name.rsplit(".", 7)
        return Kept(home, mirror, kind, int(stamp), int(inode, 16), render, seen, nonce)
    except ValueError:
        return None


def nonce() -> str:
    return os.urandom(4).hex()


def stamp(now: float | None = None) -> int:
    """A monotonic time in nanoseconds: `now` in seconds, or the current time."""
    return time.monotonic_ns() if now is None else int(now * 1e9)


def bring(out: Kept, path: str) -> Kept | None:
    """Put `out` at `path`. Returns the file that was there, or None."""
    side = out.replace(inode=0, nonce=nonce())
    new, beside = out.path, side.path
    for _ in range(_ATTEMPTS):
        try:
            return side if exchange(new, path, beside) == beside else out
        except FileNotFoundError:
            pass  # there is no file at `path`
        try:
            place(new, path)
        except FileExistsError:
            continue  # now there is one
        return None
    raise OSError(errno.EBUSY, "it is created and deleted too fast", path)


def exchange(new: str, path: str, side: str) -> str:
    """Put `new` at `path`. Returns the new name of the file that was there: `new` or `side`.

    Both files must exist (FileNotFoundError), `side` must not. A crash leaves the old file at `path`, `new` or `side`.
    """
    if _native(_LINUX_EXCHANGE, _MACOS_SWAP, new, path):
        return new
    _link(path, side)
    os.rename(new, path)
    return side


def place(new: str, path: str) -> None:
    """Move `new` to `path`, which must not exist (FileExistsError). A crash may leave it under both names."""
    try:
        _link(new, path)
    except OSError as error:
        if error.errno not in _NO_LINKS or not _native(_LINUX_NOREPLACE, _MACOS_EXCL, new, path):
            raise
    else:
        os.unlink(new)


def _link(there: str, name: str) -> None:
    """Make a hard link to the file itself, not to the target of a symbolic link."""
    os.link(there, name, follow_symlinks=os.link not in os.supports_follow_symlinks)


def _native(linux: int, macos: int, new: str, path: str) -> bool:
    """Rename with a flag. False if the system or the file system cannot."""
    rename = _rename_with(linux, macos)
    if rename is None:
        return False
    code = rename(os.fsencode(new), os.fsencode(path))
    if code in _REFUSED:
        return False
    if code:
        raise OSError(code, os.strerror(code), new, None, path)
    return True


def _rename_with(linux: int, macos: int) -> Rename | None:
    """The system call as a function that returns an errno, 0 on success. Imports ctypes late: it takes milliseconds."""
    if sys.platform not in ("linux", "darwin"):
        return None
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        swap = getattr(libc, "renamex_np", None)
        return swap and (lambda a, b: ctypes.get_errno() if swap(a, b, ctypes.c_uint(macos)) else 0)
    here, flags = ctypes.c_int(_AT_FDCWD), ctypes.c_uint(linux)
    call = getattr(libc, "renameat2", None)
    return call and (lambda a, b: ctypes.get_errno() if call(here, a, here, b, flags) else 0)
