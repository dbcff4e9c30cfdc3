"""Running other programs: the only place that starts one. There is no shell; arguments are passed as they are.

`run` gives a program a session of its own, without a terminal, so that it can be ended together with all that it
started: at its time limit, when the caller cancels it, or when the caller itself is interrupted. It reads all output,
and keeps the end of it. `foreground` gives a program our own terminal, inputs and outputs instead.

Knows nothing of receipts, effects or agents. Loaded only to run something.
"""

from __future__ import annotations

import hashlib  # noqa: TID253 (loaded on demand)
import os
import select
import signal
import subprocess  # noqa: TID253 (loaded on demand)
import tempfile  # noqa: TID253 (loaded on demand)
import time
from contextlib import ExitStack

from moot.core.errors import Unavailable, Usage
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_TICK = 0.05  # seconds until the exit of a program is noticed whose output somebody else keeps open
_BEAT = 5.0  # seconds between calls of `alive`
_AFTER = 1.0  # seconds that a program's output is read after its exit, if others keep it open
_QUIET = 0.1  # the same, while nothing comes
_GRACE = 5.0  # seconds between SIGTERM and SIGKILL
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class NotStarted(Exception):
    """The program could not be started. `why` says it in a few words."""

    def __init__(self, why: str, *, absent: bool) -> None:
        super().__init__(why)
        self.why = why
        self.absent = absent

    def usage(self, name: str) -> Usage:
        """The error for a caller who named the program."""
        if self.absent:
            return Usage("no_such_command", f"There is no command {name!r}.", "Check the name and PATH.")
        return Usage("not_runnable", f"{name} cannot be run: {self.why}.", "Check its permissions and arguments.")


class Output(Record):
    """What a program wrote: the digest and size of all of it, and its end."""

    digest: str
    size: int
    tail: bytes

    @property
    def whole(self) -> bool:
        return len(self.tail) == self.size


class Ran(Record):
    """A program that has ended. `code` is as shells have it: its exit code, or 128 and the `signal` that ended it."""

    code: int
    signal: int  # 0 if it ended by itself
    seconds: float
    output: Output
    errors: Output  # empty unless they were kept apart
    timed_out: bool = False
    cancelled: bool = False


def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    keep: int,
    apart: bool = False,
    stdin: bytes = b"",
    timeout: float | None = None,
    show: Callable[[bytes], object] | None = None,
    alive: Callable[[], object] | None = None,
    cancel: Callable[[], bool] | None = None,
    hold: Sequence[int] = (),
) -> Ran:
    """Run a program to its end, and keep the last `keep` bytes of its output.

    `apart`: its errors are an output of their own, else they are part of the one that is shown and kept. `show` gets
    the output as it comes, `alive` is called every few seconds, `cancel` says whether to end it now, and the files
    `hold` stay open in it. What it leaves running when it exits by itself is not ended, nor waited for.
    """
    errors = subprocess.PIPE if apart else subprocess.STDOUT
    with ExitStack() as stack:
        given = {"stdout": subprocess.PIPE, "stderr": errors, "start_new_session": True, "pass_fds": tuple(hold)}
        child = _started(argv, cwd=cwd, env=env, said=stdin, **given)
        pipes = [stack.enter_context(pipe) for pipe in (child.stdout, child.stderr) if pipe is not None]
        readers = [_Reader(pipe.fileno(), keep, show if number == 0 else None) for number, pipe in enumerate(pipes)]
        return _Attended(child, readers).to_the_end(timeout, alive, cancel)


def foreground(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], alive: Callable[[], object], every: float
) -> int:
    """Run a program with our terminal, inputs and outputs. Returns its exit code, as shells have it.

    The terminal sends an interrupt to both of us, and what it means is up to the program. Other signals are passed on.
    """
    child = _started(argv, cwd=cwd, env=env)

    def pass_on(number: int, _frame: object) -> None:
        if number != signal.SIGINT:
            child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in _FORWARDED}
    try:
        while True:
            try:
                return _code(child.wait(every))
            except subprocess.TimeoutExpired:
                alive()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _started(argv: Sequence[str], *, said: bytes | None = None, **given: Any) -> subprocess.Popen[bytes]:
    """Start it. `said` is its input; None: it has ours."""
    try:
        if not said:
            return subprocess.Popen(list(argv), stdin=None if said is None else subprocess.DEVNULL, **given)
        with tempfile.TemporaryFile() as file:  # a pipe would be full while nobody reads it
            file.write(said)
            file.seek(0)
            return subprocess.Popen(list(argv), stdin=file, **given)
    except OSError as error:
        raise NotStarted(error.strerror or str(error), absent=isinstance(error, FileNotFoundError)) from error
    except ValueError as error:  # a NUL in an argument
        raise NotStarted(str(error), absent=False) from error


