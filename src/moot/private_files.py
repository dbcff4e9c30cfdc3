"""Opening the files that moot keeps for itself: in a state directory, and in the user's own store.

Whatever lies there may have come with a repository, so no link is followed, nothing but a regular file is opened
(a FIFO would block), and a file that belongs to somebody else, or that everybody may write, is refused.
The checks are made on the open descriptor: nobody can exchange the file between the check and the use.
"""

from __future__ import annotations

import errno
import os
from stat import S_ISREG, S_IWOTH

from moot.core.errors import Unavailable

_ALWAYS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_LARGEST = 64 << 20
_OPEN = "every account on this machine may write to it"


def owners() -> tuple[int, ...]:
    """The accounts whose files are the caller's own: the effective user, and under sudo the one who called it."""
    me = os.geteuid()
    asked = os.environ.get("SUDO_UID", "") if me == 0 else ""
    return (me, int(asked)) if asked.isascii() and asked.isdigit() and len(asked) < 11 else (me,)


def open_private(path: str, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """A descriptor of the file at `path`. Raises `OSError` as `os.open` does, and `Unavailable` for an unsafe file.

    A file may also belong to the owner of its directory: a directory that was accepted was accepted with its owner.
    Never pass `O_TRUNC`: it would empty the file before it was checked.
    """
    try:
        file = os.open(path, flags | _ALWAYS, mode)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO) or (error.errno == errno.ENOTDIR and _is_link(path)):
            raise unsafe(path, "it is a link" if _is_link(path) else "it is not a regular file") from error
        raise
    try:
        _check(file, path)
    except BaseException:
        os.close(file)
        raise
    return file


def _check(file: int, path: str) -> None:
    found = os.fstat(file)
    flaw = _flaw(found, path)
    if flaw is not None:
        raise unsafe(path, flaw, f"chmod o-w {_quoted(path)}" if flaw is _OPEN else "")


def _flaw(found: os.stat_result, path: str) -> str | None:
    if not S_ISREG(found.st_mode):
        return "it is not a regular file"
    if found.st_mode & S_IWOTH:
        return _OPEN
    if found.st_uid not in owners() and found.st_uid != os.stat(os.path.dirname(path) or ".").st_uid:
        return f"it belongs to another account (uid {found.st_uid})"
    return None


def is_private(path: str, *, missing: bool = False) -> bool:
    """Whether the file may be used, for those that SQLite opens by itself; `missing`: what is said if there is none.

    To open one and close it again here would give up the locks that this process has on it.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return missing
    return _flaw(found, path) is None


def read_private(path: str, limit: int = _LARGEST) -> bytes:
    """The content of the file, of which there may be no more than `limit` bytes."""
    file = open_private(path)
    try:
        if os.fstat(file).st_size > limit:
            raise unsafe(path, f"it is larger than {limit} bytes")
        parts = []
        while part := os.read(file, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(file)


def write_private(path: str, content: bytes, *, sync: bool = False) -> None:
    """Put a file in place as a whole, under a name that nobody could foresee until it is complete.

    What is at `path` is replaced, not written to: if it is a link, the link goes and its target stays as it is.
    """
    draft = f"{path}.{os.urandom(6).hex()}"
    file = open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(file, left) :]
            if sync:
                os.fsync(file)
        finally:
            os.close(file)
        os.replace(draft, path)
    except BaseException:
        try:
            os.unlink(draft)
        except FileNotFoundError:
            pass  # it has its name already
        raise


def unsafe(path: str, why: str, remedy: str = "") -> Unavailable:
    """The refusal to use a file or directory of moot's own."""
    command = f"Run `{remedy}`" if remedy else f"Look at it, and remove it if it is not yours: `ls -ld {_quoted(path)}`"
    return Unavailable("unsafe_file", f"{path} is not used: {why}.", f"{command}. Then try again.", path=path)


def _is_link(path: str) -> bool:
    try:
        os.readlink(path)
    except OSError:
        return False
    return True


def _quoted(path: str) -> str:
    from shlex import quote

    return quote(path)
