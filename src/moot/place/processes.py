"""Runs other programs. Only this module starts one. No shell is involved: arguments are passed unchanged.

`run` starts a program in a new session without a terminal, so that the program and all its children can be ended
together: at the time limit, when the caller cancels, or when the caller is interrupted. It reads all output and keeps
the end of it. `foreground` gives a program the caller's terminal, input and output instead.

Does not know receipts, effects or agents. Loaded only to run a program.
"""

from __future__ import annotations

import errno
import hashlib  # noqa: TID253 (loaded on demand)
import os
import select
import signal
import subprocess  # noqa: TID253 (loaded on demand)
import sys
import tempfile  # noqa: TID253 (loaded on demand)
import time
from contextlib import ExitStack, contextmanager

from moot.core.errors import Unavailable, Usage
from moot.core.record import Record
from moot.place import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

_TICK = 0.05  # seconds between checks whether the program has exited
_BEAT = 5.0  # seconds between calls of `alive`
_REST = 1.0  # seconds between SIGTERM and SIGKILL for processes that a program left behind
_AFTER = 1.0  # seconds to read output after the exit, if another process keeps it open
_QUIET = 0.1  # seconds without output after which that reading stops
_GRACE = 5.0  # seconds between SIGTERM and SIGKILL
_BUSY = 2.0  # seconds to wait for a program whose file is open for writing
_PAUSE = 0.01
_SMALL = 1 << 20  # bytes of standard input
_FIRST_LINE = 256  # bytes of the first line of a script that Linux reads
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class NotStarted(Exception):
    """The program could not be started. `why` is the reason in a few words."""

    def __init__(self, why: str, *, absent: bool) -> None:
        super().__init__(why)
        self.why = why
        self.absent = absent

    def usage(self, name: str) -> Usage:
        """The error for a caller that named the program."""
        if self.absent:
            return Usage("no_such_command", f"The command {name!r} was not found.", "Check the name and PATH.")
        return Usage("not_runnable", f"{name} cannot be run: {self.why}.", "Check its permissions and arguments.")


class Output(Record):
    """The output of a program: the digest and size of all of it, and its end."""

    digest: str
    size: int
    tail: bytes

    @property
    def whole(self) -> bool:
        return len(self.tail) == self.size


class Ran(Record):
    """The result of a program. `code` is as in a shell: its exit code, or 128 plus the `signal` that ended it."""

    code: int
    signal: int  # 0 if no signal ended it
    seconds: float
    output: Output
    errors: Output  # empty unless `apart` was set
    timed_out: bool = False
    cancelled: bool = False
    left: bool = False  # it left processes behind, and they were ended


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
    every: float = _BEAT,
    leave: bool = True,
    started: Callable[[int, int | None], object] | None = None,
    mark: str = "",
) -> Ran:
    """Run a program until it exits, and keep the last `keep` bytes of its output.

    `apart`: keep standard error separately; otherwise it is part of the output. `show` gets the output as it arrives.
    `alive` is called `every` few seconds. `cancel` returns whether to end the program now. The files `hold` stay open
    in it. Processes that it leaves running when it exits are neither ended nor waited for, unless `leave` is False:
    then those of its process group are ended, and at its time limit, when it is cancelled, or when it left some, also
    those that left the group (`escaped`), which its `mark` in their environment shows. `started` gets the id of its
    process, which is that of the group, and when it started (`escaped.start_of`).
    """
    mark = "" if leave else mark or escaped.new_mark()
    env = escaped.marked(env, mark) if mark else env
    with ExitStack() as reading:
        with ExitStack() as writing:
            pipes = [_pipe(reading, writing) for _ in range(2 if apart else 1)]
            given = {"stdout": pipes[0][1], "stderr": pipes[-1][1], "start_new_session": True, "pass_fds": tuple(hold)}
            child = _started(argv, cwd=cwd, env=env, data=stdin, **given)
        since = escaped.start_of(child.pid) if mark or started is not None else None
        if started is not None:
            started(child.pid, since)
        readers = [_Reader(pipe, keep, show if number == 0 else None) for number, (pipe, _) in enumerate(pipes)]
        return _Attended(child, readers, every, mark, since).to_the_end(timeout, alive, cancel)


