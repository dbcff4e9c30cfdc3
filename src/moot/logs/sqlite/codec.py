"""Events to rows and back."""

from __future__ import annotations

from moot.core.compact import loads, storable
from moot.core.event import Event
from moot.logs.sqlite import faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.event import Draft


def data_of(draft: Draft) -> str:
    """The event's data as JSON text."""
    try:
        return storable(draft.data)
    except (TypeError, ValueError, RecursionError) as error:
        raise faults.not_json(draft.stream, str(error)) from error


def event_of(row: tuple[Any, ...]) -> Event:
    """The event that a row holds; the columns come in the order of its fields."""
    fields = [*row]
    fields[7] = loads(fields[7])
    if fields[14] is not None:
        fields[14] = fields[14].hex()
    return Event.in_order(fields)
