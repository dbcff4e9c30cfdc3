"""File locks: who performs an effect, who drives a pack, which process works on a run, and which command still runs.

The system releases a lock when the last process that has the file open ends. So a lock never outlives its holder, and
nobody has to remove a file by hand. In a state directory:

    runners                  shared by all runners: a process that can lock it alone knows there are none
    effects/ID               held while an effect is performed. The command inherits it, because it may outlive its
                             runner, and the effect must not run twice at the same time
    drivers/PACK             held by the one driver of a pack
    drivers/p-TOKEN          held by a process as long as it works on runs, which record the token: a token that nobody
                             holds is the evidence that their process has died
    drivers/NAME.agent       held while a command runs for a driver or a run. The command inherits it
    drivers/NAME.note        which process that command is. The command does not inherit this file: what it can write
                             is not believed
    effects.lock, drivers.lock   held briefly while a lock below that folder is taken or removed

A holder writes into its file who it is (`note`). `core.ids.file_name` makes names from ids (`path_of`).
"""

from __future__ import annotations

import fcntl
import os
import time
from _thread import allocate_lock  # `threading` costs more to load
from contextlib import contextmanager

from moot.core.errors import Unavailable
from moot.core.ids import file_name
from moot.place.private_files import check_folders, discard, is_still, locked, open_private, read_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

EFFECTS, DRIVERS = "effects", "drivers"
_RUNNERS = "runners"
_AGENT, _NOTE = ".agent", ".note"
_LONGEST = 200  # bytes of a note
_TICK = 0.02
_GRACE = 2.0  # seconds between SIGTERM and SIGKILL for a command whose process died


class Lock:
    """A lock that this process holds. A command that inherits `file` holds it, too, until it ends."""

    def __init__(self, path: str, file: int, *, shared: bool = False) -> None:
        self.path = path
        self.file = file
        self._shared = shared

    def note(self, text: str) -> None:
        """Write who holds it, in place of what was there."""
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, _bounded(text).encode(), 0)

    def release(self) -> None:
        """Remove the name of the file, unless the lock was taken over, and close it."""
        try:
            if not self._shared:
                with _guard(os.path.dirname(self.path)):
                    if is_still(self.path, self.file):
                        os.unlink(self.path)
        except (OSError, Unavailable):
            pass  # only the name remains
        os.close(self.file)


def path_of(state: str, folder: str, name: str) -> str:
    return os.path.join(state, folder, file_name(name))


def take(path: str, note: str = "", *, patience: float = 0.0) -> Lock | None:
    """Take a lock. None while another process holds it, after `patience` seconds."""
    until = time.monotonic() + patience
    while (lock := _taken(path, note)) is None and time.monotonic() < until:
        time.sleep(_TICK)
    return lock


def take_over(path: str, note: str, over: str) -> Lock | None:
    """Take a lock from a holder whose note is `over`, which was silent for too long. None if another has it by now.

    The holder keeps a lock on a file that no longer has a name.
    """
    return _taken(path, note, over)


def share(path: str) -> Lock:
    """A lock that others can share. Its file keeps its name."""
    try:
        file = open_private(path, os.O_RDWR | os.O_CREAT)
        fcntl.flock(file, fcntl.LOCK_SH)  # `is_held` holds it only briefly
    except OSError as error:
        raise _unwritable(path, error) from error
    return Lock(path, file, shared=True)