def _pipe(reading: ExitStack, writing: ExitStack) -> tuple[int, int]:
    """A pipe: the end for reading, and the one for writing. Each is closed with its stack."""
    try:
        ours, its = os.pipe()
    except OSError as error:
        raise NotStarted(error.strerror or str(error), absent=False) from error
    reading.callback(os.close, ours)
    writing.callback(os.close, its)
    return ours, its


@contextmanager
def interruptible() -> Iterator[None]:
    """A context in which SIGTERM and SIGHUP raise `KeyboardInterrupt`, if it is entered in the main thread."""
    import threading

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def foreground(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], alive: Callable[[], object], every: float
) -> int:
    """Run a program with the caller's terminal, input and output. Returns its exit code, as in a shell.

    The terminal sends an interrupt to both processes, and the program decides what to do. Other signals are forwarded.
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


def _started(argv: Sequence[str], *, data: bytes | None = None, **given: Any) -> subprocess.Popen[bytes]:
    """Start the program. `data` is its standard input; None: it inherits the caller's."""
    try:
        if not data:
            return _opened(argv, stdin=None if data is None else subprocess.DEVNULL, **given)
        file = _file_of(data)  # writing to a pipe would block until the program reads it
        try:
            return _opened(argv, stdin=file, **given)
        finally:
            os.close(file)
    except OSError as error:
        absent = isinstance(error, FileNotFoundError)
        if absent and (interpreter := missing_interpreter(argv[0], given["cwd"])):
            raise NotStarted(f"its interpreter {interpreter} does not exist", absent=False) from error
        raise NotStarted(error.strerror or str(error), absent=absent) from error
    except ValueError as error:  # a NUL in an argument
        raise NotStarted(str(error), absent=False) from error


def _file_of(data: bytes) -> int:
    """A file without a name, at its beginning: in memory if it is small and the system can. The caller closes it."""
    if len(data) <= _SMALL and sys.platform == "linux":
        file = os.memfd_create("stdin")
    else:
        with tempfile.TemporaryFile(buffering=0) as made:
            file = os.dup(made.fileno())
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(file, left) :]
        os.lseek(file, 0, os.SEEK_SET)
    except BaseException:
        os.close(file)
        raise
    return file


def _opened(argv: Sequence[str], **given: Any) -> subprocess.Popen[bytes]:
    """Start the program, again for a moment if its file is open for writing.

    A script that moot has just copied can be: if another thread started a program meanwhile, its child
    has all files of this process open until it becomes that program.
    """
    end = time.monotonic() + _BUSY
    while True:
        try:
            return subprocess.Popen(list(argv), **given)
        except OSError as error:
            if error.errno != errno.ETXTBSY or time.monotonic() >= end:
                raise
        time.sleep(_PAUSE)


def _code(returned: int) -> int:
    return returned if returned >= 0 else 128 - returned


