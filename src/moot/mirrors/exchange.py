"""Swap two files in one atomic step, and name what a swap leaves behind so that a crash can be understood.

Linux has renameat2(RENAME_EXCHANGE), macOS renamex_np(RENAME_SWAP). Where the system or the file system has neither,
a hard link keeps the old file and a rename brings the new one: readers see no difference, and somebody who writes
into the old file is still safe. Only a writer who renames his own file to `path` between the two calls is lost.

Everything known about a kept file is in its name, given before the step that it is about: after a crash at any
instant the next process reads there what is left to do. A kept file is

    new     a render that is being written. Without value once its writer is dead.
    out     a render about to be exchanged, or, as its inode tells, what came out and nobody has absorbed.
    old     what came out, with the content `seen`. Forgotten after some seconds, unless it changed again.
    held    what came out, cannot be read and was reported. Stays for a person.

This module knows names of files. It does not look into them.
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
# For a libc without renameat2. A 32-bit process may run under a 64-bit name, so these are for 64-bit ones.
_LINUX_SYSCALL = {"x86_64": 316, "aarch64": 276, "riscv64": 276, "loongarch64": 276, "ppc64le": 357, "s390x": 347}
_REFUSED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
_NO_LINKS = _REFUSED | {errno.EPERM, errno.EMLINK}
_ATTEMPTS = 16
_PREFIX = ".moot"
_MARK_NS = 315_619_200 * 1_000_000_000  # 1980-01-02
_REBOOT_NS = 60_000_000_000  # a stamp so far ahead of the monotonic clock is from before a restart


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
        return os.path.join(self.home, ".".join((_PREFIX, *fields)))

    def age(self, now: int) -> float:
        """Seconds since the stamp. What was kept before a restart is as old as can be: nobody has it open any more."""
        return float("inf") if self.stamp > now + _REBOOT_NS else max(0, now - self.stamp) / 1e9

    def renamed(self, **changes: str | int) -> Kept:
        """The same file under a name that says something new."""
        kept = self.replace(**changes)
        os.rename(self.path, kept.path)
        return kept

    def mark(self, status: os.stat_result) -> None:
        """Give it an mtime that any later write changes, however coarse the clock is."""
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:  # under another name the mark would be seen
            try:
                os.utime(self.path, ns=(status.st_atime_ns, _MARK_NS))
            except PermissionError:
                pass  # somebody else's file: it always counts as touched

    def touched(self) -> bool:
        """Whether it may have been written to since it was marked."""
        return os.lstat(self.path).st_mtime_ns != _MARK_NS


def kept_in(home: str, mirror: str) -> list[Kept]:
    """All kept files of a mirror in a directory."""
    try:
        names = os.listdir(home)
    except OSError:
        return []
    ours = f"{_PREFIX}.{mirror}."
    return [kept for name in names if name.startswith(ours) and (kept := _parse(home, name))]


def _parse(home: str, name: str) -> Kept | None:
    try:
        _prefix, mirror, kind, stamp, inode, render, seen, nonce = name.rsplit(".", 7)
        return Kept(home, mirror, kind, int(stamp), int(inode, 16), render, seen, nonce)
    except ValueError:
        return None


def nonce() -> str:
    return os.urandom(4).hex()


def stamp(now: float | None = None) -> int:
    """A monotonic time in seconds, or this moment, as a stamp: fine enough to tell which of two came first."""
    return time.monotonic_ns() if now is None else int(now * 1e9)


def bring(out: Kept, path: str) -> Kept | None:
    """Bring `out` to `path`, whatever is there; what came out, or None if there was nothing."""
    side = out.replace(inode=0, nonce=nonce())
    for _ in range(_ATTEMPTS):
        try:
            return side if exchange(out.path, path, side.path) == side.path else out
        except FileNotFoundError:
            pass  # nothing to exchange with
        try:
            place(out.path, path)
        except FileExistsError:
            continue  # now there is
        return None
    raise OSError(errno.EBUSY, "it comes and goes too fast", path)


def exchange(new: str, path: str, side: str) -> str:
    """Bring `new` to `path`; the name, `new` or `side`, under which the file that was at `path` is now.

    Both files must exist (FileNotFoundError), `side` must not. A crash leaves the old file at `path`, `new` or `side`.
    """
    if _native(_LINUX_EXCHANGE, _MACOS_SWAP, new, path):
        return new
    _link(path, side)
    os.rename(new, path)
    return side


def place(new: str, path: str) -> None:
    """Bring `new` to `path` where nothing may be (FileExistsError). A crash may leave it under both names."""
    try:
        _link(new, path)
    except OSError as error:
        if error.errno not in _NO_LINKS or not _native(_LINUX_NOREPLACE, _MACOS_EXCL, new, path):
            raise
    else:
        os.unlink(new)


def _link(there: str, name: str) -> None:
    """A second name for the thing itself, not for what a symbolic link points to."""
    os.link(there, name, follow_symlinks=os.link not in os.supports_follow_symlinks)


def _native(linux: int, macos: int, new: str, path: str) -> bool:
    """Rename with a flag; False where the system or the file system cannot."""
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
    """The system's call as a function that gives an errno, 0 for done. ctypes costs milliseconds, so it comes late."""
    if sys.platform not in ("linux", "darwin"):
        return None
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        swap = getattr(libc, "renamex_np", None)
        return swap and (lambda a, b: ctypes.get_errno() if swap(a, b, ctypes.c_uint(macos)) else 0)
    here, flags = ctypes.c_int(_AT_FDCWD), ctypes.c_uint(linux)
    call = getattr(libc, "renameat2", None)
    if call is not None:
        return lambda a, b: ctypes.get_errno() if call(here, a, here, b, flags) else 0
    number = _LINUX_SYSCALL.get(os.uname().machine) if sys.maxsize > 2**32 else None
    if number is None:
        return None
    syscall = libc.syscall
    syscall.restype = ctypes.c_long
    return lambda a, b: ctypes.get_errno() if syscall(ctypes.c_long(number), here, a, here, b, flags) else 0