def is_held(path: str) -> bool:
    """Whether a process holds the lock. Costs an open and a lock. True if it cannot be determined."""
    try:
        file = open_private(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    except (OSError, Unavailable):
        return True
    try:
        return not locked(file)
    finally:
        os.close(file)


def note_of(path: str) -> str:
    """What the holder of a lock has written; empty if that is unknown."""
    try:
        return read_private(path, _LONGEST).decode("utf-8", "replace")
    except (OSError, Unavailable):
        return ""


def sweep(folder: str, before: float) -> int:
    """Remove the lock files that nobody holds and that were last changed before then. Returns the number removed."""
    removed = 0
    if not os.path.isdir(folder):
        return removed
    with _guard(folder):
        for item in os.scandir(folder):
            if not item.is_file(follow_symlinks=False) or item.stat(follow_symlinks=False).st_mtime >= before:
                continue
            if not is_held(item.path):
                removed += discard(item.path)
    return removed


def _taken(path: str, note: str, over: str | None = None) -> Lock | None:
    try:
        with _guard(os.path.dirname(path)):
            if over is not None and note_of(path) in ("", _bounded(over)):
                discard(path)
            file = open_private(path, os.O_RDWR | os.O_CREAT)
            try:
                if locked(file):
                    lock = Lock(path, file)
                    lock.note(note)
                    return lock
            except BaseException:
                os.close(file)
                raise
            os.close(file)
    except OSError as error:
        raise _unwritable(path, error) from error
    return None


@contextmanager
def _guard(folder: str) -> Iterator[None]:
    """Without it, a name could be removed while another process locks the file, and two would hold the lock."""
    check_folders(*os.path.split(folder), make=True)
    file = open_private(f"{folder}.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _bounded(text: str) -> str:
    return text.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore")


def _unwritable(path: str, error: OSError) -> Unavailable:
    return Unavailable(
        "lock_unwritable",
        f"The lock {path} cannot be taken: {error.strerror}.",
        "Make the state directory writable, or free some disk space.",
        path=path,
    )


# --- runners and drivers ---------------------------------------------------------------------------------------------


def share_runners(state: str) -> Lock:
    """The lock that shows that this process is a runner."""
    return share(os.path.join(state, _RUNNERS))


def anybody_runs(state: str) -> bool:
    """Whether a runner performs effects. True if it cannot be determined: no false warnings."""
    return is_held(os.path.join(state, _RUNNERS))


def is_alive(state: str, token: str) -> bool:
    """Whether the process with this token still works on runs; of a pack: whether a driver works on it."""
    return bool(token) and is_held(path_of(state, DRIVERS, token))


class Driver:
    """This process, while it works on runs in one workspace. A context, also for several threads."""

    _known: dict[tuple[int, str], Driver] = {}  # noqa: RUF012 (by process and state directory)
    _mutex = allocate_lock()

    def __init__(self, state: str) -> None:
        self.token = f"p-{os.urandom(6).hex()}"
        self._state = state
        self._lock: Lock | None = None
        self._users = 0

    @classmethod
    def of(cls, state: str) -> Driver:
        with cls._mutex:
            return cls._known.setdefault((os.getpid(), state), cls(state))

    def __enter__(self) -> Self:
        with self._mutex:
            if self._lock is None:
                self._lock = take(path_of(self._state, DRIVERS, self.token), str(os.getpid()))
            self._users += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._mutex:
            self._users -= 1
            if not self._users and self._lock is not None:
                self._lock.release()
                self._lock = None
                self._known.pop((os.getpid(), self._state), None)


# --- commands --------------------------------------------------------------------------------------------------------


class CommandLock:
    """Held while commands run under this name, one at a time. Each inherits `file`, and has `mark` in its environment.

    A process that an earlier command started, and that escaped it, may still hold the file of an earlier lock: that
    file loses its name.
    """

    def __init__(self, state: str, name: str) -> None:
        from moot.place.escaped import new_mark

        self._path, self.mark = path_of(state, DRIVERS, name), new_mark()
        try:
            check_folders(state, DRIVERS, make=True)
            _forget(self._path)
            self.file = open_private(self._path + _AGENT, os.O_RDWR | os.O_CREAT)
            locked(self.file)
            self._note = open_private(self._path + _NOTE, os.O_WRONLY | os.O_CREAT)
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def started(self, process: int, since: int | None) -> None:
        """Note the process group of a command, and when it started."""
        os.pwrite(self._note, f"{process} {since} {self.mark}".ljust(_LONGEST).encode(), 0)

    def ended(self) -> None:
        """Call this after the end of the last command was recorded."""
        _forget(self._path)
        os.close(self._note)
        os.close(self.file)


def left_of(state: str, name: str) -> int | None:
    """The process group of a command that still runs although its process died; 0 if the group is not known."""
    path = path_of(state, DRIVERS, name)
    return _noted(path)[0] if is_held(path + _AGENT) else None


def end_what_is_left(state: str, name: str) -> bool:
    """End a command whose process died, and all that it started, and no other process. True if nothing is left."""
    path = path_of(state, DRIVERS, name)
    if is_held(path + _AGENT):
        _end(path)
    gone = not is_held(path + _AGENT)
    if gone:
        _forget(path)
    return gone


def bury(state: str, token: str, name: str) -> bool:
    """End the command `name` of a dead process, and remove what that process left. Whether the command is gone."""
    gone = end_what_is_left(state, name)
    if not is_alive(state, token):
        discard(path_of(state, DRIVERS, token))
    return gone


def _end(path: str) -> None:
    import signal

    from moot.place.escaped import signal_escaped, start_of

    for number in (signal.SIGTERM, signal.SIGKILL):
        group, since, mark = _noted(path)
        now = start_of(group) if group else None
        if not group or not since or now not in (None, since):
            return  # the number may belong to other processes by now
        signalled = signal_escaped(number, group, since, mark)
        if now is not None:  # otherwise a group with this number may be another one
            signalled = _signal_group(group, number) or signalled
        until = time.monotonic() + _GRACE
        while signalled and is_held(path + _AGENT) and time.monotonic() < until:
            time.sleep(_TICK)
        if not signalled or not is_held(path + _AGENT):
            return


def _signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _noted(path: str) -> tuple[int, int, str]:
    """The process group of a command, when its first process started, and its mark. Zeros if that is not known."""
    try:
        group, since, mark = note_of(path + _NOTE).split()
        return (int(group), int(since) if since.isdigit() else 0, mark) if int(group) > 1 else (0, 0, "")
    except ValueError:
        return 0, 0, ""


def _forget(path: str) -> None:
    discard(path + _NOTE)
    discard(path + _AGENT)
