"""Converts events to rows and back."""

from __future__ import annotations

from moot.core.event import Event
from moot.core.json_codec import loads, storable
from moot.log import not_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.event import Draft


_EVENT = (
    "int",
    "str",
    "int",
    "str",
    "int",
    "str",
    "str",
    "str",
    "str?",
    "str?",
    "str?",
    "str",
    "int",
    "str?",
    "bytes",
)
_known: set[tuple[type, ...]] = set()  # valid combinations of column types that were seen


def data_of(draft: Draft) -> str:
    """The event's data as JSON text."""
    try:
        return storable(draft.data)
    except (TypeError, ValueError, RecursionError) as error:
        raise not_json(draft.stream, str(error)) from error


def event_of(row: tuple[Any, ...]) -> Event:
    """The event of a row; the columns are in the order of its fields."""
    fields = [*row]
    types = tuple(map(type, row))
    if types not in _known:
        _check(types)
    data = fields[7] = loads(fields[7])
    if type(data) is not dict:
        raise ValueError("its data is not a JSON object")
    fields[14] = fields[14].hex()
    return Event.in_order(fields)


def _check(types: tuple[type, ...]) -> None:
    """Check the types: in a damaged file, a column may hold anything, despite the schema."""
    for found, wanted in zip(types, _EVENT, strict=True):
        if found.__name__ != wanted.removesuffix("?") and not (found is type(None) and wanted.endswith("?")):
            raise ValueError(f"a column has the type {found.__name__} instead of {wanted.removesuffix('?')}")
    _known.add(types)
