"""An event as somebody types it: the type and `KEY=VALUE` words, or JSON.

Values are plain text: nothing in them is evaluated. Fields that hold numbers or lists in the protocol are read as such;
`KEY:=JSON` gives any other value. A list has one `KEY=VALUE` for each item. A claim or release of several paths becomes
one event for each.
"""

from __future__ import annotations

from moot.core.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Fields = dict[str, Any]

NUMBERS = ("task",)
LISTS = ("provides", "changes", "affects", "requiredBy", "options")
SEVERAL = ("file:claimed", "file:released")  # of several paths at once
_EXAMPLE = "moot gsd emit task:failed agent=gsd-executor plan=01-02 task=1 error='Tests fail'"


def events_of(event: str, words: Sequence[str]) -> list[Fields]:
    """The events that were typed, with their types."""
    text = event.strip()
    if text[:1] in ("{", "["):
        if words:
            raise _usage("Fields cannot be added to an event that is given as JSON.")
        return _given_as_json(text)
    fields = _fields(words)
    paths = fields.get("path")
    if text not in SEVERAL or not isinstance(paths, list):
        return [{"type": text, **fields}]
    return [{"type": text, **fields, "path": path} for path in paths]


def _fields(words: Sequence[str]) -> Fields:
    found: Fields = {}
    for word in words:
        key, equals, value = word.partition("=")
        raw = key.endswith(":")
        key = key.removesuffix(":")
        if not equals or not key:
            raise _usage(f"{word!r} is not a field: expected KEY=VALUE.")
        if key == "type":
            raise _usage("The type of the event comes first, without `type=`.")
        if raw and key in found:
            raise _twice(key)
        found[key] = _json(value, key) if raw else _added(found, key, value)
    return found


def _added(found: Fields, key: str, value: str) -> Any:
    """The value of a field after one more `KEY=VALUE`."""
    if key in LISTS:
        if _is_json_list(value):
            said = f"{key}={value[:60]} would be a list with this text as its only item."
            raise Usage("bad_arguments", said, f"For a list in JSON, write {key}:=JSON: `{key}:='{value[:60]}'`.")
        return [*found.get(key, []), value] if value or key in found else []  # `provides=` is an empty list
    if key not in found:
        return int(value) if key in NUMBERS and value.isascii() and value.isdigit() else value
    if key == "path":
        before = found[key]
        return [*(before if isinstance(before, list) else [before]), value]
    raise _twice(key)


def _twice(key: str) -> Usage:
    remedy = f'If it is a list, give it as {key}:=JSON: `{key}:=\'["a", "b"]\'`. For example: {_EXAMPLE}'
    return Usage("bad_arguments", f"The field {key} is given twice.", remedy)


def _is_json_list(text: str) -> bool:
    import json

    try:
        return text.lstrip().startswith("[") and isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _given_as_json(text: str) -> list[Fields]:
    value = _json(text, "")
    events = value if isinstance(value, list) else [value]
    if not events or not all(isinstance(one, dict) for one in events):
        raise _usage("The JSON must be an object, or a list of objects.")
    return events


def _json(text: str, key: str) -> Any:
    import json

    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        where = f"The value of {key}" if key else "The event"
        raise Usage("bad_json", f"{where} is not valid JSON: {error}.", f"For example: {_EXAMPLE}") from None


def _unique(pairs: list[tuple[str, Any]]) -> Fields:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _usage(message: str) -> Usage:
    return Usage("bad_arguments", message, f"For example: {_EXAMPLE}")
