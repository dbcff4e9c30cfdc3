"""One answer in three forms.

result      the value, for programs: `--json` prints it, the Python API returns it
say         short plain lines, for agents
table       columns and rows, for people at a terminal
"""

from __future__ import annotations

from moot.core.record import Record
from moot.core.text import counted, from_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from moot.api.call import Call


class Marked(Record):
    """A text with highlighted ranges, as (start, end)."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


class Table(Record):
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Marked, ...], ...]
    title: str = ""


class Notice(Record):
    """A warning about a call that succeeded."""

    code: str
    message: str


class Answer(Record):
    result: Any
    say: tuple[str, ...] = ()
    table: Table | None = None
    warnings: tuple[Notice, ...] = ()
    after: Callable[[], None] | None = None  # call it after the answer was shown
    more: Iterator[Answer] | None = None  # a stream of further answers
    code: int = 0  # the exit code, if the command ran but its result is a failure
    unread: int | None = None  # new messages for the calling agent, besides those in this answer


def plain(result: Any) -> Any:
    """A result as JSON-ready data."""
    if isinstance(result, Record):
        return result.full()
    if isinstance(result, (list, tuple)):
        return [plain(item) for item in result]
    if isinstance(result, dict):
        return {key: plain(value) for key, value in result.items()}
    return result


def typed(call: Call, command: str) -> str:
    """The command, with the caller's name if it names itself in every command."""
    return by(named(call), command)


def by(agent: str | None, command: str) -> str:
    """The command, with the name of the agent, if any."""
    return from_agent(command, agent) if agent else command


def named(call: Call) -> str | None:
    """The name of an agent that names itself by `--agent`."""
    me = call.me() if call.caller.why == "--agent" else None
    return me.name if me else None


def warn_of_more(call: Call, limit: int, more: int, noun: str) -> None:
    """`limit`: the value of --limit. `more`: the number of items that it left out."""
    if more > 0:
        call.warn("more", f"{counted(more, f'more {noun}')}: use --limit {limit + more}.")
