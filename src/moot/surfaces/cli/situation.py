"""`moot` without a verb: the situation in a workspace, or how to begin outside of one."""

from __future__ import annotations

import os

from moot.api.answer import Answer
from moot.core.errors import Unavailable
from moot.surfaces.cli import parse
from moot.wiring import open_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.surfaces.cli.parse import CommandLine

_OUTSIDE = ("no_log", "no_workspace")


def answer(line: CommandLine) -> Answer:
    caller, cwd = parse.caller(line), parse.directory(line)
    try:
        workspace = open_workspace(cwd, os.environ, at=line.at, reading=True, named=line.directory is not None)
    except Unavailable as error:
        if error.code not in _OUTSIDE:
            raise
        lines = (error.message, f"  → {error.remedy}", "`moot --help` lists the everyday verbs.")
        return Answer(result={"workspace": None, "next": "moot init"}, say=lines)
    from moot.overview.situation import situation

    with workspace, workspace.call(caller) as call:
        found, said = situation(call)
    return Answer(result=found, say=said, unread=found.unread if found.kind == "agent" else None)
