"""Runs the verbs of packs that speak the exit codes of their protocol (`Verb.protocol`).

    0    success: standard output has only data
    1    an error, also of usage: standard output is empty, and standard error begins with `Error:`; with --json,
         standard output has the error as an object
    2    success with warnings: as 0, with `Warning:` lines on standard error

A pack can give further codes in its answers. Progress is on standard error.
"""

from __future__ import annotations

import os
import sys

from moot.api.answer import plain
from moot.core.errors import MootError
from moot.core.text import one_line, shell_word, visible
from moot.surfaces.cli import parse, voices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.api.catalogue import Verb
    from moot.api.workspace import Progress
    from moot.surfaces.cli.parse import CommandLine

FAILED = 1
_WIDTH = 2000
_HERE = "any file"  # in the caller's directory
_COMMAND = "`moot "  # the beginning of a command in a text


def run_protocol_verb(
    line: CommandLine, verb: Verb, progress: Progress, ask: Callable[[tuple[str, ...], str], bool] | None
) -> int:
    """Run the verb, print its answer, and return the exit code of the protocol."""
    opened = _Opened(verb.name.partition(" ")[0])
    try:
        return _shown(_answer(line, verb, progress, ask, opened), as_json=line.json)
    except MootError as error:
        error.message, error.remedy = opened.from_here(error.message), opened.from_here(error.remedy)
        _complain(error, as_json=line.json)
        for text in dict.fromkeys(opened.warnings()):
            _aside(f"Warning: {text}")
        return FAILED


class _Opened:
    """The workspace that was opened. Its pack finds it by the path of a file; other commands must name it elsewhere."""

    def __init__(self, pack: str) -> None:
        self._pack, self._option = pack, ""
        self._call: Call | None = None

    def at(self, call: Call, cwd: str) -> None:
        self._call, root = call, call.place.root
        if not os.path.join(os.path.realpath(cwd), "").startswith(os.path.join(os.path.realpath(root), "")):
            self._option = f"-C {shell_word(root, 'DIR')} "

    def from_here(self, text: str) -> str:
        """A text whose commands can be run in the caller's directory."""
        first, *others = text.split(_COMMAND)
        known = (f"{self._pack} ", "-C ")
        return first + "".join(f"{_COMMAND}{'' if one.startswith(known) else self._option}{one}" for one in others)

    def warnings(self) -> list[str]:
        """The warnings of a call that has failed, except that files are out of date: it may have failed for that."""
        if self._call is None:
            return []
        pending = self._call.warned("mirror_pending")
        return [text for text in self._call.take_warnings() if text not in pending]

    def report(self, text: str) -> None:
        _aside(self.from_here(text))


def _answer(
    line: CommandLine,
    verb: Verb,
    progress: Progress,
    ask: Callable[[tuple[str, ...], str], bool] | None,
    opened: _Opened,
) -> Answer:
    from moot.wiring import open_workspace

    arguments = parse.arguments(verb, line.words)
    cwd, caller, named = parse.directory(line), parse.caller(line), line.directory is not None
    path = arguments.get("path")
    paths = [path] if isinstance(path, str) else []
    if verb.founds:
        from moot.wiring.founding import workspace_directory

        path, pack, loose = paths[0] if paths else _HERE, verb.name.partition(" ")[0], not verb.in_repository
        paths = [workspace_directory(path, cwd, os.environ, pack, caller, "cli", loose=loose)]
    workspace = open_workspace(
        cwd, os.environ, paths=paths, at=line.at, progress=progress, reading=verb.quiet, via="cli", named=named
    )
    call = workspace.call(caller)
    opened.at(call, cwd)
    call.report, call.ask = opened.report, ask
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
        _print(_json({"result": plain(answer.result)}))
    else:
        _print(visible("\n".join(answer.say)))
    if answer.after is not None:
        answer.after()
    return answer.code


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def _print(text: str) -> None:
    """Write to standard output. Raises `UnsaidError`."""
    try:
        voices.hide_progress()
        sys.stdout.write(f"{text}\n" if text else "")
        sys.stdout.flush()
    except OSError as error:
        raise voices.UnsaidError(error) from error


def _complain(error: MootError, *, as_json: bool) -> None:
    """Print an error: what is wrong, one problem per line below it, and the remedy.

    Further lines are indented: a text of others cannot imitate a line of moot.
    """
    for start, said in (("Error: ", error.message), ("", error.remedy)):
        first, *more = said.splitlines() or [""]
        _aside(f"{start}{first}")
        for text in more:
            _aside(text, indent=max(_indent(text), 2))
    if as_json:
        _print(_json(error.plain()))


def _indent(text: str) -> int:
    return min(len(text) - len(text.lstrip(" ")), 8)


def _aside(text: str, indent: int = 0) -> None:
    """Write a line to standard error."""
    try:
        voices.hide_progress()
        sys.stderr.write(" " * indent + one_line(text, _WIDTH) + "\n")
        sys.stderr.flush()
    except OSError:
        voices.hush(sys.stderr)
