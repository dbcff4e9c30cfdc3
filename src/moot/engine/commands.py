"""Running a command to its end: its output as it comes, digested and its tail kept; a limit of time for all of it.

Knows processes and nothing of receipts. Loaded only to run something.
"""

from __future__ import annotations

import hashlib  # noqa: TID253 (loaded on demand)
import os
import select
import signal
import subprocess  # noqa: TID253 (loaded on demand)
import time

from moot.core.errors import Usage
from moot.core.identity import without_person
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BEAT = 5.0  # seconds between signs of life
_PAUSE = 0.1
_AFTER = 1.0  # seconds that are left to what the command has left behind and still writes
_GRACE = 5.0  # seconds between asking a command to end and ending it


class Ran(Record):
    """What came of a command. A code above 128 is 128 and the number of the signal that ended it."""

    code: int
    seconds: float
    digest: str
    size: int
    tail: bytes
    timed_out: bool = False


def run(
    argv: Sequence[str],
    cwd: str,
    *,
    tail: int,
    timeout: float | None = None,
    show: Callable[[bytes], object] | None = None,
    alive: Callable[[], object] | None = None,
) -> Ran:
    """Run it in its own process group, without a shell and without input. Both its outputs are one."""
    try:
        child = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=without_person(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
    except FileNotFoundError:
        raise Usage("no_such_command", f"There is no command {argv[0]!r}.", "Check the name and PATH.") from None
    except (OSError, ValueError) as error:
        raise Usage("not_runnable", f"{argv[0]} cannot be run: {error}.", "Check its rights and arguments.") from None
    assert child.stdout is not None
    with child.stdout:
        try:
            return _Listening(child, child.stdout.fileno(), tail, show).to_the_end(timeout, alive)
        except BaseException:  # interrupted: nothing of it goes on behind our back
            _end(child)
            raise


class _Listening:
    def __init__(
        self, child: subprocess.Popen[bytes], pipe: int, tail: int, show: Callable[[bytes], object] | None
    ) -> None:
        self._child = child
        self._pipe = pipe
        self._show = show
        self._digest = hashlib.sha256()
        self._size = 0
        self._kept = tail
        self._tail = b""

    def to_the_end(self, timeout: float | None, alive: Callable[[], object] | None) -> Ran:
        start = beat = time.monotonic()
        ended_at: float | None = None
        listening, timed_out = True, False
        while True:
            now = time.monotonic()
            if alive is not None and now - beat >= _BEAT:
                alive()
                beat = now
            if timeout is not None and now - start >= timeout and not timed_out and self._child.poll() is None:
                timed_out = True
                _end(self._child)
            came = self._hear() if listening else self._pause()
            listening = listening and came is not False
            if self._child.poll() is not None:
                ended_at = ended_at or time.monotonic()
                if not listening or came is None or now - ended_at > _AFTER:
                    break
        code = self._child.returncode
        return Ran(
            code=code if code >= 0 else 128 - code,
            seconds=round(ended_at - start, 3),
            digest=self._digest.hexdigest(),
            size=self._size,
            tail=self._tail,
            timed_out=timed_out,
        )

    def _hear(self) -> bool | None:
        """True: something came. None: nothing for now. False: nothing will come any more."""
        ready, _, _ = select.select([self._pipe], [], [], _PAUSE)
        if not ready:
            return None
        chunk = os.read(self._pipe, 1 << 16)
        self._digest.update(chunk)
        self._size += len(chunk)
        self._tail = (self._tail + chunk)[-self._kept :]
        if chunk and self._show is not None:
            self._show(chunk)
        return bool(chunk)

    def _pause(self) -> bool:
        """It has closed its output, and may still run."""
        try:
            self._child.wait(_PAUSE)
        except subprocess.TimeoutExpired:
            pass
        return False


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ask its whole group to end, and after a while make it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            child.wait(_GRACE)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
