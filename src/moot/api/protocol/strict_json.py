"""JSON in a protocol's files: read strictly, written in one format.

Refuses what Python's parser accepts and other programs do not, with line and column: duplicate keys, NaN and Infinity,
numbers that cannot be written back unchanged, halves of surrogate pairs, very deep nesting. Everything that `load`
returns, `dump` can write.

This module does not know what the values mean.
"""

from __future__ import annotations

from moot.api.protocol import form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json import JSONDecodeError
    from typing import Any, NoReturn

DEEPEST = 100
_DEEP = "\n" + "  " * DEEPEST  # the indentation at that depth; strings contain no line breaks
_BOM = b"\xef\xbb\xbf"
_SENTENCES = {
    "Extra data": "there is text after the end of the value",
    "Expecting value": "a value is missing",
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing",
    "Illegal trailing comma before end of object": "a comma stands before the end of an object",
    "Illegal trailing comma before end of array": "a comma stands before the end of an array",
}


class TornJson(form.Torn):
    """The bytes are not complete JSON, with the reason and the place."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(f"{reason} (line {line}, column {column})")
        self.reason = reason
        self.line = line
        self.column = column


class _Suspect(ValueError):
    """A hook of the parser found something forbidden, but does not know where."""


def load(data: bytes) -> object:
    """Parse `data`. Raises `Torn`."""
    import json  # late: most calls find no changed file

    text = _decode(data)
    try:
        value: object = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite, parse_int=_integer
        )
    except json.JSONDecodeError as error:
        raise TornJson(_sentence(error), error.lineno, error.colno) from None
    except (_Suspect, RecursionError):
        _refuse_faults(text)
        raise
    if _may_hide_a_fault(text):
        _refuse_faults(text)
    return value


def dump(value: object) -> bytes:
    """The format in which moot writes JSON files. Raises ValueError for values that `load` would refuse."""
    import json

    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except RecursionError as error:
        raise ValueError("the value is nested too deeply") from error
    if _DEEP in text:  # Python's own limit depends on its version
        _refuse_faults(text)
    return text.encode() + b"\n"


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
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Suspect
    return found


def _refuse(_constant: str) -> NoReturn:
    raise _Suspect


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise _Suspect
    return number


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise _Suspect from None


def _may_hide_a_fault(text: str) -> bool:
    """Whether the parser may have missed a fault: half a surrogate pair, or too many levels for `dump`."""
    return "\\ud" in text or "\\uD" in text or text.count("{") + text.count("[") > DEEPEST


def _refuse_faults(text: str) -> None:
    """Find the first fault in a text that is valid JSON before it, and raise it as `Torn`."""
    import re

    # The closing quote is optional and the loops do not backtrack, so no text takes quadratic time.
    tokens = re.compile(
        r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\]]|-?Infinity|NaN|-?[0-9][0-9.eE+-]*+', re.DOTALL | re.ASCII
    )
    colon = re.compile(r"[ \t\r\n]*+:")
    levels: list[set[str] | None] = []
    for token in tokens.finditer(text):
        word = token[0]
        if word in "{[":
            levels.append(set() if word == "{" else None)
        elif word in "}]":
            levels[-1:] = []
        keys = levels[-1] if levels and word[0] == '"' and colon.match(text, token.end()) else None
        fault = _fault(word, keys, len(levels))
        if fault:
            raise TornJson(fault, *_position(text, token.start()))


def _fault(word: str, keys: set[str] | None, depth: int) -> str | None:
    if depth > DEEPEST:
        return f"the value is nested more than {DEEPEST} levels deep"
    if word[0] == '"':
        try:
            import json

            string = json.loads(word)
            string.encode()
        except UnicodeEncodeError:
            return "a string holds half of a surrogate pair"
        except ValueError:
            return "a string is not closed"
        if keys is not None:
            if string in keys:
                return f"the key {word[:80]} stands twice in one object"
            keys.add(string)
    elif word[-1] in "yN":
        return f"{word} is not JSON"
    elif word[-1].isdigit():
        return _number_fault(word)
    return None


def _number_fault(word: str) -> str | None:
    try:
        _integer(word) if word.lstrip("-").isdigit() else _finite(word)
    except ValueError:
        return "a number is too large to be kept"
    return None
