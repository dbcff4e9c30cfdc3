"""A command: its words as they are, without a shell; the event as JSON on standard input; its last output kept.

It runs in the root of the worktree, in a process group of its own that is killed when the time is over, with the
program and the files that `moot.engine.exact` has found, and an environment of its own. A function of Python is a
command too: the interpreter runs `entry.py`, which calls it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess  # noqa: TID253 (this module itself is loaded on demand)
import sys
import tempfile  # noqa: TID253
import time

from moot.engine.exact import interpreter, is_elsewhere
from moot.engine.performers import Result, entry, environment
from moot.engine.performers.copies import copies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.engine.exact import Exact
    from moot.engine.performers import Job

_TICK = 0.05  # seconds: how late the end is seen of a command that left its output open
_GRACE = 2.0  # seconds between asking a command to end and killing it
_KEPT = 2000  # bytes of output, the last ones


def run(job: Job) -> Result:
    exact = job.exact
    assert exact is not None, "nothing is run that was not looked at"
    if exact.trouble is not None:
        return Result(ok=False, detail=exact.trouble)
    try:
        with copies(exact, job.env) as copied:
            return _run(job, exact, copied)
    except OSError as error:
        return Result(ok=False, detail=f"its private copies cannot be made: {error.strerror}")


def _run(job: Job, exact: Exact, copied: dict[int, str]) -> Result:
    words = _words(exact, copied)
    if words is None:
        return Result(ok=False, detail=f"{job.handler.run[0]} cannot be run: {_no_program(exact)}")
    env = environment.allowed(job.handler, job.env, *exact.roots)
    env |= {"MOOT_EFFECT_KEY": job.key, "MOOT_EFFECT_ATTEMPT": str(job.attempt)}
    if exact.script is not None:
        env["MOOT_SCRIPT"] = exact.script
    hold = () if job.hold is None else (job.hold,)
    with tempfile.TemporaryFile() as said:  # a pipe could be full while nobody reads it
        said.write(json.dumps(job.event).encode())
        said.seek(0)
        try:
            process = subprocess.Popen(
                words,
                stdin=said,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=exact.cwd,
                env=env,
                start_new_session=True,
                pass_fds=hold,
            )
        except OSError as error:
            return Result(ok=False, detail=f"{(job.handler.run or words)[0]} cannot be run: {error.strerror}")
    with process:
        return _Watch(process, job).result()


def _words(exact: Exact, copied: dict[int, str]) -> list[str] | None:
    """The command, with the program by its path and each named file by its copy. None if there is no program."""
    handler = exact.handler
    if handler.python is not None:
        function = [sys.executable, "-P", entry.__file__, handler.python]
        return [*function, exact.script, copied[0]] if exact.script else [*function, exact.module or ""]
    if 0 not in copied and (exact.program is None or _lacks_script(exact)):
        return None
    named = {0: exact.program or "", **copied}
    return [named.get(number, word) for number, word in enumerate(handler.run)]


def _lacks_script(exact: Exact) -> bool:
    """Whether an interpreter is given a script that was not there when its files were read: one may appear since."""
    words = exact.handler.run
    if not interpreter(words[0]) or len(words) == 1 or words[1][:1] == "-":
        return False
    path = os.path.join(exact.cwd, words[1])
    return not (any(file.word == 1 for file in exact.files) or is_elsewhere(path, exact.roots) or os.path.isdir(path))


def _no_program(exact: Exact) -> str:
    words = exact.handler.run
    if exact.program is not None:
        return f"there is no file {words[1]} in the workspace"
    if os.sep not in words[0]:
        return "it is not in PATH (directories of the workspace are not searched)"
    path = os.path.join(exact.cwd, words[0])
    return "Permission denied" if os.path.exists(path) else "No such file or directory"


class _Watch:
    """A command while it runs."""

    def __init__(self, process: subprocess.Popen[bytes], job: Job) -> None:
        assert process.stdout is not None
        self._process = process
        self._job = job
        self._output = process.stdout.fileno()
        self._ears = select.poll()
        self._ears.register(self._output, select.POLLIN | select.POLLHUP)
        self._open = True
        self._tail = b""

    def result(self) -> Result:
        end = time.monotonic() + self._job.handler.timeout
        while self._process.poll() is None:
            left = end - time.monotonic()
            if left <= 0 or self._job.cancel.is_set():
                self._kill()
                why = f"not done within {self._job.handler.timeout:g} s" if left <= 0 else "its runner was stopped"
                return Result(ok=False, detail=self._with_output(why), stopped=left > 0)
            self._listen(min(left, _TICK))
        while self._open and self._listen(0):
            pass  # what it said last
        code = self._process.returncode
        if code == 0:
            return Result(ok=True, detail=self._said().strip())
        if code == entry.RAISED and self._job.handler.python:
            return Result(ok=False, detail=self._with_output(""))
        why = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        return Result(ok=False, detail=self._with_output(why))

    def _listen(self, patience: float) -> bool:
        """Take in some output, within so many seconds. False if there is none."""
        if not self._open:
            try:
                self._process.wait(patience)
            except subprocess.TimeoutExpired:
                pass
            return False
        if not self._ears.poll(patience * 1000):
            return False
        piece = os.read(self._output, 1 << 16)
        self._open = bool(piece)
        self._tail = (self._tail + piece)[-_KEPT:]
        return self._open

    def _kill(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
                self._process.wait(_GRACE)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        self._process.wait()

    def _said(self) -> str:
        return self._tail.decode(errors="replace")

    def _with_output(self, why: str) -> str:
        """Why it failed, with the last thing that it said: there, programs say what is wrong."""
        last = next((line.strip() for line in reversed(self._said().splitlines()) if line.strip()), "")
        return f"{why}: {last}" if why and last else why or last
