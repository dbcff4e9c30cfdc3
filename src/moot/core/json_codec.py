"""Reads and writes JSON in moot's own form: compact, on one line, without blanks.

It uses the C code of the standard library's `json` directly: importing that package (and `re` with it) takes a short
command longer than all its work on the log. If the interpreter lacks the C code, the package is used. For JSON that
others wrote, use `json`: it accepts blanks and reports where a text is wrong.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

dumps: Callable[[Any], str]  # refuses NaN and infinities (ValueError) and other types (TypeError)
dumps_ascii: Callable[[Any], str]  # the same in ASCII, for lone surrogates
dumps_sorted: Callable[[Any], str]  # the same with sorted keys, for digests
spread: Callable[[Any, str], str]  # the same with this text between the items, and `: ` after a key
loads: Callable[[str], Any]

try:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner
except ImportError:
    from json import JSONDecoder, JSONEncoder

    dumps = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
    dumps_ascii = JSONEncoder(allow_nan=False, separators=(",", ":")).encode
    dumps_sorted = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True).encode
    loads = JSONDecoder().decode

    def spread(value: Any, between: str) -> str:
        return JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(between, ": ")).encode(value)

else:

    class _Reading:
        """The options of the scanner: the defaults of `json`."""

        strict = True
        object_hook = None
        object_pairs_hook = None
        parse_float = float
        parse_int = int

        @staticmethod
        def parse_constant(name: str) -> float:
            raise ValueError(f"{name} is not valid JSON")

    _scan = make_scanner(_Reading())  # type: ignore[arg-type]  # the stub names the wrong argument

    def _foreign(value: object) -> object:
        raise TypeError(f"{type(value).__name__} cannot be written as JSON")

    def _writer(quoted: Callable[[str], str], *, ordered: bool = False) -> Callable[[Any], str]:
        # Without a check for cycles: a value that contains itself raises RecursionError.
        encode = make_encoder(None, _foreign, quoted, None, ":", ",", ordered, False, False)

        def write(value: Any) -> str:
            return "".join(encode(value, 0)) if not isinstance(value, str) else quoted(value)

        return write

    dumps, dumps_ascii = _writer(encode_basestring), _writer(encode_basestring_ascii)
    dumps_sorted = _writer(encode_basestring, ordered=True)

    def spread(value: Any, between: str) -> str:
        encode = make_encoder(None, _foreign, encode_basestring, None, ": ", between, False, False, False)
        return "".join(encode(value, 0))

    def loads(text: str) -> Any:
        try:
            value, end = _scan(text, 0)
        except StopIteration:
            raise ValueError("not JSON") from None
        if end != len(text):
            raise ValueError(f"more than one JSON value: {text[end : end + 20]!r}")
        return value


def storable(value: Any) -> str:
    """The same for SQLite: lone surrogates, which JSON allows and UTF-8 does not, are escaped."""
    text = dumps(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return dumps_ascii(value)
    return text
