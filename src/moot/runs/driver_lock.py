"""Which driver works on a pack here. File locks show it, because the system releases them when a process ends.

    drivers/<pack>          locked by the driver as long as it lives. It contains the id of its process
    drivers/<pack>.agent    locked while the command of an agent runs. The command inherits the lock, because it may
                            outlive a driver that was killed; then nobody starts a second one beside it

So there is never a lock to remove by hand. A child of a command that moved to another session may still hold the second
lock after the driver has recorded the end of the command; the driver then unlinks the file.
"""

from __future__ import annotations

import fcntl
import os
import time

from moot.core.errors import Held, Unavailable
from moot.core.ids import file_name
from moot.core.text import command_line
from moot.engine.runners import is_held
from moot.place.private_files import locked, make_folder, open_private, read_private, unsafe

_LONGEST = 20  # bytes of a process id
_PATIENCE = 0.5  # seconds


class DriverLock:
    """The lock of the one driver of a pack. Raises `Held` while another process has it."""

    def __init__(self, state: str, pack: str) -> None:
        self._agent = os.path.join(state, "drivers", f"{file_name(pack)}.agent")
        path = os.path.join(state, "drivers", file_name(pack))
        try:
            make_folder(os.path.dirname(path))
            if os.path.islink(os.path.dirname(path)):
                raise unsafe(os.path.dirname(path), "it is a link")
            self._file = open_private(path, os.O_RDWR | os.O_CREAT)
            if _is_ours(self._file):
                os.ftruncate(self._file, 0)
                os.write(self._file, str(os.getpid()).encode())
                return
        except OSError as error:
            raise _unavailable(state, error) from error
        os.close(self._file)
        process = _content(path)
        raise Held(
            "already_driven",
            f"Another `{command_line('run', pack)}` drives this workspace{f' (process {process})' if process else ''}.",
            f"Let it finish, or stop it: `kill {process}`." if process else "Let it finish, or stop it.",
            pack=pack,
            process=int(process) if process else None,
        )

    def lock_agent(self) -> int:
        """Lock the file of an agent's command. The command inherits the returned descriptor."""
        try:
            _discard(self._agent)
            file = open_private(self._agent, os.O_RDWR | os.O_CREAT)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise _unavailable(os.path.dirname(self._agent), error) from error
        return file

    def agent_started(self, file: int, process: int) -> None:
        """Note the process group of the command, for people."""
        os.write(file, str(process).encode())

    def agent_ended(self, file: int) -> None:
        """Call this after the end of the command was recorded."""
        _discard(self._agent)
        os.close(file)

    def orphan(self) -> str | None:
        """The process group of a command whose driver was killed and that still runs; empty if it is not known."""
        try:
            file = open_private(self._agent, os.O_RDWR)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unavailable(os.path.dirname(self._agent), error) from error
        try:
            return None if locked(file) else _content(self._agent)
        finally:
            os.close(file)

    def release(self) -> None:
        os.close(self._file)


def is_driven(state: str, pack: str) -> bool:
    """Whether a driver of the pack lives. True if that cannot be determined: no false alarms."""
    return is_held(os.path.join(state, "drivers", file_name(pack)))


def _is_ours(file: int) -> bool:
    """Lock the file. Other commands hold it for an instant, to find out whether a driver lives."""
    until = time.monotonic() + _PATIENCE
    while not (mine := locked(file)) and time.monotonic() < until:
        time.sleep(_PATIENCE / 20)
    return mine


def _content(path: str) -> str:
    try:
        found = read_private(path, _LONGEST).decode("ascii", "replace")
    except (OSError, Unavailable):
        return ""
    return found if found.isdigit() else ""


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _unavailable(state: str, error: OSError) -> Unavailable:
    return Unavailable(
        "driver_unwritable",
        f"Agents cannot be driven: {error.strerror} ({state}).",
        "Make the state directory writable, or free some disk space.",
    )
