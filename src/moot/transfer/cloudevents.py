"""An event as a CloudEvents 1.0 envelope, and back. One event is one JSON object, one object one line.

Nothing here touches a file or the log. What others may have written is checked before it becomes an event.
"""

from __future__ import annotations

from moot.core.event import Event
from moot.core.json_codec import dumps, dumps_ascii
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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
_made: list[Callable[[str], Any]] = []
_minutes: dict[str, bool] = {}  # the last one that was looked at


class Bad(ValueError):
    """A line that is no event of moot; the text says why."""


class Item(Record):
    """An event out of a file, how many events its commit has, and where it comes from."""

    event: Event
    size: int
    source: str


def source_of(identity: str) -> str:
    """The stable URN of a workspace."""
    parts = (identity[:8], identity[8:12], identity[12:16], identity[16:20], identity[20:])
    return f"urn:uuid:{'-'.join(parts)}"


def identity_of(source: str) -> str:
    """The workspace that a URN names."""
    return source.removeprefix("urn:uuid:").replace("-", "")


def envelope(event: Event, of: int, source: str) -> dict[str, Any]:
    """The event in its envelope; `of` is how many events its commit has."""
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
    """The envelope on one line that any terminal and any encoding can take."""
    text = dumps(found)
    return text if text.isascii() and text.isprintable() else dumps_ascii(found).replace("\x7f", "\\u007f")


def parsed(text: str) -> dict[str, Any]:
    """The envelope that a line holds. Raises `Bad`."""
    try:
        found = _reader()(text)
    except (ValueError, RecursionError) as error:
        raise Bad(f"it is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise Bad("it is no JSON object")
    if found.get("specversion") != SPEC:
        raise Bad(f"it is no CloudEvents {SPEC} envelope")
    return found


def item(text: str) -> Item:
    """The event that a line holds. Raises `Bad`."""
    found = parsed(text)
    data = found.get("data")
    if not isinstance(data, dict) or (text.count("{") + text.count("[") > _DEEPEST and not _shallow(data, _DEEPEST)):
        raise Bad("`data` is no JSON object, or nested too deep")
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
            "cause": _text(found, "mootcause") if "mootcause" in found else None,
            "thread": _text(found, "mootthread") if "mootthread" in found else None,
            "pack": _text(found, "mootpack") if "mootpack" in found else None,
            "commit": _text(found, "mootcommit"),
            "n": _number(found, "mootn", 0),
            "via": _via(found) if "mootvia" in found else None,
            "digest": _digest(found) if "mootdigest" in found else None,
        }
    )
    of, source = _number(found, "mootof", 1), _text(found, "source")
    identity = identity_of(source)
    if len(identity) != _IDENTITY or not _HEX.issuperset(identity):
        raise Bad("`source` names no workspace of moot")
    if found.get("id") != event.id or event.n >= of or event.prev >= event.position:
        raise Bad("its `id`, `mootn`, `mootof`, `mootprev` and `mootposition` do not go together")
    return Item.made({"event": event, "size": of, "source": source})


def _reader() -> Callable[[str], Any]:
    """What reads a line; made once, because there may be a million."""
    if not _made:
        from json import JSONDecoder

        _made.append(JSONDecoder(parse_constant=_refuse, object_pairs_hook=_object).decode)
    return _made[0]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    longest = _LONGEST.get(name, 300)
    if isinstance(value, str) and 0 < len(value) <= longest and value.isascii() and value.isprintable():
        return value
    if not isinstance(value, str) or not 0 < len(value) <= longest or "\x00" in value or not _encodes(value):
        raise Bad(f"`{name}` is no text of 1 to {longest} characters")
    return value


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
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number(found: dict[str, Any], name: str, least: int) -> int:
    value = found.get(name)
    if type(value) is not int or not least <= value < _LARGEST:
        raise Bad(f"`{name}` is no whole number from {least} on")
    return value


def _time(found: dict[str, Any]) -> str:
    from moot.core import timestamps

    value = _text(found, "time")
    if value[:16] in _minutes and len(value) == _TIME and value[16:17] == ":" and _seconds(value[17:]):
        return value
    _minutes.clear()
    if timestamps.parse(value) is None:
        raise Bad("`time` is no date and time")
    _minutes[value[:16]] = True
    return value


def _seconds(text: str) -> bool:
    """Whether this is `07.042Z`, as moot writes it."""
    digits = text[:2] + text[3:6]
    return text[2] == "." and text[6] == "Z" and digits.isascii() and digits.isdigit() and text[0] < "6"


def _shallow(value: Any, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left > 0 and all(_shallow(part, left - 1) for part in inner if isinstance(part, (dict, list)))
