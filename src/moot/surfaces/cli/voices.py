"""How an answer sounds: JSON for programs, short lines for agents, drawn tables for people at a terminal.

Whatever others wrote is made visible before it reaches a terminal: no control character passes.
"""

from __future__ import annotations

import sys

from moot.api.answer import plain
from moot.core.text import one_line, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from rich.text import Text as RichText

    from moot.api.answer import Answer, Marked, Table
    from moot.core.errors import MootError


def tell(answer: Answer, *, as_json: bool) -> None:
    """Say an answer, and everything that is still to come of it."""
    if as_json:
        if answer.more is None:
            _json({"result": plain(answer.result), "warnings": plain(answer.warnings)})
        else:
            _warn(answer)
            for item in answer.result if isinstance(answer.result, list) else ():
                _json(plain(item))
    else:
        _say(answer)
        _warn(answer)
    sys.stdout.flush()
    if answer.after is not None:
        answer.after()
    for later in answer.more or ():
        _warn(later)  # beside the stream in both voices: a program reads one kind of thing from it
        if not as_json:
            _say(later)
        elif later.result is not None:
            for item in later.result if isinstance(later.result, list) else (later.result,):
                _json(plain(item))
        sys.stdout.flush()


def _say(answer: Answer) -> None:
    if answer.table is not None and sys.stdout.isatty():
        _draw(answer.table)
        return
    for line in answer.say:
        sys.stdout.write(visible(line) + "\n")


def _warn(answer: Answer) -> None:
    for warning in answer.warnings:
        sys.stderr.write(one_line(f"moot: warning: {warning.message}", 1000) + f" [{warning.code}]\n")


def complain(error: MootError, *, as_json: bool) -> None:
    """Say what went wrong, and what to do instead."""
    if as_json:
        _json(error.plain())
        return
    sys.stderr.write(visible(f"moot: {error.message}\n  → {error.remedy} [{error.code}]") + "\n")


def _json(value: Any) -> None:
    import json

    text = json.dumps(value, ensure_ascii=False)
    if visible(text) != text or not _can_say(text):  # something in it acts or hides: escaped, it says the same
        text = json.dumps(value)
    sys.stdout.write(text + "\n")


def _can_say(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _draw(table: Table, out: TextIO | None = None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(title=Text(visible(table.title)), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        drawn.add_column(column, overflow="fold")
    for row in table.rows:
        drawn.add_row(*(_cell(cell) for cell in row))
    Console(file=out or sys.stdout, highlight=False).print(drawn)


def _cell(cell: str | Marked) -> RichText:
    from rich.text import Text

    if isinstance(cell, str):
        return Text(visible(cell), style=_STYLES.get(cell, ""))
    drawn, end = Text(), 0
    for start, stop in cell.marks:
        drawn.append(visible(cell.text[end:start])).append(visible(cell.text[start:stop]), style="bold yellow")
        end = stop
    return drawn.append(visible(cell.text[end:]))


_STYLES = {
    "done": "green",
    "completed": "green",
    "ok": "green",
    "here": "green",
    "working": "cyan",
    "in_progress": "cyan",
    "review": "yellow",
    "awaiting_review": "yellow",
    "waits": "dim",
    "failed": "red",
    "rejected": "red",
    "dead": "red",
    "BAD": "bold red",
}
