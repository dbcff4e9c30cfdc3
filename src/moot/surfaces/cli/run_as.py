"""`moot as NAME -- COMMAND`: join, run the command with the environment set, leave.

While the command runs, the agent counts as present, so an agent that thinks for an hour keeps its tasks.
"""

from __future__ import annotations

import os
import sys
from shutil import which  # noqa: TID253 (this module is loaded only to run a command)

from moot.core.errors import MootError, Unavailable, Usage
from moot.core.identity import decide, without_person
from moot.core.text import visible
from moot.place import VARIABLE, processes
from moot.surfaces.cli.parse import directory
from moot.wiring import open_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.verbs.agents import Member
    from moot.api.workspace import Workspace
    from moot.core.identity import Caller
    from moot.surfaces.cli.parse import CommandLine


def run_as(line: CommandLine) -> int:
    if line.help:
        return teach()
    if line.at is not None:
        raise _usage("`as` cannot be combined with --at")
    name, roles, take_over, command = _understood(list(line.words))
    cwd = directory(line)
    program = os.path.join(cwd, command[0]) if "/" in command[0] else command[0]  # as the child process resolves it
    if which(program, path=os.environ.get("PATH")) is None:
        raise Usage("no_such_command", f"Command not found: {command[0]!r}.", "Check the name and PATH.")
    same = os.environ.get("MOOT_AGENT", "").lower() == name.lower()
    known = {**os.environ, "MOOT_AGENT": name} if same else os.environ
    caller = decide(known, agent=name)
    workspace = open_workspace(cwd, os.environ, via="cli", named=line.directory is not None)
    with workspace.call(caller) as call:
        joined = call.run("join", {"name": name, "role": roles, "take_over": take_over}).result
        caller = call.caller
    own = {"MOOT_AGENT": joined.name, "MOOT_INCARNATION": str(joined.incarnation)}
    env = {**without_person(os.environ), **own, "MOOT_RUN": joined.name}  # marks an agent's shell, for any client
    if line.directory is not None and (VARIABLE in env or workspace.place.root == workspace.place.common):
        env[VARIABLE] = workspace.place.root  # so that the command uses the workspace that -C named
    try:
        return _run(workspace, joined, command, env, cwd)
    finally:
        _leave(workspace, caller)


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
            raise _usage(f"`as` does not take the argument {word!r}")
    command = words[1:]
    if name is None or not command:
        raise _usage("`as` requires a name and, after --, a command")
    return name, roles, take_over, command


def _usage(message: str) -> Usage:
    example = "moot as Yeats --role reviewer -- claude -p --permission-mode acceptEdits 'Go on'"
    return Usage("bad_arguments", f"{message}.", f"For example: {example}")


def _run(workspace: Workspace, joined: Member, command: list[str], env: dict[str, str], cwd: str) -> int:
    settings = workspace.setup.settings
    beat = min(settings.task_ttl, settings.claim_ttl) / 4
    seen = True

    def stamp() -> None:
        nonlocal seen
        seen = _stamped(workspace, joined, warn=seen)

    try:
        return processes.foreground(command, cwd=cwd, env=env, alive=stamp, every=max(0.05, min(beat, 15.0)))
    except processes.NotStarted as error:
        raise error.usage(command[0]) from None


def _stamped(workspace: Workspace, joined: Member, *, warn: bool) -> bool:
    """Mark the agent as present. A failure does not stop the command, and is reported once."""
    try:
        workspace.presence.stamp(joined.name, joined.incarnation)
    except Unavailable as error:
        if warn:
            _warn(error)
        return False
    return True


def _warn(error: MootError) -> None:
    sys.stderr.write(visible(f"moot: warning: {error.message} {error.remedy} [{error.code}]") + "\n")
    sys.stderr.flush()


def _leave(workspace: Workspace, caller: Caller) -> None:
    try:
        with workspace.call(caller) as call:
            call.run("leave", {})
    except Unavailable as error:
        _warn(error)  # what the agent held becomes free after the silence limit
    except MootError:
        return  # it was replaced or has already left: this incarnation holds nothing


def teach() -> int:
    from moot.surfaces.cli.help import teach as told

    return told(("as",))
