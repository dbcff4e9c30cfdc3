"""Reads the front matter of a plan: the small part of YAML that planning agents write.

Block and flow lists and maps, plain, quoted and block text, comments. All values are text: `plan: 01` is "01", and a
missing value is "". The meaning of YAML's types differs between its versions and readers, and no plan needs it.

What would make two readers disagree about the structure is refused with line and column: tags, anchors, aliases,
duplicate keys, tabs as indentation, several documents, complex keys. A value that is not valid YAML, such as
`contains: "A", "B"`, is kept as it is written, with a doubt: agents write such values in descriptions, and the rest of
the plan must not be lost with them.

Pure. It knows nothing about plans.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.gsd.flow_values import DEEPEST, REFUSED, Fault, FlowValue, NotYaml, closing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

_FENCE = "---"
_END = "..."
_SIGNS = frozenset("+-123456789")  # after | and >
_NO_KEY = ("", *"#[]{},&*!|>%@`?")  # a key does not begin with these


class Doubt(Record):
    """Something that was read, but not as YAML would read it."""

    line: int
    column: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.reason}"


class FrontMatter(Record):
    fields: dict[str, Any]
    body: str  # the text after it
    doubts: tuple[Doubt, ...] = ()


def parse(text: str) -> FrontMatter:
    """The front matter between two lines `---` at the beginning, and the rest. Raises `Fault`."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        raise Fault(1, 1, "the file does not begin with front matter (a line ---)")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in (_FENCE, _END)), None)
    if end is None:
        raise Fault(1, 1, "the front matter does not end (a second line ---)")
    reader = _Reader(lines[1:end], first=2)
    return FrontMatter(
        fields=reader.document(), body="\n".join(lines[end + 1 :]), doubts=tuple(dict.fromkeys(reader.doubts))
    )


