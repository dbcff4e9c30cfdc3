"""`moot as NAME -- COMMAND`: join, run the command with the environment set, leave.

While the command runs, it counts as present: an agent that thinks for an hour is not taken for a dead one.
"""

from __future__ import annotations

import os
import sys
from shutil import which  # noqa: TID253 (this module is loaded only to run a command)

from moot.core.errors import MootError, Unavailable, Usage
from moot.core.identity import decide, without_person
from moot.core.text import visible
from moot.engine import processes
from moot.engine.place import VARIABLE
from moot.engine.tracing import Tracing
from moot.surfaces.cli.parse import directory
from moot.wiring import open_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.session import Session
    from moot.surfaces.cli.parse import Call


def run_as(call: Call) -> int:
    if call.help:
        return teach()
    if call.at is not None:
        raise _usage("`as` runs a command now, and not in the past")
    name, roles, take_over, command = _understood(list(call.words))
    cwd = directory(call)
    program = os.path.join(cwd, command[0]) if "/" in command[0] else command[0]  # as the child will look for it
    if which(program, path=os.environ.get("PATH")) is None:
        raise Usage("no_such_command", f"There is no command {command[0]!r}.", "Check the name and PATH.")
    same = os.environ.get("MOOT_AGENT", "").lower() == name.lower()
    known = {**os.environ, "MOOT_AGENT": name} if same else os.environ
    caller = decide(known, agent=name)
    session = open_session(cwd, os.environ, caller=caller, via="cli", named=call.directory is not None)
    joined = session.run("join", {"name": name, "role": roles, "take_over": take_over}).result
    env = {**without_person(os.environ), "MOOT_AGENT": joined.name, "MOOT_INCARNATION": str(joined.incarnation)}
    if call.directory is not None and (VARIABLE in env or session.place.root == session.place.common):
        env[VARIABLE] = session.place.root  # the command is in the workspace that was named, not in another one
    try:
        with Tracing(os.environ).span("moot.as", agent=joined.name, incarnation=joined.incarnation) as span:
            code = _run(session, command, {**env, **span.environment()}, cwd)
            span.note(exit_code=code)
            return code
    finally:
        _leave(session)


def _understood(words: list[str]) -> tuple[str, list[str], bool, list[str]]:
    name, roles, take_over = None, [], False
    while words and words[0] != "--":
        word = words.pop(0)
        if word == "--role" and words:
            roles.append(words.pop(0))
        elif word == "--take-over":
            take_over = True
        elif name is None and not word.startswith("-"):
            name = word
        else:
            raise _usage(f"`as` does not know what to do with {word!r}")
    command = words[1:]
    if name is None or not command:
        raise _usage("`as` needs a name and, behind --, a command")
    return name, roles, take_over, command


def _usage(message: str) -> Usage:
    return Usage("bad_arguments", f"{message}.", "For example: moot as Yeats --role developer -- claude -p 'Go on'")


def _run(session: Session, command: list[str], env: dict[str, str], cwd: str) -> int:
    beat = min(session.settings.task_ttl, session.settings.claim_ttl) / 4
    seen = True

    def stamp() -> None:
        nonlocal seen
        seen = _stamped(session, warn=seen)

    try:
        return processes.foreground(command, cwd=cwd, env=env, alive=stamp, every=max(0.05, min(beat, 15.0)))
    except processes.NotStarted as error:
        raise error.usage(command[0]) from None


def _stamped(session: Session, *, warn: bool) -> bool:
    """Whether the command could be marked as present. It goes on in any case, and whoever started it is told once."""
    try:
        session.stamp()
    except Unavailable as error:
        if warn:
            _warn(error)
        return False
    return True


def _warn(error: MootError) -> None:
    sys.stderr.write(visible(f"moot: warning: {error.message} {error.remedy} [{error.code}]") + "\n")
    sys.stderr.flush()


def _leave(session: Session) -> None:
    try:
        session.run("leave", {})
    except Unavailable as error:
        _warn(error)  # what it held is free once it was silent for long enough
    except MootError:
        return  # it was replaced, or left by itself: nothing is held under this incarnation any more


def teach() -> int:
    from moot.surfaces.cli.help import teach as told

    return told(("as",))
