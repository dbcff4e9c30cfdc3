"""Who performs effects here, told by locks that end with their process, however it ends.

    runners          shared by all that perform effects; whoever can have it alone knows that there are none
    effects/<name>   held while the effect of that id is being performed, also by the command that does it: it may
                     outlive its runner, and a repeat beside it would be the very thing that nobody wants.
                     It names the runner. The file's name is made from the id by `core.ids.file_name`
    effects.lock     held for a moment by whoever makes, judges or removes one of those: a name stands for one file

Nothing here decides that an effect may be taken: it says what is known to be dead.
"""

from __future__ import annotations

import fcntl
import os

from moot.core.errors import Unavailable
from moot.core.ids import file_name
from moot.private_files import is_still, locked, make_folder, open_private, read_private, unsafe

_LONGEST = 200  # bytes of a runner's name


def anybody_runs(state: str) -> bool:
    """Whether somebody performs effects. Costs an open and a lock; if it cannot be told, nobody is alarmed."""
    try:
        file = open_private(os.path.join(state, "runners"), os.O_RDWR)
    except FileNotFoundError:
        return False
    except (OSError, Unavailable):
        return True
    try:
        return not locked(file)
    finally:
        os.close(file)


class Running:
    """The sign of one runner that it is there."""

    def __init__(self, state: str) -> None:
        try:
            self._file = open_private(os.path.join(state, "runners"), os.O_RDWR | os.O_CREAT)
            fcntl.flock(self._file, fcntl.LOCK_SH)  # whoever looks has it for a moment only
        except OSError as error:
            raise _unavailable(state, error) from error

    def close(self) -> None:
        os.close(self._file)


class Grip:
    """The lock of one effect. `file` may be inherited by what performs it."""

    def __init__(self, state: str, effect: str, file: int) -> None:
        self._state = state
        self._effect = effect
        self.file = file

    def release(self) -> None:
        """After the outcome was appended, or if the effect was not taken."""
        try:
            with _Turn(self._state):
                path = _path(self._state, self._effect)
                if is_still(path, self.file):  # else another one has seized it by now
                    os.unlink(path)
        except (OSError, Unavailable):
            pass  # it is only a name; the lock goes with the file
        os.close(self.file)


def grip(state: str, effect: str, runner: str) -> Grip | None:
    """The lock of an effect, None while another process has it."""
    try:
        with _Turn(state):
            return _gripped(state, effect, runner)
    except OSError as error:
        raise _unavailable(state, error) from error


def seize(state: str, effect: str, runner: str, over: str) -> Grip | None:
    """The lock of an effect whose holder `over` was silent for too long; None if it is another's by now.

    That one keeps a lock that has no name any more.
    """
    try:
        with _Turn(state):
            if _holder(state, effect) in (b"", _written(over)):
                os.unlink(_path(state, effect))
            return _gripped(state, effect, runner)
    except OSError as error:
        raise _unavailable(state, error) from error


def sweep(state: str, before: float) -> int:
    """Remove the locks that nobody holds and nobody has touched since then. How many they were."""
    folder, gone = os.path.join(state, "effects"), 0
    if not os.path.isdir(folder):
        return 0
    with _Turn(state):
        for item in os.scandir(folder):
            if not item.is_file(follow_symlinks=False) or item.stat(follow_symlinks=False).st_mtime >= before:
                continue
            file = open_private(item.path, os.O_RDWR)
            try:
                if locked(file):
                    os.unlink(item.path)
                    gone += 1
            finally:
                os.close(file)
    return gone


def _gripped(state: str, effect: str, runner: str) -> Grip | None:
    file = open_private(_path(state, effect), os.O_RDWR | os.O_CREAT)
    try:
        if locked(file):
            os.ftruncate(file, 0)
            os.write(file, _written(runner))
            return Grip(state, effect, file)
    except BaseException:
        os.close(file)
        raise
    os.close(file)
    return None


def _holder(state: str, effect: str) -> bytes | None:
    try:
        return read_private(_path(state, effect), _LONGEST)
    except FileNotFoundError:
        return None


def _path(state: str, effect: str) -> str:
    return os.path.join(state, "effects", file_name(effect))


def _written(runner: str) -> bytes:
    return runner.encode("utf-8", "replace")[:_LONGEST]


class _Turn:
    """Nobody else makes or removes the lock of an effect meanwhile."""

    def __init__(self, state: str) -> None:
        folder = os.path.join(state, "effects")
        make_folder(folder)
        if os.path.islink(folder):
            raise unsafe(folder, "it is a link")
        self._file = open_private(os.path.join(state, "effects.lock"), os.O_RDWR | os.O_CREAT)

    def __enter__(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError:
            os.close(self._file)
            raise

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def _unavailable(state: str, error: OSError) -> Unavailable:
    return Unavailable(
        "runner_unwritable",
        f"Effects cannot be performed: {error.strerror} ({state}).",
        "Make the state directory writable, or free some space.",
    )
