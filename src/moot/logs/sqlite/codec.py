"""Events to rows and back. Imported only when there is one: `json` is the dearest import of a short command."""

from __future__ import annotations

from json import JSONDecoder, JSONEncoder

from moot.core.event import Event
from moot.logs.sqlite import faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.event import Draft

_encode = JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=True, separators=(",", ":")).encode
_encode_ascii = JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=True, separators=(",", ":")).encode
_decode = JSONDecoder().decode


def data_of(draft: Draft) -> str:
    """The event's data as JSON text."""
    try:
        text = _encode(draft.data)
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can say and UTF-8 cannot
        return _encode_ascii(draft.data)
    except (TypeError, ValueError, RecursionError) as error:
        raise faults.not_json(draft.stream, str(error)) from error
    return text


def event_of(row: tuple[Any, ...]) -> Event:
    """The event that a row holds; the columns come in the order of its fields."""
    fields = [*row]
    fields[7] = _decode(fields[7])
    return Event(*fields)
