"""Runs the verbs of packs that speak the exit codes of their protocol (`Verb.protocol`).

    0    success: standard output has only data
    1    an error, also of usage: standard output is empty, and standard error begins with `Error:`
    2    success with warnings: as 0, with `Warning:` lines on standard error

A pack can give further codes in its answers. Progress is on standard error.
"""

from __future__ import annotations

import os
import sys

from moot.api.answer import plain
from moot.core.errors import MootError
from moot.core.text import one_line, visible
from moot.surfaces.cli import parse, voices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.api.answer import Answer
    from moot.api.catalogue import Verb
    from moot.api.workspace import Progress
    from moot.surfaces.cli.parse import CommandLine

FAILED, WARNED = 1, 2
_WIDTH = 2000
_HERE = "any file"  # in the caller's directory


def run_protocol_verb(
    line: CommandLine, verb: Verb, progress: Progress, ask: Callable[[tuple[str, ...], str], bool] | None
) -> int:
    """Run the verb, print its answer, and return the exit code of the protocol."""
    try:
        return _shown(_answer(line, verb, progress, ask), as_json=line.json)
    except MootError as error:
        _aside(f"Error: {error.message}")
        for text in error.remedy.splitlines():
            _aside(text)
        return FAILED


def _answer(
    line: CommandLine, verb: Verb, progress: Progress, ask: Callable[[tuple[str, ...], str], bool] | None
) -> Answer:
    from moot.wiring import open_workspace

    arguments = parse.arguments(verb, line.words)
    cwd, caller, named = parse.directory(line), parse.caller(line), line.directory is not None
    path = arguments.get("path")
    paths = [path] if isinstance(path, str) else []
    if verb.founds:
        from moot.wiring.founding import workspace_directory

        paths = [
            workspace_directory(
                paths[0] if paths else _HERE, cwd, os.environ, verb.name.partition(" ")[0], caller, via="cli"
            )
        ]
    workspace = open_workspace(
        cwd, os.environ, paths=paths, at=line.at, progress=progress, reading=verb.quiet, via="cli", named=named
    )
    call = workspace.call(caller)
    call.report, call.ask = _aside, ask
    call.prompt = _prompt if ask is not None else None
    call.output = sys.stderr.buffer.write
    return call.run(verb.name, arguments)


def _prompt(lines: tuple[str, ...], question: str) -> str | None:
    """Show lines to the person at the terminal and read one line; None at the end of the input."""
    sys.stderr.write("".join(f"{visible(line)}\n" for line in (*lines, "")) + f"{question}: ")
    sys.stderr.flush()
    said = sys.stdin.readline()
    return said.rstrip("\n") if said else None


def _shown(answer: Answer, *, as_json: bool) -> int:
    for warning in answer.warnings:
        _aside(f"Warning: {warning.message}")
    if as_json:
        import json

        sys.stdout.write(json.dumps({"result": plain(answer.result)}, ensure_ascii=False) + "\n")
    elif answer.say:
        sys.stdout.write(visible("\n".join(answer.say)) + "\n")
    try:
        sys.stdout.flush()
    except OSError as error:
        raise voices.UnsaidError(error) from error
    if answer.after is not None:
        answer.after()
    return answer.code


def _aside(text: str) -> None:
    """Write a line to standard error."""
    try:
        sys.stderr.write(one_line(text, _WIDTH) + "\n")
        sys.stderr.flush()
    except OSError:
        voices.hush(sys.stderr)
