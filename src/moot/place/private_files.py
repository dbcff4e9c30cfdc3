"""Opens the files that moot keeps for itself, in a state directory and in the user's state directory.

These files may have come with a repository. So no symbolic link is followed, only regular files are opened (a FIFO
would block), and a file that belongs to another account, or that every account can write, is refused. The checks use
the open descriptor, so nobody can replace the file between check and use.
"""

from __future__ import annotations

import errno
import fcntl
import os
from stat import S_IFDIR, S_IFMT, S_IFREG, S_ISLNK, S_IWOTH

from moot.core.errors import Unavailable
from moot.core.text import shell_word

_ALWAYS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_LARGEST = 64 << 20
_PART = 1 << 16
EXHAUSTED = (errno.EMFILE, errno.ENFILE)
_TOO_MANY = "too_many_open_files"
_NEEDED = 8  # descriptors: SQLite opens up to three at a time for a file
_OPEN = "every account on this machine can write to it"
_ROOT = 0
_KINDS = {S_IFREG: "regular file", S_IFDIR: "directory"}
_NO_FILE = (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR)  # a link, a FIFO or socket, a directory


def make_folder(path: str) -> None:
    """Create a private directory and its parents."""
    missing = []
    while not os.path.isdir(path) and not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path) or "."
    for one in reversed(missing):
        try:
            os.mkdir(one, 0o700)
        except FileExistsError:
            continue  # another process created it


