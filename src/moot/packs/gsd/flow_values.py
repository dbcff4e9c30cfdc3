"""Values in a front matter that have their own end: text in quotes, lists and maps in brackets.

They may go on over several lines, which are joined as YAML folds them. `moot.packs.gsd.front_matter` reads the rest.
Pure.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

DEEPEST = 20
_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", " ": " ",
    '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_CODES = {"x": 2, "u": 4, "U": 8}
REFUSED = {"&": "an anchor", "*": "an alias", "!": "a tag"}


class Fault(ValueError):
    """The front matter cannot be read."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.line, self.column, self.reason = line, column, reason


class NotYaml(ValueError):
    """A value is not valid. `line` counts from the one in which it begins."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.column, self.reason = line, column, reason


class FlowValue:
    """Reads a value that has its own end: quoted, or in brackets. Lines are joined, as YAML folds them."""

    def __init__(self, lines: Sequence[str], column: int, depth: int) -> None:
        self._lines = lines
        self._line, self._column = 0, column
        self._start, self._depth = column, depth

    def value(self) -> tuple[Any, int]:
        """The value, and the number of lines that it took."""
        found = self._node()
        rest = self._lines[self._line][self._column :]
        if rest.strip() and not (rest[0] in " \t" and rest.lstrip().startswith("#")):
            self._wrong("there is text after the end of the value")
        return found, self._line + 1

    def _rest(self) -> str:
        return self._lines[self._line][self._column :]

    def _skip(self) -> None:
        """Go on to the next character that is not a blank or in a comment, over line ends."""
        while True:
            rest = self._rest()
            blank = len(rest) - len(rest.lstrip())
            after = rest[blank:]
            if after and not (after[0] == "#" and (blank or not self._column)):
                self._column += blank
                return
            if self._line + 1 >= len(self._lines):
                self._unended("the value does not end")
            self._line, self._column = self._line + 1, 0

    def _wrong(self, reason: str) -> NoReturn:
        raise NotYaml(self._line, self._column, reason)

    def _unended(self, reason: str) -> NoReturn:
        raise NotYaml(0, self._start, reason)

    def _node(self) -> Any:
        first = self._rest()[0]
        if first in REFUSED:
            raise Fault(self._line, self._column + 1, f"{REFUSED[first]} is not allowed here; put the text in quotes")
        if first in "\"'":
            return self._quoted(first)
        if first == "[":
            return self._items()
        if first == "{":
            return self._pairs()
        return self._bare()

    def _open(self) -> None:
        self._column += 1
        self._depth += 1
        if self._depth > DEEPEST:
            raise Fault(self._line, self._column, f"the values are nested more than {DEEPEST} levels deep")
        self._skip()

    def _close(self) -> None:
        self._column += 1
        self._depth -= 1

    def _items(self) -> list[Any]:
        self._open()
        found: list[Any] = []
        while self._rest()[0] != "]":
            found.append(self._node())
            self._skip()
            self._comma("]")
        self._close()
        return found

    def _pairs(self) -> dict[str, Any]:
        self._open()
        found: dict[str, Any] = {}
        while self._rest()[0] != "}":
            line, column = self._line, self._column
            key = self._node()
            if not isinstance(key, str):
                raise Fault(line, column + 1, "a key that is itself a value is not allowed")
            if key in found:
                raise Fault(line, column + 1, f"the key {key!r} stands twice")
            found[key] = ""
            self._skip()
            if self._rest()[0] == ":":
                self._column += 1
                self._skip()
                if self._rest()[0] not in ",}":
                    found[key] = self._node()
                    self._skip()
            self._comma("}")
        self._close()
        return found

    def _comma(self, end: str) -> None:
        rest = self._rest()
        if rest[0] == ",":
            self._column += 1
            self._skip()
            if self._rest()[0] == ",":
                self._wrong("a value is missing between two commas")
        elif rest[0] != end:
            self._wrong(f"expected a comma or {end} here")

    def _bare(self) -> str:
        rest = self._rest()
        if rest[0] in ",]}" or rest[0] in "@`%|>" or (rest[0] in "-?:" and rest[1:2] in ("", " ", ",", "]", "}")):
            self._wrong(f"a text that begins with {rest[0]!r} is not in quotes")
        end = 0
        while end < len(rest):
            letter, after = rest[end], rest[end + 1 : end + 2]
            if letter in ",[]{}" or (letter == "#" and rest[end - 1] in " \t"):
                break
            if letter == ":" and (after in ("", " ") or after in ",[]{}"):
                break
            end += 1
        text = rest[:end]
        self._column += end
        if end == len(rest):
            self._skip()
            if self._rest()[0] not in ",]}:":
                self._wrong("a text over several lines is not in quotes")
        return text.rstrip()

    def _quoted(self, quote: str) -> str:
        self._column += 1
        pieces: list[str] = []
        while True:
            rest = self._rest()
            end = closing(rest, quote)
            if end is not None:
                pieces.append(self._unescaped(rest[:end], quote))
                self._column += end + 1
                return _joined(pieces)
            if self._line + 1 >= len(self._lines):
                self._unended("the text in quotes does not end")
            pieces.append(self._unescaped(rest, quote))
            self._line, self._column = self._line + 1, 0

    def _unescaped(self, text: str, quote: str) -> str:
        if quote == "'":
            return text.replace("''", "'")
        pieces, at = [], 0
        while (slash := text.find("\\", at)) >= 0:
            letter = text[slash + 1 : slash + 2]
            pieces.append(text[at:slash])
            if letter in _CODES:
                digits = text[slash + 2 : slash + 2 + _CODES[letter]]
                pieces.append(self._code(digits, _CODES[letter], slash))
                at = slash + 2 + _CODES[letter]
                continue
            if letter not in _ESCAPES:
                raise NotYaml(self._line, self._column + slash, f"\\{letter} means nothing in YAML")
            pieces.append(_ESCAPES[letter])
            at = slash + 2
        return "".join((*pieces, text[at:]))

    def _code(self, digits: str, length: int, slash: int) -> str:
        try:
            code = int(digits, 16) if len(digits) == length and digits.isalnum() else -1
            if 0 <= code < 0xD800 or 0xDFFF < code <= 0x10FFFF:
                return chr(code)
        except ValueError:
            pass
        raise NotYaml(self._line, self._column + slash, "a \\ is not followed by the code of a character")


def closing(rest: str, quote: str) -> int | None:
    """Where the text in quotes ends in this line; None if it goes on."""
    at = 0
    while at < len(rest):
        if rest[at] == "\\" and quote == '"':
            at += 2
        elif rest[at] != quote:
            at += 1
        elif quote == "'" and rest.startswith("''", at):
            at += 2
        else:
            return at
    return None


def _joined(pieces: list[str]) -> str:
    """The lines of a text in quotes: a line end is a blank, an empty line is a line end."""
    if len(pieces) == 1:
        return pieces[0]
    return folded([pieces[0].rstrip(" \t"), *(p.strip(" \t") for p in pieces[1:-1]), pieces[-1].lstrip(" \t")])


def folded(lines: list[str]) -> str:
    text, empty = lines[0], 0
    for line in lines[1:-1]:
        if not line:
            empty += 1
            continue
        text += ("\n" * empty if empty else " ") + line
        empty = 0
    if len(lines) > 1:
        text += ("\n" * empty if empty else " ") + lines[-1]
    return text
