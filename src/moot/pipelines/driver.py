"""Which process works on a run. File locks show it, because the system releases them when a process ends.

    drivers/p-TOKEN                 locked by a process as long as it runs stages. Runs and seats carry the token
    drivers/p-TOKEN.RUN.agent       locked while a command runs for that run. The command inherits the lock, because it
                                    may outlive a process that was killed
    drivers/p-TOKEN.RUN.note        which process that command is. The command does not inherit this file: what it can
                                    write is not believed

A token without a locked file is dead: that is the evidence by which an interrupted run is recognised, and its seat
taken back. Nobody has to remove a file by hand: the next process that finds its owner dead removes it.
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
from moot.core.record import Record
from moot.place.escaped import new_mark, signal_escaped, start_of
from moot.place.private_files import locked, make_folder, open_private, read_private, unsafe
from moot.runs.driver_lock import is_driven

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

_FOLDER = "drivers"
_GRACE = 2.0  # seconds between SIGTERM and SIGKILL for a command whose process died
_TICK = 0.02
_NOTE = 64  # bytes


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
    """The lock that the commands of a run inherit, and the note about the command that was started last."""

    def __init__(self, state: str, token: str, run: str) -> None:
        self._files, self.mark = _CommandFiles.at(state, token, run), new_mark()
        self.file = open_private(self._files.lock, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._note = open_private(self._files.note, os.O_WRONLY | os.O_CREAT)

    def close(self) -> None:
        """The end of the last command was recorded, or will be by the next process."""
        self._files.discard()
        os.close(self._note)
        os.close(self.file)

    def started(self, group: int, since: int | None) -> None:
        os.pwrite(self._note, f"{group} {since} {self.mark}".ljust(_NOTE).encode(), 0)


def is_alive(state: str, token: str) -> bool:
    """Whether the process with this token still runs."""
    return bool(token) and is_driven(state, token)


def bury(state: str, token: str, run: str) -> bool:
    """Remove what a dead process left, and end the command that it was running. Whether that command is gone."""
    files = _CommandFiles.at(state, token, run)
    gone = _ended(files)
    files.discard()
    if not is_alive(state, token):
        _discard(os.path.join(state, _FOLDER, file_name(token)))
    return gone


class _CommandFiles(Record):
    """The paths of the lock of a command, and of the note about it."""

    lock: str
    note: str

    @classmethod
    def at(cls, state: str, token: str, run: str) -> _CommandFiles:
        lock, note = (os.path.join(state, _FOLDER, file_name(f"{token}.{run}.{end}")) for end in ("agent", "note"))
        return cls(lock, note)

    def discard(self) -> None:
        _discard(self.lock)
        _discard(self.note)


def _ended(files: _CommandFiles) -> bool:
    """End an orphaned command and all that it started. True if nothing holds its lock any more."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _is_locked(files.lock):
            return True
        note = _noted(files.note)
        now = start_of(note.group) if note.start is not None else None
        if note.start is None or now not in (None, note.start):
            return False  # the number may belong to other processes by now
        signalled = signal_escaped(number, note.group, note.start, note.mark)
        if now is not None:  # otherwise a group with this number may be another one
            signalled = _signal_group(note.group, number) or signalled
        if not signalled:
            return not _is_locked(files.lock)
        until = time.monotonic() + _GRACE
        while _is_locked(files.lock) and time.monotonic() < until:
            time.sleep(_TICK)
    return not _is_locked(files.lock)


def _signal_group(group: int, number: signal.Signals) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _is_locked(path: str) -> bool:
    try:
        file = open_private(path, os.O_RDWR)
    except (OSError, Unavailable):
        return False
    try:
        return not locked(file)
    finally:
        os.close(file)


class _Note(Record):
    """The process group of a command, when its first process started, and the mark in the environment of all."""

    group: int = 0
    start: int | None = None
    mark: str = ""


def _noted(path: str) -> _Note:
    try:
        group, start, mark = read_private(path, _NOTE).decode("ascii", "replace").split()
        return _Note(int(group), int(start), mark) if int(group) > 1 else _Note()
    except (OSError, Unavailable, ValueError):
        return _Note()


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
