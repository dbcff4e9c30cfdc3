"""Converts events to CloudEvents 1.0 envelopes and back. An event is one JSON object on one line.

This module uses neither files nor the log. A line is untrusted: it is checked before it becomes an event.
"""

from __future__ import annotations

from json import JSONDecoder

from moot.core import timestamps
from moot.core.event import Event
from moot.core.json_codec import dumps, dumps_ascii
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SPEC = "1.0"
CONTENT = "application/json"
_OPTIONAL = (
    ("cause", "mootcause"),
    ("thread", "mootthread"),
    ("pack", "mootpack"),
    ("via", "mootvia"),
    ("digest", "mootdigest"),
)
_LONGEST = {"type": 200, "subject": 100_000, "mootby": 300, "mootvia": 2000, "mootcommit": 100, "time": 40}
_DEEPEST = 110  # levels of data; a command takes a hundred
_LARGEST = 1 << 53
_TIME = 24  # characters of a time as moot writes it
_HEX = frozenset("0123456789abcdef")
_IDENTITY = 32  # hexadecimal digits
_DIGEST = 64
_checked_minutes: set[str] = set()  # at most one: the minute of the last valid time


class Bad(ValueError):
    """The line is not an event of moot. The text is the reason."""


class Item(Record):
    """An event from a file, the number of events in its commit, and the URN of its workspace."""

    event: Event
    size: int
    source: str


def source_of(identity: str) -> str:
    """The stable URN of a workspace."""
    parts = (identity[:8], identity[8:12], identity[12:16], identity[16:20], identity[20:])
    return f"urn:uuid:{'-'.join(parts)}"


def identity_of(source: str) -> str:
    """The id of the workspace with this URN."""
    return source.removeprefix("urn:uuid:").replace("-", "")


def envelope(event: Event, of: int, source: str) -> dict[str, Any]:
    """The event in its envelope. `of`: the number of events in its commit."""
    found: dict[str, Any] = {
        "specversion": SPEC,
        "id": event.id,
        "source": source,
        "type": event.type,
        "subject": event.stream,
        "time": event.at,
        "datacontenttype": CONTENT,
        "mootposition": event.position,
        "mootprev": event.prev,
        "mootby": event.by,
        "mootcommit": event.commit,
        "mootn": event.n,
        "mootof": of,
        "mootv": event.v,
    }
    fields = event.__dict__
    for name, attribute in _OPTIONAL:
        if fields[name] is not None:
            found[attribute] = fields[name]
    trace = event.data.get("traceparent")
    if isinstance(trace, str):
        found["traceparent"] = trace
    found["data"] = event.data
    return found


def line(found: dict[str, Any]) -> str:
    """The envelope as one line of printable ASCII."""
    text = dumps(found)
    return text if text.isascii() and text.isprintable() else dumps_ascii(found).replace("\x7f", "\\u007f")


def parsed(text: str) -> dict[str, Any]:
    """The envelope in a line. Raises `Bad`."""
    try:
        found = _decode(text)
    except (ValueError, RecursionError) as error:
        raise Bad(f"it is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Bad("it is not a JSON object")
    if found.get("specversion") != SPEC:
        raise Bad(f"it is not a CloudEvents {SPEC} envelope")
    return found


def item(text: str) -> Item:
    """The event in a line. Raises `Bad`."""
    found = parsed(text)
    data = found.get("data")
    if not isinstance(data, dict) or (text.count("{") + text.count("[") > _DEEPEST and not _shallow(data, _DEEPEST)):
        raise Bad("`data` is not a JSON object, or nested too deep")
    event = Event.made(
        {
            "position": _number(found, "mootposition", 1),
            "type": _text(found, "type"),
            "v": _number(found, "mootv", 1),
            "stream": _text(found, "subject"),
            "prev": _number(found, "mootprev", 0),
            "at": _time(found),
            "by": _text(found, "mootby"),
            "data": data,
            "cause": _optional(found, "mootcause"),
            "thread": _optional(found, "mootthread"),
            "pack": _optional(found, "mootpack"),
            "commit": _text(found, "mootcommit"),
            "n": _number(found, "mootn", 0),
            "via": _via(found) if "mootvia" in found else None,
            "digest": _digest(found) if "mootdigest" in found else None,
        }
    )
    of, source = _number(found, "mootof", 1), _text(found, "source")
    identity = identity_of(source)
    if len(identity) != _IDENTITY or not _HEX.issuperset(identity):
        raise Bad("`source` is not the URN of a workspace")
    if found.get("id") != event.id or event.n >= of or event.prev >= event.position:
        raise Bad("its `id`, `mootn`, `mootof`, `mootprev` and `mootposition` contradict each other")
    return Item.made({"event": event, "size": of, "source": source})


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_decode = JSONDecoder(parse_constant=_refuse, object_pairs_hook=_object).decode


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    longest = _LONGEST.get(name, 300)
    if isinstance(value, str) and 0 < len(value) <= longest and "\x00" not in value and _encodes(value):
        return value
    raise Bad(f"`{name}` is not a text of 1 to {longest} characters")


def _optional(found: dict[str, Any], name: str) -> str | None:
    return _text(found, name) if name in found else None


def _via(found: dict[str, Any]) -> str:
    value = _text(found, "mootvia")
    if not value.isprintable():
        raise Bad("`mootvia` is not a single line of text")
    return value


def _digest(found: dict[str, Any]) -> str:
    value = _text(found, "mootdigest")
    if len(value) != _DIGEST or not _HEX.issuperset(value):
        raise Bad(f"`mootdigest` is not {_DIGEST} hexadecimal digits")
    return value


def _encodes(value: str) -> bool:
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def _number(found: dict[str, Any], name: str, least: int) -> int:
    value = found.get(name)
    if type(value) is not int or not least <= value < _LARGEST:
        raise Bad(f"`{name}` is not a whole number of at least {least}")
    return value


def _time(found: dict[str, Any]) -> str:
    value = _text(found, "time")
    if value[:16] in _checked_minutes and len(value) == _TIME and value[16:17] == ":" and _seconds(value[17:]):
        return value  # most events share the minute of the one before, and this check is faster
    _checked_minutes.clear()
    if timestamps.parse(value) is None:
        raise Bad("`time` is not a date and time")
    _checked_minutes.add(value[:16])
    return value


def _seconds(text: str) -> bool:
    """Whether this looks like `07.042Z`, as moot writes it."""
    digits = text[:2] + text[3:6]
    return text[2] == "." and text[6] == "Z" and digits.isascii() and digits.isdigit() and text[0] < "6"


def _shallow(value: Any, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left > 0 and all(_shallow(part, left - 1) for part in inner if isinstance(part, (dict, list)))
