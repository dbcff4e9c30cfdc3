"""The bell: wakes followers in other processes as soon as something was appended.

Every listener binds a datagram socket in one small directory; whoever appended sends a byte to each. It is a hint
and may get lost: followers also look by themselves. So nothing in here ever fails, it is only quieter.

The directory must be short (a socket's path has room for about 100 bytes) and private, so it is not inside the
log's. It is named by device and inode of the log's directory, the same however the path is spelled.
"""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

_LONGEST_RUNTIME = 40
_LONGEST_PATH = 103  # macOS has 104 bytes with the final zero, Linux 108


def directory_for(log_directory: str) -> str:
    """Where those who follow this log are found."""
    user = os.getuid()
    try:
        found = os.stat(log_directory)
        name = f"{found.st_dev:x}-{found.st_ino:x}"
    except OSError:
        name = "nowhere"
    for runtime in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{user}"):
        if runtime.startswith("/") and len(os.fsencode(runtime)) <= _LONGEST_RUNTIME and _is_ours(runtime):
            return os.path.join(runtime, "moot", name)
    return f"/tmp/moot-{user}/{name}"  # noqa: S108 (only used if it is private, see below)


def ring(directory: str) -> None:
    """Wake everybody who listens. Cheap when nobody does."""
    if not os.access(directory, os.F_OK):  # mostly nobody listens, and raising an error would cost more than asking
        return
    try:
        names = os.listdir(directory)
    except OSError:
        return
    if not names or not _is_private(directory):
        return
    # `socket` would cost a short command half an interpreter start; this is the part of it that we need.
    import _socket

    bell = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
    try:
        bell.setblocking(False)
        for name in names:
            _send(bell, os.path.join(directory, name))
    finally:
        bell.close()


def _send(bell: _socket.socket, path: str) -> None:
    try:
        bell.sendto(b"!", path)
    except ConnectionRefusedError:
        _remove(path)  # its listener died
    except OSError:
        pass  # it has enough to wake up for, or has just left


class Listener:
    """Hears the bell from the moment it is made. Where that cannot be, `wait` is only a pause."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, os.urandom(5).hex())
        self._pid = os.getpid()
        self._socket = self._bind() or self._bind()  # again: another one may have removed the empty directory

    def wait(self, timeout: float, stop: int | None = None) -> bool:
        """True if the bell was rung, False if `timeout` seconds passed in silence, or `stop` can be read."""
        if stop is not None:
            heard = readable(timeout, stop, *(() if self._socket is None else (self._socket.fileno(),)))
            if self._socket is None or self._socket.fileno() not in heard:
                return False
        if self._socket is None:
            time.sleep(timeout)
            return False
        try:
            self._socket.settimeout(timeout)
            self._socket.recv(1)
        except OSError:  # which a timeout is, too
            return False
        self._drain(self._socket)
        return True

    def close(self) -> None:
        """Listen no more."""
        if self._socket is None:
            return
        self._socket.close()
        self._socket = None
        if self._pid == os.getpid():  # not in a forked child, whose parent still listens
            _remove(self._path)
            try:
                os.rmdir(self._directory)
            except OSError:
                pass  # others listen

    def _bind(self) -> _socket.socket | None:
        import _socket

        if len(os.fsencode(self._path)) > _LONGEST_PATH or not _make_private(self._directory):
            return None
        ear = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
        try:
            ear.bind(self._path)
        except OSError:
            ear.close()
            return None
        return ear

    @staticmethod
    def _drain(ear: _socket.socket) -> None:
        ear.setblocking(False)
        try:
            while True:
                ear.recv(1)
        except OSError:
            pass


def readable(timeout: float, *files: int) -> list[int]:
    """Those of the files that have something to read, or whose other end was closed, as soon as one does."""
    import select

    poll = select.poll()  # `select.select` would know only the first thousand files of a process
    for file in files:
        poll.register(file, select.POLLIN)
    return [file for file, _ in poll.poll(max(0.0, timeout) * 1000)]


def _make_private(directory: str) -> bool:
    for place in (os.path.dirname(directory), directory):
        try:
            os.mkdir(place, 0o700)
        except FileExistsError:
            pass
        except OSError:
            return False
    return _is_private(directory)


def _is_private(directory: str) -> bool:
    """Whether nobody else can have put sockets there: we own it alone, and nobody can exchange it."""
    return _is_ours(directory) and _is_safe_above(os.path.dirname(directory))


def _is_ours(directory: str) -> bool:
    try:
        found = os.lstat(directory)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _is_safe_above(directory: str) -> bool:
    """Ours or root's; if others may write to it, then as to /tmp: not to what is not theirs."""
    try:
        found = os.stat(directory)
    except OSError:
        return False
    return found.st_uid in {0, os.getuid()} and (not found.st_mode & 0o022 or bool(found.st_mode & stat.S_ISVTX))


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
