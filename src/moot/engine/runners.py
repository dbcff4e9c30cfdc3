"""Who performs effects here, told by locks that end with their process, however it ends.

    runners          shared by all that perform effects; whoever can have it alone knows that there are none
    effects/<id>     held while an effect is being performed, also by the command that does it: it may outlive its
                     runner, and a repeat beside it would be the very thing that nobody wants

Nothing here decides that an effect may be taken: it says what is known to be dead.
"""

from __future__ import annotations

import fcntl
import os

from moot.core.errors import Unavailable

_TRIES = 100


def anybody_runs(state: str) -> bool:
    """Whether somebody performs effects. Costs an open and a lock; if it cannot be told, nobody is alarmed."""
    try:
        file = os.open(os.path.join(state, "runners"), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return not _locked(file, fcntl.LOCK_EX)
    finally:
        os.close(file)


class Running:
    """The sign of one runner that it is there."""

    def __init__(self, state: str) -> None:
        try:
            self._file = os.open(os.path.join(state, "runners"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_SH)  # whoever looks has it for a moment only
        except OSError as error:
            raise _unavailable(state, error) from error

    def close(self) -> None:
        os.close(self._file)


class Grip:
    """The lock of one effect. `file` may be inherited by what performs it."""

    def __init__(self, path: str, file: int) -> None:
        self._path = path
        self.file = file

    def release(self) -> None:
        """After the outcome was appended, or if the effect was not taken."""
        try:
            if _is_still(self._path, self.file):  # else another one has it by now
                os.unlink(self._path)
        except OSError:
            pass  # it is only a name; the lock goes with the file
        os.close(self.file)


def grip(state: str, effect: str) -> Grip | None:
    """The lock of an effect, None while another process has it."""
    directory = os.path.join(state, "effects")
    path = os.path.join(directory, effect)
    try:
        for _ in range(_TRIES):
            try:
                file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:
                os.makedirs(directory, 0o700, exist_ok=True)
                continue
            if not _locked(file, fcntl.LOCK_EX):
                os.close(file)
                return None
            if _is_still(path, file):
                return Grip(path, file)
            os.close(file)  # its owner removed it just now: that lock means nothing any more
    except OSError as error:
        raise _unavailable(state, error) from error
    return None


def seize(state: str, effect: str) -> Grip | None:
    """The lock of an effect whose holder was silent for too long. That one keeps a lock that has no name any more."""
    try:
        os.unlink(os.path.join(state, "effects", effect))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _unavailable(state, error) from error
    return grip(state, effect)


def _locked(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(path: str, file: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False


def _unavailable(state: str, error: OSError) -> Unavailable:
    return Unavailable(
        "runner_unwritable",
        f"Effects cannot be performed: {error.strerror} ({state}).",
        "Make the state directory writable, or free some space.",
    )