def missing_interpreter(program: str, cwd: str) -> str | None:
    """The interpreter in the first line of a script, if it does not exist; None otherwise."""
    try:
        with open(os.path.join(cwd, program), "rb") as file:
            first = file.read(_FIRST_LINE).split(b"\n")[0]
    except (OSError, ValueError):
        return None
    words = first.removeprefix(b"#!").split(None, 1)
    if not first.startswith(b"#!") or not words or os.path.exists(os.path.join(os.fsencode(cwd), words[0])):
        return None
    return words[0].decode("utf-8", "replace")


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
        """Read the available output. False at its end."""
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
    """A running program."""

    def __init__(
        self, child: subprocess.Popen[bytes], readers: list[_Reader], every: float, mark: str, since: int | None
    ) -> None:
        self._child = child
        self._readers = readers
        self._every = every
        self._mark = mark  # empty: what it leaves behind goes on
        self._since = since  # when it started
        self._open = {reader.file: reader for reader in readers}
        self._ears = select.poll()
        self._exit = _exit_of(child.pid)
        for file in (*self._open, *([self._exit] if self._exit is not None else [])):
            self._ears.register(file, select.POLLIN)

    def to_the_end(
        self, timeout: float | None, alive: Callable[[], object] | None, cancel: Callable[[], bool] | None
    ) -> Ran:
        start = beat = time.monotonic()
        timed_out = cancelled = False
        try:
            while self._child.poll() is None:
                now = time.monotonic()
                if alive is not None and now - beat >= self._every:
                    alive()
                    beat = now
                timed_out = timeout is not None and now - start >= timeout
                cancelled = not timed_out and cancel is not None and cancel()
                if timed_out or cancelled:
                    self._end()
                else:
                    self._listen(_TICK if timeout is None else min(_TICK, start + timeout - now))
            seconds = round(time.monotonic() - start, 3)
            left = bool(self._mark) and not timed_out and not cancelled and self._end_the_rest()
            self._read(_QUIET, _AFTER)
        finally:
            if self._child.returncode is None:  # interrupted: do not leave the program running
                for reader in self._readers:
                    reader.mute()
                self._end()
            self._forget_exit()
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
            left=left,
        )

    def _listen(self, patience: float) -> bool:
        """Wait up to `patience` seconds for output and read it. False if there is none, also when the program exits."""
        if not self._open and self._exit is None:
            try:
                self._child.wait(patience)
            except subprocess.TimeoutExpired:
                pass
            return False
        heard = [file for file, _ in self._ears.poll(patience * 1000)]
        if self._exit in heard:
            heard.remove(self._exit)
            self._forget_exit()
        for file in heard:
            if not self._open[file].take():
                self._ears.unregister(file)
                del self._open[file]
        return bool(heard)

    def _forget_exit(self) -> None:
        exit_file, self._exit = self._exit, None
        if exit_file is not None:
            self._ears.unregister(exit_file)
            os.close(exit_file)

    def _read(self, patience: float, most: float) -> None:
        """Read until nothing came for `patience` seconds, for `most` seconds."""
        until = time.monotonic() + most
        while self._open and time.monotonic() < until and self._listen(patience):
            pass

    def _end(self) -> None:
        """Terminate the whole process group, then kill what is left; at once if an interrupt arrives."""
        try:
            self._signal(signal.SIGTERM)
            self._signal_escaped(signal.SIGTERM)
            until = time.monotonic() + _GRACE
            while self._child.poll() is None and time.monotonic() < until:
                self._listen(_TICK)
        finally:
            self._signal_escaped(signal.SIGKILL)  # first: the family of a program that has ended is not known
            self._signal(signal.SIGKILL)
            self._wait()
            self._signal_escaped(signal.SIGKILL)

    def _end_the_rest(self) -> bool:
        """End what is left of the process group after the program has exited. Whether there was something."""
        left = self._signal(signal.SIGTERM)
        self._read(0.0, _QUIET)
        if left or self._open:  # another process holds its output, or still writes
            left = self._signal_escaped(signal.SIGTERM) or left
        until = time.monotonic() + _REST
        while left and self._signal(0) and time.monotonic() < until:
            self._listen(_TICK)
        if left:
            self._signal(signal.SIGKILL)
            self._signal_escaped(signal.SIGKILL)
        return left

    def _signal(self, number: int) -> bool:
        """Signal the process group. Whether there is one."""
        try:
            os.killpg(self._child.pid, number)
        except (ProcessLookupError, PermissionError):
            return False  # it has ended, or it now runs as another user
        return True

    def _signal_escaped(self, number: signal.Signals) -> bool:
        """Signal those that left the process group. Whether there are some."""
        since = self._since
        return since is not None and escaped.signal_escaped(number, self._child.pid, since, self._mark)

    def _wait(self) -> None:
        try:
            self._child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            raise Unavailable(
                "command_not_ended",
                f"The command (process {self._child.pid}) does not end: it runs as another user, or its disk hangs.",
                f"Kill it yourself: `sudo kill -9 {self._child.pid}`",
                process=self._child.pid,
            ) from None


def _exit_of(process: int) -> int | None:
    """A file that can be read when this child has exited; None if the system has no such files."""
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):
        return None


_NOTHING = Output(digest=hashlib.sha256().hexdigest(), size=0, tail=b"")
