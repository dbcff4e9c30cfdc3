"""One answer, three voices.

result      the thing itself, for programs: `--json` prints it, the Python API returns it
say         short lines, for agents: no decoration, nothing that is not needed
table       columns and rows; a terminal with a person in front of it gets them drawn
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class Marked(Record):
    """A text with parts of it to be seen at once, as (start, end)."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


class Table(Record):
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Marked, ...], ...]
    title: str = ""


class Notice(Record):
    """Something that the caller should know although the call went through."""

    code: str
    message: str


class Answer(Record):
    result: Any
    say: tuple[str, ...] = ()
    table: Table | None = None
    warnings: tuple[Notice, ...] = ()
    after: Callable[[], None] | None = None  # to be called once the answer was shown
    more: Iterator[Answer] | None = None  # a stream: answers that are still to come
    code: int = 0  # the exit code of a command that did what it was asked, and whose result is no success


def plain(result: Any) -> Any:
    """A result as JSON-ready data."""
    if isinstance(result, Record):
        return result.full()
    if isinstance(result, (list, tuple)):
        return [plain(item) for item in result]
    if isinstance(result, dict):
        return {key: plain(value) for key, value in result.items()}
    return result