def open_private(path: str, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """A descriptor of the file at `path`. Raises `OSError` as `os.open` does, and `Unavailable` for an unsafe file.

    The file may also belong to the owner of its directory (an accepted directory includes its owner) or to root. Only
    the last part of `path` is checked: for the others see `check_folders`. Never pass `O_TRUNC`: it would empty the
    file before the check.
    """
    try:
        file = os.open(path, flags | _ALWAYS, mode)
    except OSError as error:
        if error.errno in _NO_FILE or (error.errno == errno.ENOTDIR and os.path.islink(path)):
            raise unsafe(path, "it is a link" if os.path.islink(path) else "it is not a regular file") from error
        raise
    try:
        flaw = _flaw(os.fstat(file), path)
        if flaw is None:
            return file
    except BaseException:
        os.close(file)
        raise
    os.close(file)
    raise _refused(path, flaw)


def _flaw(found: os.stat_result, path: str, kind: int = S_IFREG) -> str | None:
    """Why a file or directory with this status must not be used; None if it may be."""
    if S_IFMT(found.st_mode) != kind:
        return "it is a link" if S_ISLNK(found.st_mode) else f"it is not a {_KINDS[kind]}"
    if found.st_mode & S_IWOTH:
        return _OPEN
    if found.st_uid not in (os.geteuid(), _ROOT) and not _is_accepted(found.st_uid, path):
        return f"it belongs to another account (uid {found.st_uid})"
    return None


def _refused(path: str, flaw: str) -> Unavailable:
    return unsafe(path, flaw, f"chmod o-w {shell_word(path, 'FILE')}" if flaw is _OPEN else "")


def is_private(path: str, *, missing: bool = False) -> bool:
    """Whether a file that SQLite opens by itself may be used. `missing`: the answer if it does not exist.

    Opening and closing the file here would release the locks that this process holds on it.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return missing
    return _flaw(found, path) is None


def _is_accepted(uid: int, path: str) -> bool:
    return uid == os.stat(os.path.dirname(path) or ".").st_uid


def check_private(path: str) -> bool:
    """Whether a file exists at `path`, before other code opens it. Raises as `open_private` does.

    The file may change after the check: use it only in a directory where nobody but its owner can create files.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    if flaw := _flaw(found, path):
        raise _refused(path, flaw)
    return True


def check_folders(directory: str, *names: str, make: bool = False) -> str:
    """The path of a folder below `directory`. Every level that exists must be a real, private folder.

    No symbolic link is followed. With `make`, missing folders are created for this account only.
    """
    path = directory
    for name in names:
        path = f"{path}/{name}"
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            if not make:
                continue
            try:
                os.mkdir(path, 0o700)
            except FileExistsError:
                pass  # another process created it
            found = os.lstat(path)
        if flaw := _flaw(found, path, S_IFDIR):
            raise _refused(path, flaw)
    return path


def read_private(path: str, limit: int = _LARGEST) -> bytes:
    """The content of the file. Raises if it is larger than `limit` bytes."""
    file = open_private(path)
    try:
        if os.fstat(file).st_size > limit:
            raise unsafe(path, f"it is larger than {limit} bytes")
        return read_all(file)
    finally:
        os.close(file)


def read_all(file: int, limit: int = _LARGEST) -> bytes:
    """The rest of an open file, up to `limit` bytes. In parts: room for all that it might have costs more than it."""
    parts = []
    while limit > 0 and (part := os.read(file, min(limit, _PART))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def write_private(path: str, content: bytes, *, sync: bool = False, mode: int = 0o600, ending: str = "") -> None:
    """Write a file atomically: to a temporary file with a random name and this ending, which is then renamed.

    The file at `path` is replaced, not written to. If it is a link, the link is replaced and its target is unchanged.
    """
    draft = f"{path}.{os.urandom(6).hex()}{ending}"
    file = open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
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
        discard(draft)
        raise


def sync(path: str) -> None:
    """Wait until the disk has this file, or the names of the files in this folder."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def discard(path: str) -> bool:
    """Remove a file, if it exists and this account may remove it. Returns whether it was removed."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def locked(file: int) -> bool:
    """Try to lock the file without waiting. Returns whether this descriptor holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_still(path: str, file: int) -> bool:
    """Whether `path` still names the open file. Another process may have removed it before it was locked."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(file))
    except FileNotFoundError:
        return False


def forbidden(error: BaseException) -> Unavailable | None:
    """The error for a file that this account has no permission to use; None for other errors."""
    if not isinstance(error, PermissionError) or not isinstance(error.filename, str):
        return None
    path = error.filename
    while not os.path.lexists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)  # up to the first path that is visible
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if found.st_uid == os.geteuid():
        remedy = f"chmod -R u+rwX {shell_word(path, 'FILE')}"
    else:
        remedy = f"sudo chown -R {os.geteuid()} {shell_word(path, 'FILE')}"
    return unsafe(path, f"this account has no permission to use it (it belongs to uid {found.st_uid})", remedy)


def unsafe(path: str, why: str, remedy: str = "") -> Unavailable:
    """The error for a file or directory of moot that is not safe to use."""
    command = (
        f"Run `{remedy}`"
        if remedy
        else f"Inspect it with `ls -ld {shell_word(path, 'FILE')}`, and remove it if it is not yours"
    )
    return Unavailable("unsafe_file", f"{path} is not safe to use: {why}.", f"{command}. Then try again.", path=path)


def is_exhausted(error: BaseException | None) -> bool:
    """Whether the cause is that the process, or the whole machine, cannot open more files."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # the chain of causes may contain a cycle
        if isinstance(error, OSError) and error.errno in EXHAUSTED:
            return True
        if isinstance(error, Unavailable) and error.code == _TOO_MANY:
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def hardly_any_left() -> bool:
    """Whether few descriptors are left. SQLite does not report this as the reason when it cannot open a file."""
    had: list[int] = []
    try:
        while len(had) < _NEEDED:
            had.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno in EXHAUSTED
    finally:
        for file in had:
            os.close(file)
    return False


def too_many_open_files() -> Unavailable:
    return Unavailable(
        "too_many_open_files",
        "The process or the machine has too many open files.",
        "Close workspaces, followers and files that you do not need, or raise the limit (`ulimit -n 4096`). "
        "Then try again.",
    )


def outside(path: str, *roots: str) -> bool:
    """Whether a real, absolute path is outside all the directories `roots`."""
    whole = path if path.endswith(os.sep) else path + os.sep
    return not whole.startswith(tuple([root if root.endswith(os.sep) else root + os.sep for root in roots]))
