"""Runs the command of an effect. It gets the event as JSON on standard input; the end of its output is kept.

It runs in the root of the worktree, with the program and the files that `moot.effects.exact` found, and with a reduced
environment. `moot.processes` runs it. A Python function is a command too: the interpreter runs `entry.py`, which calls
it.
"""

from __future__ import annotations

import json
import os
import sys

from moot import processes
from moot.effects.exact import interpreter, is_elsewhere
from moot.effects.performers import Result, entry
from moot.effects.performers.copies import copies
from moot.processes import environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.effects.exact import Exact
    from moot.effects.performers import EffectAttempt
    from moot.processes import Ran

_KEPT = 2000  # bytes of output, the last ones


def run(job: EffectAttempt) -> Result:
    exact = job.exact
    assert exact is not None, "nothing is run that was not looked at"
    if exact.trouble is not None:
        return Result(ok=False, detail=exact.trouble)
    try:
        with copies(exact, job.env) as copied:
            return _run(job, exact, copied)
    except OSError as error:
        return Result(ok=False, detail=f"its files cannot be copied: {error.strerror}")


def _run(job: EffectAttempt, exact: Exact, copied: dict[int, str]) -> Result:
    words = _words(exact, copied)
    if words is None:
        return Result(ok=False, detail=f"{job.handler.run[0]} cannot be run: {_no_program(exact)}")
    env = environment.allowed(job.handler, job.env, *exact.roots)
    env |= {"MOOT_EFFECT_KEY": job.key, "MOOT_EFFECT_ATTEMPT": str(job.attempt)}
    if exact.script is not None:
        env["MOOT_SCRIPT"] = exact.script
    try:
        ran = processes.run(
            words,
            cwd=exact.cwd,
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


def _result(job: EffectAttempt, ran: Ran) -> Result:
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
        why = "" if ran.code == entry.RAISED and job.handler.python else f"exit code {ran.code}"
    # Add the last line of output: programs usually report the error there.
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
    return Result(ok=False, detail=f"{why}: {last}" if why and last else why or last, stopped=ran.cancelled)


def _words(exact: Exact, copied: dict[int, str]) -> list[str] | None:
    """The command with the path of its program and the copies of its files. None if there is no program."""
    handler = exact.handler
    if handler.python is not None:
        function = [sys.executable, "-P", entry.__file__, handler.python]
        return [*function, exact.script, copied[0]] if exact.script else [*function, exact.module or ""]
    if 0 not in copied and (exact.program is None or _lacks_script(exact)):
        return None
    named = {0: exact.program or "", **copied}
    return [named.get(number, word) for number, word in enumerate(handler.run)]


def _lacks_script(exact: Exact) -> bool:
    """Whether an interpreter gets a script that did not exist when its files were read. It may exist by now."""
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
