"""Which runners perform effects here. File locks show it, because the system releases them when a process ends.

    runners          every runner holds a shared lock; a process that gets an exclusive lock knows there are no runners
    effects/<name>   locked while the effect with that id is performed. The command that performs it inherits the lock:
                     it may outlive its runner, and the effect must not run twice at the same time. The file contains
                     the name of the runner. `core.ids.file_name` makes its name from the id
    effects.lock     held briefly while one of those files is created, inspected or removed

This module does not decide whether an effect may be taken. It only reports which runners are dead.
"""

from __future__ import annotations

import fcntl
import os

from moot.core.errors import Unavailable
from moot.core.ids import file_name
from moot.place.private_files import is_still, locked, make_folder, open_private, read_private, unsafe

TYPE_CHECKING = False

_LONGEST = 200  # bytes of a runner's name


def anybody_runs(state: str) -> bool:
    """Whether a runner is active. Costs an open and a lock. True if it cannot be determined: no false warnings."""
    return is_held(os.path.join(state, "runners"))


def is_held(path: str) -> bool:
    """Whether a process holds the lock on a file. True if it cannot be determined."""
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


class Running:
    """The shared lock that shows that this runner is active."""

    def __init__(self, state: str) -> None:
        try:
            self._file = open_private(os.path.join(state, "runners"), os.O_RDWR | os.O_CREAT)
            fcntl.flock(self._file, fcntl.LOCK_SH)  # `anybody_runs` holds it only briefly
        except OSError as error:
            raise _unavailable(state, error) from error

    def close(self) -> None:
        os.close(self._file)


class EffectLock:
    """The lock of one effect. The process that performs it may inherit `file`."""

    def __init__(self, state: str, effect: str, file: int) -> None:
        self._state = state
        self._effect = effect
        self.file = file

    def release(self) -> None:
        """Call this after the outcome was appended, or if the effect was not taken."""
        path, ours = _path(self._state, self._effect), self.file
        try:
            with _Exclusive(self._state):
                if is_still(path, ours):  # otherwise another runner has taken it over
                    os.unlink(path)
        except (OSError, Unavailable):
            pass  # only the name remains; closing the file releases the lock
        os.close(ours)


def lock_effect(state: str, effect: str, runner: str) -> EffectLock | None:
    """Take the lock of an effect. None while another process holds it."""
    try:
        with _Exclusive(state):
            return _locked_effect(state, effect, runner)
    except OSError as error:
        raise _unavailable(state, error) from error


def take_over(state: str, effect: str, runner: str, over: str) -> EffectLock | None:
    """Take the lock of an effect from the runner `over`, which was silent for too long.

    None if another runner has it by now. `over` keeps a lock on a file that no longer has a name.
    """
    try:
        with _Exclusive(state):
            if _holder(state, effect) in (b"", _written(over)):
                os.unlink(_path(state, effect))
            return _locked_effect(state, effect, runner)
    except OSError as error:
        raise _unavailable(state, error) from error


def sweep(state: str, before: float) -> int:
    """Remove the lock files that nobody holds and that were last changed before then. Returns the number removed."""
    folder, removed = os.path.join(state, "effects"), 0
    if not os.path.isdir(folder):
        return 0
    with _Exclusive(state):
        for item in os.scandir(folder):
            if not item.is_file(follow_symlinks=False) or item.stat(follow_symlinks=False).st_mtime >= before:
                continue
            file = open_private(item.path, os.O_RDWR)
            try:
                if locked(file):
                    os.unlink(item.path)
                    removed += 1
            finally:
                os.close(file)
    return removed


def _locked_effect(state: str, effect: str, runner: str) -> EffectLock | None:
    file = open_private(_path(state, effect), os.O_RDWR | os.O_CREAT)
    try:
        if locked(file):
            os.ftruncate(file, 0)
            os.write(file, _written(runner))
            return EffectLock(state, effect, file)
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


class _Exclusive:
    """Holds `effects.lock`."""

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
        "Make the state directory writable, or free some disk space.",
    )
