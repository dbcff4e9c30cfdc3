"""Which process works on a run. File locks show it, because the system releases them when a process ends.

    drivers/p-TOKEN                 locked by a process as long as it runs stages. Runs and seats carry the token
    drivers/p-TOKEN.RUN.agent       locked while a command runs for that run. The command inherits the lock, because it
                                    may outlive a process that was killed

A token without a locked file is dead: that is the evidence by which an interrupted run is recognised, and its seat
taken back. Nobody ever has to remove a file: one that is left behind is removed by whoever finds its process dead.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading  # noqa: TID253 (this module itself is loaded on demand)
import time
from secrets import token_hex

from moot.core.errors import Unavailable
from moot.core.ids import file_name
from moot.private_files import locked, make_folder, open_private, read_private, unsafe
from moot.runs.driver_lock import is_driven

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

_FOLDER = "drivers"
_GRACE = 2.0  # seconds between SIGTERM and SIGKILL for a command whose process died
_TICK = 0.02


class Driver:
    """The lock of this process for one workspace, while it runs stages. A context, also for several threads."""

    _held: dict[tuple[int, str], Driver] = {}  # noqa: RUF012 (by process and state directory)
    _guard = threading.Lock()

    def __init__(self, state: str) -> None:
        self.token = f"p-{token_hex(6)}"
        self._path = os.path.join(state, _FOLDER, self.token)
        self._file = -1
        self._users = 0

    @classmethod
    def of(cls, state: str) -> Driver:
        with cls._guard:
            return cls._held.setdefault((os.getpid(), state), cls(state))

    def __enter__(self) -> Self:
        with self._guard:
            self._users += 1
            if self._users == 1:
                self._lock()
        return self

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._users -= 1
            if not self._users:
                _discard(self._path)
                os.close(self._file)
                for key in [key for key, one in self._held.items() if one is self]:
                    del self._held[key]

    def _lock(self) -> None:
        try:
            make_folder(os.path.dirname(self._path))
            if os.path.islink(os.path.dirname(self._path)):
                raise unsafe(os.path.dirname(self._path), "it is a link")
            self._file = open_private(self._path, os.O_RDWR | os.O_CREAT)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(self._file, str(os.getpid()).encode())
        except OSError as error:
            self._users = 0
            raise Unavailable(
                "driver_unwritable",
                f"Stages cannot be run: {error.strerror} ({os.path.dirname(self._path)}).",
                "Make the state directory writable, or free some disk space.",
            ) from error


class CommandLock:
    """The lock that the command of a run inherits. It contains the process group and when its first process started."""

    def __init__(self, state: str, token: str, run: str) -> None:
        self._path = _agent_file(state, token, run)
        self.file = open_private(self._path, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The end of the command was recorded, or will be by the next process."""
        _discard(self._path)
        os.close(self.file)

    def started(self, group: int) -> None:
        os.pwrite(self.file, f"{group} {_start_of(group) or ''}".encode(), 0)


def is_alive(state: str, token: str) -> bool:
    """Whether the process with this token still runs."""
    return bool(token) and is_driven(state, token)


def bury(state: str, token: str, run: str) -> bool:
    """Remove what a dead process left, and end the command that it was running. Whether that command is gone."""
    path = _agent_file(state, token, run)
    gone = _ended(path)
    _discard(path)
    if not is_alive(state, token):
        _discard(os.path.join(state, _FOLDER, file_name(token)))
    return gone


def _agent_file(state: str, token: str, run: str) -> str:
    return os.path.join(state, _FOLDER, file_name(f"{token}.{run}.agent"))


def _ended(path: str) -> bool:
    """End the process group of an orphaned command. True if nothing holds its lock any more."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _is_locked(path):
            return True
        group, start = _noted(path)
        if not group or start is None or _start_of(group) not in (None, start):
            return False  # the number may belong to other processes by now
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            return not _is_locked(path)
        until = time.monotonic() + _GRACE
        while _is_locked(path) and time.monotonic() < until:
            time.sleep(_TICK)
    return not _is_locked(path)


def _is_locked(path: str) -> bool:
    try:
        file = open_private(path, os.O_RDWR)
    except (OSError, Unavailable):
        return False
    try:
        return not locked(file)
    finally:
        os.close(file)


def _noted(path: str) -> tuple[int, str | None]:
    """The process group of a command, and when its first process started."""
    try:
        group, _, start = read_private(path, 64).decode("ascii", "replace").partition(" ")
    except (OSError, Unavailable):
        return 0, None
    return (int(group), start or None) if group.isdigit() and int(group) > 1 else (0, None)


def _start_of(process: int) -> str | None:
    """When a process started, as the system counts; None if there is none, or the system does not say."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read(1024).rpartition(b")")[2].split()[19].decode("ascii")
    except (OSError, IndexError):
        return None


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
