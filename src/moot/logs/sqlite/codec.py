"""Events to rows and back."""

from __future__ import annotations

from moot.core.compact import dumps, dumps_ascii, loads
from moot.core.event import Event
from moot.logs.sqlite import faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.event import Draft


def data_text(data: dict[str, Any]) -> str:
    """Data as JSON text that the file can hold."""
    try:
        text = dumps(data)
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can say and UTF-8 cannot
        return dumps_ascii(data)
    return text


def data_of(draft: Draft) -> str:
    """The event's data as JSON text."""
    try:
        return data_text(draft.data)
    except (TypeError, ValueError, RecursionError) as error:
        raise faults.not_json(draft.stream, str(error)) from error


def event_of(row: tuple[Any, ...]) -> Event:
    """The event that a row holds; the columns come in the order of its fields."""
    fields = [*row]
    fields[7] = loads(fields[7])
    return Event.in_order(fields)