class _Reader:
    """Reads lines from top to bottom. `_at` is the next line."""

    def __init__(self, lines: Sequence[str], first: int) -> None:
        self._lines = lines
        self._first = first
        self._at = 0
        self.doubts: list[Doubt] = []

    def document(self) -> dict[str, Any]:
        if self._next() is None:
            return {}
        if _key(self._lines[self._at], 0) is None:
            self._refuse(self._lines[self._at], 0)
            self._fault(0, "expected a key and a colon, such as `wave: 1`")
        found = self._map(0, 0)
        if self._next() is not None:
            self._fault(_indent(self._lines[self._at]), "this line is indented less than the ones before it")
        return found

    # --- lines -------------------------------------------------------------------------------------------------------

    def _next(self) -> int | None:
        """The indentation of the next line with content; None at the end."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            rest = line.lstrip(" ")
            if rest.startswith("\t") and rest.strip():
                self._fault(len(line) - len(rest), "a tab cannot be used as indentation")
            if rest.strip() and not rest.startswith("#"):
                return len(line) - len(rest)
            self._at += 1
        return None

    def _fault(self, column: int, reason: str, at: int | None = None) -> NoReturn:
        raise Fault(self._first + (self._at if at is None else at), column + 1, reason)

    def _doubt(self, at: int, column: int, reason: str) -> None:
        self.doubts.append(Doubt(line=self._first + at, column=column + 1, reason=reason))

    # --- blocks ------------------------------------------------------------------------------------------------------

    def _map(self, indent: int, depth: int, column: int | None = None) -> dict[str, Any]:
        """A map whose keys stand at `indent`. Its first key may stand in the line of a list item, at `column`."""
        self._check_depth(depth)
        found: dict[str, Any] = {}
        start = column
        while start is not None or self._next() == indent:
            line, at = self._lines[self._at], indent if start is None else start
            start = None
            if _is_item(line, at):
                break
            key = _key(line, at)
            if key is None:
                self._refuse(line, at)
                self._fault(at, "expected a key and a colon, such as `wave: 1`")
            name, after = key
            if name in found:
                self._fault(at, f"the key {name!r} stands twice")
            found[name] = self._value(after, indent, depth, listed=True)
        below = self._next()
        if below is not None and below > indent:
            self._fault(below, "this line is indented more than the ones before it")
        return found

    def _list(self, indent: int, depth: int, column: int | None = None) -> list[Any]:
        self._check_depth(depth)
        found: list[Any] = []
        start = column
        while start is not None or self._next() == indent:
            line, at = self._lines[self._at], indent if start is None else start
            start = None
            if not _is_item(line, at):
                break
            after = at + 1 + _blanks(line, at + 1)
            if _is_item(line, after):
                found.append(self._list(after, depth + 1, after))
            elif _key(line, after) is not None:
                found.append(self._map(after, depth + 1, after))
            else:
                found.append(self._value(after, indent, depth, listed=False))
        below = self._next()
        if below is not None and below > indent:
            self._fault(below, "this line is indented more than the ones before it")
        return found

    def _value(self, column: int, indent: int, depth: int, *, listed: bool) -> Any:
        """The value at `column` of this line, or in the lines below. `indent` is that of the map or list it is in.

        `listed`: a list below may stand at the same indentation.
        """
        line, at = self._lines[self._at], self._at
        column += _blanks(line, column)
        rest = line[column:]
        if not rest.strip() or rest.startswith("#"):
            self._at += 1
            return self._below(indent, depth, listed=listed)
        self._refuse(line, column)
        if rest[0] in "|>":
            return self._text_block(column, indent)
        if rest[0] in "\"'[{":
            return self._delimited(at, column, indent, depth)
        self._at += 1
        return self._plain(at, column, indent)

    def _below(self, indent: int, depth: int, *, listed: bool) -> Any:
        below = self._next()
        if below is None or below < indent or (below == indent and not listed):
            return ""
        line = self._lines[self._at]
        if _is_item(line, below):
            return self._list(below, depth + 1)
        if below == indent:
            return ""
        if line[below] not in "[{" and _key(line, below) is not None:
            return self._map(below, depth + 1)
        return self._value(below, indent, depth, listed=False)

    def _refuse(self, line: str, column: int) -> None:
        what = REFUSED.get(line[column])
        if what is not None:
            self._fault(column, f"{what} is not allowed here; put the text in quotes")
        if line.startswith("? ", column):
            self._fault(column, "a key that is itself a value is not allowed")

    def _check_depth(self, depth: int) -> None:
        if depth > DEEPEST:
            self._fault(0, f"the values are nested more than {DEEPEST} levels deep")

    # --- text --------------------------------------------------------------------------------------------------------

    def _plain(self, at: int, column: int, indent: int) -> str:
        """Text without quotes. It goes on in lines that are indented more."""
        text, comment = _uncommented(self._lines[at][column:])
        self._check_plain(at, column, text)
        pieces, empty = [text], 0
        while not comment and self._at < len(self._lines):
            line = self._lines[self._at]
            below = _indent(line)
            if not line.strip():
                empty += 1
                self._at += 1
                continue
            if below <= indent or line[below] == "#":
                break
            text, comment = _uncommented(line[below:])
            if ": " in text or text.endswith(":"):
                self._doubt(self._at, below, "a colon in a text that is not in quotes")
            pieces += ["\n" * empty if empty else " ", text]
            empty = 0
            self._at += 1
        return "".join(pieces)

    def _check_plain(self, at: int, column: int, text: str) -> None:
        if text[0] in "@`%,]}" or (text[0] in "-?" and text[1:2] in ("", " ")):
            self._doubt(at, column, f"a text that begins with {text[0]!r} is not in quotes")
        colon = f"{text} ".find(": ")
        if colon >= 0:
            self._doubt(at, column + colon, "a colon in a text that is not in quotes")

    def _text_block(self, column: int, indent: int) -> str:
        """`|` and `>`: the lines below that are indented more, without their indentation. Both keep their line ends."""
        header = _uncommented(self._lines[self._at][column:])[0]
        if len({"-" if sign in "+-" else "1" for sign in header[1:]}) < len(header) - 1 or set(header[1:]) - _SIGNS:
            self._fault(column, f"{header[:20]!r} does not begin a text of several lines")
        digits = "".join(letter for letter in header if letter.isdigit())
        self._at += 1
        taken: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and _indent(line) <= indent:
                break
            taken.append(line)
            self._at += 1
        within = [_indent(line) for line in taken if line.strip()]
        cut = indent + int(digits) if digits else (within[0] if within else 0)
        if within and min(within) < cut:
            self._fault(min(within), "a line of this text is indented less than its first line", self._at - 1)
        text = "\n".join(line[cut:] if line.strip() else "" for line in taken).rstrip("\n")
        return text if "-" in header or not text else f"{text}\n"

    def _delimited(self, at: int, column: int, indent: int, depth: int) -> Any:
        """A quoted text, or a list or map in brackets. It may go on in lines that are indented more."""
        end = at + 1
        while end < len(self._lines) and (not self._lines[end].strip() or _indent(self._lines[end]) > indent):
            end += 1
        source = [self._lines[at], *self._lines[at + 1 : end]]
        try:
            found, lines = FlowValue(source, column, depth).value()
        except NotYaml as wrong:
            # The value is kept as it is written, if it is certain where it ends: in this line.
            if end > at + 1 and any(line.strip() for line in source[1:]):
                raise Fault(self._first + at + wrong.line, wrong.column + 1, wrong.reason) from None
            self._doubt(at, wrong.column, wrong.reason)
            self._at += 1
            return self._lines[at][column:].strip()
        except Fault as fault:
            raise Fault(self._first + at + fault.line, fault.column, fault.reason) from None
        self._at = at + lines
        return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _blanks(line: str, column: int) -> int:
    rest = line[column:]
    return len(rest) - len(rest.lstrip(" \t"))


def _is_item(line: str, column: int) -> bool:
    """Whether a list item begins here."""
    return line.startswith("- ", column) or line[column:] == "-"


def _key(line: str, column: int) -> tuple[str, int] | None:
    """The key that begins here, and where its value begins; None if there is no key."""
    rest = line[column:]
    if rest[:1] in ("'", '"'):
        end = closing(rest[1:], rest[0])
        if end is None or not rest[end + 2 :].startswith(":") or rest[end + 3 : end + 4] not in ("", " ", "\t"):
            return None
        if "\\" in rest[:end] or "''" in rest[1:end]:
            return None
        return rest[1 : end + 1], column + end + 3
    if rest[:1] in _NO_KEY:
        return None
    at = rest.find(":")
    while at >= 0 and rest[at + 1 : at + 2] not in ("", " ", "\t"):
        at = rest.find(":", at + 1)
    if at < 1 or " #" in rest[:at]:
        return None
    return rest[:at].rstrip(), column + at + 1


def _uncommented(text: str) -> tuple[str, bool]:
    """The text without a comment at its end, and whether there was one."""
    at = min((n for n in (text.find(" #"), text.find("\t#")) if n >= 0), default=-1)
    return (text[:at].rstrip(), True) if at >= 0 else (text.rstrip(), False)
