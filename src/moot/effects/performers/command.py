"""Runs the command of an effect. It gets the event as JSON on standard input; the end of its output is kept.

It runs in the root of the worktree, with the program and the files that `moot.effects.pinned` found, and with a reduced
environment. `moot.processes` runs it. A Python function is a command too: the interpreter runs `call_function.py`.
"""

from __future__ import annotations

import json
import os
import sys

from moot import processes
from moot.effects.performers import Result, call_function
from moot.effects.performers.copies import copies
from moot.effects.pinned import interpreter, is_elsewhere
from moot.processes import environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.effects.performers import EffectInput
    from moot.effects.pinned import PinnedHandler
    from moot.processes import Ran

_KEPT = 2000  # bytes of output, the last ones


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
        return Result(ok=False, detail=f"{(job.handler.run or words)[0]} cannot be run: {error.why}")
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
        why = "" if ran.code == call_function.RAISED and job.handler.python else f"exit code {ran.code}"
    # Add the last line of output: programs usually report the error there.
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
    return Result(ok=False, detail=f"{why}: {last}" if why and last else why or last, stopped=ran.cancelled)


def words_of(pinned: PinnedHandler, copied: dict[int, str]) -> list[str] | None:
    """The command with the path of its program and the copies of its files. None if there is no program."""
    handler = pinned.handler
    if handler.python is not None:
        function = [sys.executable, "-P", call_function.__file__, handler.python]
        return [*function, pinned.script, copied[0]] if pinned.script else [*function, pinned.module or ""]
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
