"""Text as Ruby literals: Ruby reads exactly that text back, whatever it contains."""

from __future__ import annotations

_NAMED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}
_INTERPOLATES = "{$@"  # after `#`


def quoted(text: str) -> str:
    """The text as a double-quoted string literal."""
    return f'"{"".join(_escaped(text))}"'


def symbol(text: str) -> str:
    """The text as a symbol literal."""
    plain = text[:-1] if text.endswith(("?", "!")) else text
    simple = plain.isascii() and plain.isidentifier()
    return f":{text}" if simple else f":{quoted(text)}"


def _escaped(text: str) -> list[str]:
    parts = []
    for number, char in enumerate(text):
        if char in _NAMED:
            parts.append(_NAMED[char])
        elif char == "#" and text[number + 1 : number + 2] and text[number + 1] in _INTERPOLATES:
            parts.append("\\#")
        elif char < " " or char == "\x7f" or 0x80 <= ord(char) < 0xA0:
            parts.append(f"\\u{ord(char):04x}")
        else:
            parts.append(char)
    return parts
