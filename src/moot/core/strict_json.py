"""JSON in a protocol's files: read strictly, written in one format.

Refuses what Python's parser accepts and other programs do not, with its place: duplicate keys, NaN and Infinity,
numbers that cannot be written back unchanged, halves of surrogate pairs, very deep nesting. For these, the place is the
last one that looks like it. Everything that `load` returns, `dump` can write.

This module does not know what the values mean.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json import JSONDecodeError
    from typing import Any, NoReturn

DEEPEST = 100
_DEEP = "\n" + "  " * DEEPEST  # the indentation at that depth; strings contain no line breaks
_TOO_DEEP = f"the value is nested more than {DEEPEST} levels deep"
_TOO_LARGE = "a number is too large to be kept"
_BOM = b"\xef\xbb\xbf"
_SENTENCES = {
    "Extra data": "there is text after the end of the value",
    "Expecting value": "a value is missing",
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing",
    "Illegal trailing comma before end of object": "a comma stands before the end of an object",
    "Illegal trailing comma before end of array": "a comma stands before the end of an array",
}


class Torn(ValueError):
    """The bytes are incomplete. A program may still be writing them. Line and column are 0 if unknown."""

    line = column = 0


class TornJson(Torn):
    """The bytes are not complete JSON, with the reason and the place."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(f"{reason} (line {line}, column {column})")
        self.reason = reason
        self.line = line
        self.column = column


class _Suspect(ValueError):
    """A hook of the parser found something forbidden, but does not know where: the reason, and the text to look for."""


def load(data: bytes) -> object:
    """Parse `data`. Raises `Torn`."""
    import json  # late: most calls find no changed file

    text = _decode(data)
    try:
        value: object = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite, parse_int=_integer
        )
        if "\\ud" in text or "\\uD" in text or text.count("{") + text.count("[") > DEEPEST:
            dump(value)
    except json.JSONDecodeError as error:
        raise TornJson(_sentence(error), error.lineno, error.colno) from None
    except _Suspect as error:
        reason, wanted = error.args
        raise TornJson(reason, *_position(text, max(text.rfind(wanted or text), 0))) from None
    except RecursionError:
        raise TornJson(_TOO_DEEP, 1, 1) from None
    return value


def dump(value: object) -> bytes:
    """The format in which moot writes JSON files. Raises ValueError for values that `load` would refuse."""
    import json

    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        data = text.encode() + b"\n"
    except UnicodeEncodeError:
        raise _Suspect("a string holds half of a surrogate pair", "\\ud") from None
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    if _DEEP in text and _is_too_deep(value):  # Python's own limit depends on its version
        raise _Suspect(_TOO_DEEP, "")
    return data


def _is_too_deep(value: Any) -> bool:
    layer = [value]
    for _ in range(DEEPEST):
        inside = (item.values() if isinstance(item, dict) else item for item in layer if isinstance(item, (dict, list)))
        layer = [item for items in inside for item in items]
    return any(isinstance(item, (dict, list)) for item in layer)


def _decode(data: bytes) -> str:
    body = data.removeprefix(_BOM)
    if not body.strip():
        raise TornJson("the file is empty", 1, 1)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        before = body[: error.start].decode()
        raise TornJson("the text is not UTF-8", *_position(before, len(before))) from None


def _position(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _sentence(error: JSONDecodeError) -> str:
    if error.doc.startswith(("//", "/*", "#"), error.pos):
        return "JSON has no comments"
    if error.msg == "Expecting value" and error.pos >= len(error.doc.rstrip()):
        return "the text ends in the middle of a value"
    return _SENTENCES.get(error.msg, error.msg[:1].lower() + error.msg[1:])


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Suspect(f'the key "{key[:80]}" stands twice in one object', f'"{key}"')
        found[key] = value
    return found


def _refuse(constant: str) -> NoReturn:
    raise _Suspect(f"{constant} is not JSON", constant)


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise _Suspect(_TOO_LARGE, digits)
    return number


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise _Suspect(_TOO_LARGE, digits) from None
