"""The bell: wakes followers in other processes after an append.

Every listener binds a datagram socket in one directory; an appending process sends a byte to each. This is a hint and
may get lost, because followers also poll. So nothing here raises an error; followers are only woken later.

The path must be short (a socket path is limited to about 100 bytes) and private, so it is not inside the log's
directory. It is named by device and inode of the log's directory, so that every spelling of the path gives the same.
A listener removes its socket, and the directory with the last one. The next ring removes what killed listeners leave.
"""

from __future__ import annotations

import os
import stat
import time

from moot.place.private_files import discard

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

_LONGEST_RUNTIME = 40
_MOST = 1_000  # entries of a directory to look at
_LONGEST_PATH = 103  # macOS allows 104 bytes including the final zero, Linux 108


def directory_for(log_directory: str) -> str:
    """The directory with the sockets of this log's followers."""
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
    """Wake all listeners. Cheap if there are none."""
    if not os.access(directory, os.F_OK):  # usually there are no listeners, and a check is cheaper than an exception
        return
    try:
        names = os.listdir(directory)
    except OSError:
        return
    if not names or not _is_private(directory):
        return
    # Importing `socket` would cost a short command half an interpreter start; `_socket` is enough.
    import _socket

    bell = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
    try:
        bell.setblocking(False)
        for name in names:
            _send(bell, os.path.join(directory, name))
    finally:
        bell.close()


def listeners(directory: str) -> int:
    """How many listeners there are. They do not notice."""
    return sum(map(_is_heard, _sockets(directory))) if _is_private(directory) else 0


def clear(directory: str) -> None:
    """Remove the sockets of listeners that are dead, and the directory unless there are others."""
    if not _is_private(directory):
        return
    for path in _sockets(directory):
        if not _is_heard(path):
            discard(path)
    try:
        os.rmdir(directory)
    except OSError:
        pass  # there are listeners


def _sockets(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as items:
            some = [item for _, item in zip(range(_MOST), items, strict=False)]
        return [item.path for item in some if stat.S_ISSOCK(item.stat(follow_symlinks=False).st_mode)]
    except OSError:
        return []


def _is_heard(path: str) -> bool:
    """Whether somebody listens at a socket. Sends nothing. True if it cannot be determined."""
    import _socket

    bell = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
    try:
        bell.connect(path)
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except OSError:
        return True
    finally:
        bell.close()
    return True


def _send(bell: _socket.socket, path: str) -> None:
    try:
        bell.sendto(b"!", path)
    except ConnectionRefusedError:
        discard(path)  # its listener is dead
    except OSError:
        pass  # its queue is full, or it has just closed


class Listener:
    """Receives wake-ups from its creation on. If it could not be bound, `wait` only sleeps."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, os.urandom(5).hex())
        self._pid = os.getpid()
        self._socket = self._bind() or self._bind()  # retry: another process may have removed the empty directory

    def wait(self, timeout: float, stop: int | None = None) -> bool:
        """True if the bell was rung; False after `timeout` seconds, or when `stop` is readable."""
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
        except OSError:  # including a timeout
            return False
        self._drain(self._socket)
        return True

    def close(self) -> None:
        """Stop listening."""
        if self._socket is None:
            return
        self._socket.close()
        self._socket = None
        if self._pid == os.getpid():  # not in a forked child, whose parent still listens
            discard(self._path)
            try:
                os.rmdir(self._directory)
            except OSError:
                pass  # there are other listeners

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
    """Wait until a file is readable or closed at the other end; return all such files."""
    import select

    poll = select.poll()  # `select.select` fails for descriptors above 1023
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
    """Whether only this account can have created sockets there."""
    return _is_ours(directory) and _is_safe_above(os.path.dirname(directory))


def _is_ours(directory: str) -> bool:
    try:
        found = os.lstat(directory)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _is_safe_above(directory: str) -> bool:
    """Whether the parent is ours or root's, and not writable by others unless it has the sticky bit."""
    try:
        found = os.stat(directory)
    except OSError:
        return False
    return found.st_uid in {0, os.getuid()} and (not found.st_mode & 0o022 or bool(found.st_mode & stat.S_ISVTX))
