"""Events as sentences: one line each for `log` and `explain`. The payload class holds the templates."""

from __future__ import annotations

from moot.core.json_codec import dumps
from moot.core.kind import payload_of
from moot.core.paths import as_typed
from moot.core.text import age, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.event import Event

_WIDTH = 200


def sentence(event: Event, width: int = _WIDTH) -> str:
    """One line that describes the event. The reason, if any, follows a colon."""
    known, data = payload_of(event), event.data
    if known is None or not known.said:
        return one_line(dumps(data), width)
    fields = _Fields({name: _Value(value) for name, value in data.items()})
    said = known.said.format_map(fields).strip().removesuffix(":")
    facts = [text.format_map(fields) for name, text in known.asides if data.get(name)]
    facts += map(str, data.get("flags", ()))
    if facts:
        aside = f" ({'; '.join(facts)})"
        said = one_line(said, max(width // 2, width - len(aside))) + aside
    if data.get("reason") and "{reason}" not in known.said:
        said += f": {data['reason']}"
    return one_line(said, width)


class _Value:
    """A field in a template. `moot.core.payload` documents the formats."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __format__(self, form: str) -> str:
        value = self._value
        match form:
            case "":
                return str(_told(value))
            case "json":
                return dumps(value)
            case "age":
                return age(value) if isinstance(value, (int, float)) else ""
            case "typed":
                return ", ".join(as_typed(map(str, value))) if isinstance(value, list) else str(_told(value))
            case "words":
                return " ".join(map(str, value)) if isinstance(value, list) else str(_told(value))
            case "named":
                named = value.items() if isinstance(value, dict) else ()
                return ", ".join(f"{name} ({key})" for key, name in named)
            case _:
                return format(value if isinstance(value, (int, float)) else 0, form)


class _Fields(dict[str, _Value]):
    def __missing__(self, key: str) -> _Value:
        return _Value(None)


def _told(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_told(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else value