def _code(returned: int) -> int:
    return returned if returned >= 0 else 128 - returned


class _Reader:
    """The reading end of one output."""

    def __init__(self, file: int, keep: int, show: Callable[[bytes], object] | None) -> None:
        self.file = file
        self._keep = keep
        self._show = show
        self._digest = hashlib.sha256()
        self._size = 0
        self._tail = bytearray()

    def take(self) -> bool:
        """Read what is there. False at the end of the output."""
        chunk = os.read(self.file, 1 << 16)
        self._digest.update(chunk)
        self._size += len(chunk)
        self._tail += chunk
        if len(self._tail) > 2 * self._keep + (1 << 16):
            del self._tail[: -self._keep]
        if chunk and self._show is not None:
            self._show(chunk)
        return bool(chunk)

    def mute(self) -> None:
        self._show = None

    def output(self) -> Output:
        tail = bytes(self._tail[max(0, len(self._tail) - self._keep) :])
        return Output(digest=self._digest.hexdigest(), size=self._size, tail=tail)


class _Attended:
    """A program while it runs."""

    def __init__(self, child: subprocess.Popen[bytes], readers: list[_Reader]) -> None:
        self._child = child
        self._readers = readers
        self._open = {reader.file: reader for reader in readers}
        self._ears = select.poll()
        for file in self._open:
            self._ears.register(file, select.POLLIN)

    def to_the_end(
        self, timeout: float | None, alive: Callable[[], object] | None, cancel: Callable[[], bool] | None
    ) -> Ran:
        start = beat = time.monotonic()
        timed_out = cancelled = False
        try:
            while self._child.poll() is None:
                now = time.monotonic()
                if alive is not None and now - beat >= _BEAT:
                    alive()
                    beat = now
                timed_out = timeout is not None and now - start >= timeout
                cancelled = not timed_out and cancel is not None and cancel()
                if timed_out or cancelled:
                    self._end()
                else:
                    self._listen(_TICK if timeout is None else min(_TICK, start + timeout - now))
            seconds = round(time.monotonic() - start, 3)
            self._read_the_rest()
        finally:
            if self._child.returncode is None:  # interrupted: nothing of it goes on without us
                for reader in self._readers:
                    reader.mute()
                self._end()
        code = self._child.returncode
        outputs = [reader.output() for reader in self._readers]
        return Ran(
            code=_code(code),
            signal=max(0, -code),
            seconds=seconds,
            output=outputs[0],
            errors=outputs[1] if len(outputs) > 1 else _NOTHING,
            timed_out=timed_out,
            cancelled=cancelled,
        )

    def _listen(self, patience: float) -> bool:
        """Take in some output, within so many seconds. False if there is none."""
        if not self._open:
            try:
                self._child.wait(patience)
            except subprocess.TimeoutExpired:
                pass
            return False
        heard = [file for file, _ in self._ears.poll(patience * 1000)]
        for file in heard:
            if not self._open[file].take():
                self._ears.unregister(file)
                del self._open[file]
        return bool(heard)

    def _read_the_rest(self) -> None:
        until = time.monotonic() + _AFTER
        while self._open and time.monotonic() < until and self._listen(_QUIET):
            pass

    def _end(self) -> None:
        """Ask its whole group to end, and make what is left of it end; at once if we are interrupted meanwhile."""
        try:
            self._signal(signal.SIGTERM)
            until = time.monotonic() + _GRACE
            while self._child.poll() is None and time.monotonic() < until:
                self._listen(_TICK)
        finally:
            self._signal(signal.SIGKILL)
            self._wait()

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._child.pid, number)
        except (ProcessLookupError, PermissionError):
            pass  # nothing is left of it, or it has become another user's

    def _wait(self) -> None:
        try:
            self._child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            raise Unavailable(
                "command_not_ended",
                f"The command does not end (process {self._child.pid}): it belongs to another user, or its disk hangs.",
                f"End it yourself: `sudo kill -9 {self._child.pid}`",
                process=self._child.pid,
            ) from None


_NOTHING = Output(digest=hashlib.sha256().hexdigest(), size=0, tail=b"")
