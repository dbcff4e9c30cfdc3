"""Prints an answer: JSON for programs, short lines for agents, tables for people at a terminal.

Control characters in stored text are escaped before they reach a terminal.
"""

from __future__ import annotations

import os
import sys

from moot.api.answer import plain
from moot.core.text import from_agent, one_line, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from moot.api.answer import Answer
    from moot.core.errors import MootError


class UnsaidError(Exception):
    """The answer could not be written: the disk is full, or the reader is gone."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or str(error))
        self.gone = isinstance(error, BrokenPipeError)


def tell(answer: Answer, *, as_json: bool) -> None:
    """Print an answer, and the rest of it as it comes. Raises `UnsaidError`."""
    try:
        if as_json:
            _in_json(answer)
        else:
            _say(answer)
            _warn(answer)
        sys.stdout.flush()
    except OSError as error:
        raise UnsaidError(error) from error
    if answer.after is not None:
        answer.after()
    for later in answer.more or ():
        try:
            _go_on(later, as_json=as_json)
        except OSError as error:
            raise UnsaidError(error) from error


def _in_json(answer: Answer) -> None:
    if answer.more is None:
        _json(_whole(answer))
        return
    _warn(answer)
    for item in answer.result if isinstance(answer.result, list) else ():
        _json(plain(item))


def _whole(answer: Answer) -> dict[str, Any]:
    unread = {} if answer.unread is None else {"unread": answer.unread}
    return {"result": plain(answer.result), "warnings": plain(answer.warnings), **unread}


def remind(unread: int, agent: str | None) -> None:
    """Say that mail waits. `agent`: the name, if the caller names itself in every command."""
    from moot.core.text import counted

    _aside(f"{counted(unread, 'new message')}: {from_agent('moot inbox', agent) if agent else 'moot inbox'}\n")


def _go_on(later: Answer, *, as_json: bool) -> None:
    _warn(later)  # on standard error in both formats: the stream contains only events
    if not as_json:
        _say(later)
    elif later.result is not None:
        for item in later.result if isinstance(later.result, list) else (later.result,):
            _json(plain(item))
    sys.stdout.flush()


def tell_aside(answer: Answer, why: UnsaidError, *, as_json: bool) -> None:
    """Print the answer of a stored command to standard error, with a warning, if standard output failed.

    Without the answer, the caller would assume that the command failed, and repeat it.
    """
    from moot.api.answer import Notice

    said = (
        f"The command is stored, but its answer could not be written to the output ({why}). It is shown here instead."
    )
    answer = answer.replace(warnings=(*answer.warnings, Notice("output_failed", said)))
    try:
        if as_json:
            import json

            sys.stderr.write(json.dumps(_whole(answer)) + "\n")
        else:
            sys.stderr.write(_lines(answer))
            _warn(answer)
        sys.stderr.flush()
    except OSError:
        hush(sys.stderr)  # the exit code reports it


def end_line() -> None:
    """After Ctrl-C: the terminal shows `^C`, and the shell goes on in the next line."""
    if sys.stderr.isatty():
        _aside("\n")


def hide_progress() -> None:
    """Remove the line that shows the progress, if there is one, before something else is written."""
    shown = sys.modules.get("moot.surfaces.cli.progress")
    if shown is not None:
        shown.hide()


def _say(answer: Answer) -> None:
    hide_progress()
    if answer.table is not None and sys.stdout.isatty():
        from moot.surfaces.cli.tables import draw

        draw(answer.table, sys.stdout)
        return
    if answer.say:
        sys.stdout.write(_lines(answer))


def _lines(answer: Answer) -> str:
    r"""The lines of the answer. A line break inside one is part of a name or a path, and is written as `\n`."""
    return "".join(visible(line).replace("\n", "\\n") + "\n" for line in answer.say)


def _warn(answer: Answer) -> None:
    for warning in answer.warnings:
        _aside(one_line(f"moot: warning: {warning.message}", 1000) + f" [{warning.code}]\n")


def complain(error: MootError, *, as_json: bool) -> None:
    """Print an error and its remedy. Raises `UnsaidError`."""
    if as_json:
        try:
            _json(error.plain())
            sys.stdout.flush()
        except OSError as trouble:
            raise UnsaidError(trouble) from trouble
        return
    message, remedy = _further_indented(error.message), _further_indented(error.remedy)
    _aside(visible(f"moot: {message}\n  → {remedy} [{error.code}]") + "\n")


def remark(line: str) -> None:
    """Show a line while the verb runs."""
    _aside(f"moot: {one_line(line, 1000)}\n")


def _further_indented(text: str) -> str:
    """The text with its further lines indented, so that a text of others cannot imitate the first line of an error."""
    first, *more = text.splitlines() or [""]
    return "\n".join((first, *(line if line.startswith("  ") else f"  {line}" for line in more)))


def _aside(text: str) -> None:
    """Write to standard error. A failure is ignored: the exit code reports the outcome, too."""
    try:
        hide_progress()
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        hush(sys.stderr)


def hush(stream: TextIO) -> None:
    """Redirect a broken stream to /dev/null: at exit, Python would flush it again and fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _json(value: Any) -> None:
    import json

    text = json.dumps(value, ensure_ascii=False)
    if visible(text) != text or not _can_say(
        text
    ):  # control or invisible characters: escape them; the JSON value stays the same
        text = json.dumps(value)
    sys.stdout.write(text + "\n")


def _can_say(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
