"""Runs the command of an effect. It gets the event as JSON on standard input; the end of its output is kept.

It runs in the root of the worktree, with the program and the files that `moot.effects.pinned` found, and with a reduced
environment. `moot.place.processes` runs it. Each run gets new private copies of the files that the command names, in a
directory outside the workspace that only this account can enter: it runs the allowed bytes even if the files change.
This module does not use the log. Each call runs in its own thread.
"""

from __future__ import annotations

import json
import os
import tempfile  # noqa: TID253 (this module itself is loaded on demand)
from contextlib import contextmanager

from moot.core.errors import Unavailable
from moot.core.record import Record
from moot.effects.pinned import interpreter, is_elsewhere
from moot.engine.sweeping import RUN, sweep_rooms
from moot.place import environment, processes, user_state
from moot.place.private_files import outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from threading import Event as Flag
    from typing import Any

    from moot.core.handler import Handler
    from moot.effects.pinned import PinnedFile, PinnedHandler
    from moot.place.processes import Ran

_KEPT = 2000  # bytes of output, the last ones
_NO_EXECUTION = getattr(os, "ST_NOEXEC", 8)


class Result(Record):
    """The result of an attempt. `hopeless`: retrying is pointless. `stopped`: the runner was stopped."""

    ok: bool
    detail: str = ""
    hopeless: bool = False
    stopped: bool = False


class EffectInput(Record):
    """What a command gets: one attempt at one effect."""

    handler: Handler
    event: Mapping[str, Any]
    key: str
    attempt: int
    env: Mapping[str, str]
    cancel: Flag
    pinned: PinnedHandler | None = None  # what a person allowed, with the bytes of its files
    hold: int | None = None  # a lock file that the started process inherits, to show that it still runs


def run(job: EffectInput) -> Result:
    pinned = job.pinned
    assert pinned is not None, "nothing is run that was not looked at"
    if pinned.trouble is not None:
        return Result(ok=False, detail=pinned.trouble)
    try:
        with copies(pinned, job.env) as copied:
            return _run(job, pinned, copied)
    except OSError as error:
        return Result(ok=False, detail=f"its files cannot be copied: {error.strerror}")


def _run(job: EffectInput, pinned: PinnedHandler, copied: dict[int, str]) -> Result:
    words = words_of(pinned, copied)
    if words is None:
        return Result(ok=False, detail=f"{job.handler.run[0]} cannot be run: {no_program(pinned)}")
    env = environment.allowed(job.handler, job.env, *pinned.roots)
    env |= {"MOOT_EFFECT_KEY": job.key, "MOOT_EFFECT_ATTEMPT": str(job.attempt)}
    if pinned.script is not None:
        env["MOOT_SCRIPT"] = pinned.script
    try:
        ran = processes.run(
            words,
            cwd=pinned.cwd,
            env=env,
            keep=_KEPT,
            stdin=json.dumps(job.event).encode(),
            timeout=job.handler.timeout,
            cancel=job.cancel.is_set,
            hold=() if job.hold is None else (job.hold,),
        )
    except processes.NotStarted as error:
        return Result(ok=False, detail=f"{job.handler.run[0]} cannot be run: {error.why}")
    return _result(job, ran)


def _result(job: EffectInput, ran: Ran) -> Result:
    said = ran.output.tail.decode(errors="replace")
    if ran.timed_out:
        why = f"not done within {job.handler.timeout:g} s"
    elif ran.cancelled:
        why = "its runner was stopped"
    elif ran.signal:
        why = f"killed by signal {ran.signal}"
    elif ran.code == 0:
        return Result(ok=True, detail=said.strip())
    else:
        why = f"exit code {ran.code}"
    # Add the last line of output: programs usually report the error there.
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
    return Result(ok=False, detail=f"{why}: {last}" if last else why, stopped=ran.cancelled)


def words_of(pinned: PinnedHandler, copied: dict[int, str]) -> list[str] | None:
    """The command with the path of its program and the copies of its files. None if there is no program."""
    handler = pinned.handler
    if 0 not in copied and (pinned.program is None or _lacks_script(pinned)):
        return None
    named = {0: pinned.program or "", **copied}
    return [named.get(number, word) for number, word in enumerate(handler.run)]


def _lacks_script(pinned: PinnedHandler) -> bool:
    """Whether an interpreter gets a script that did not exist when its files were read. It may exist by now."""
    words = pinned.handler.run
    if not interpreter(words[0]) or len(words) == 1 or words[1][:1] == "-":
        return False
    path = os.path.join(pinned.cwd, words[1])
    return not (any(file.word == 1 for file in pinned.files) or is_elsewhere(path, pinned.roots) or os.path.isdir(path))


def no_program(pinned: PinnedHandler) -> str:
    words = pinned.handler.run
    if pinned.program is not None:
        return f"there is no file {words[1]} in the workspace"
    if os.sep not in words[0]:
        return "it is not in PATH (directories of the workspace are not searched)"
    path = os.path.join(pinned.cwd, words[0])
    return "Permission denied" if os.path.exists(path) else "No such file or directory"


@contextmanager
def copies(pinned: PinnedHandler, env: Mapping[str, str]) -> Iterator[dict[int, str]]:
    """The words of the command that name a file, changed to name its copy."""
    named = [file for file in pinned.files if not file.text]
    if not named:
        yield {}
        return
    place = _place(pinned.roots, env)
    with tempfile.TemporaryDirectory(prefix=RUN, dir=place, ignore_cleanup_errors=True) as room:
        yield {file.word: f"{file.before}{_made(room, file)}" for file in named}


def _made(room: str, file: PinnedFile) -> str:
    path = os.path.join(room, str(file.word), os.path.basename(file.path))
    os.mkdir(os.path.dirname(path), 0o700)
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(made, "wb") as stream:
        stream.write(file.content)
        os.fchmod(made, file.mode & 0o755 | 0o400)
    return path


def _place(roots: tuple[str, ...], env: Mapping[str, str]) -> str:
    """The directory for temporary files; another one if that is in the workspace or does not allow execution."""
    place = os.path.realpath(env.get("TMPDIR") or tempfile.gettempdir())
    try:
        user_state.check_way(place)
        if outside(place, *roots) and not os.statvfs(place).f_flag & _NO_EXECUTION:
            return place
    except (OSError, Unavailable):
        pass  # it does not exist, or others can write to it
    place = os.path.join(user_state.home(env), "run")
    os.makedirs(place, 0o700, exist_ok=True)
    user_state.check_way(place)
    sweep_rooms(place)
    return place
