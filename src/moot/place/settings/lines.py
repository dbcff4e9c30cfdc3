"""Finds the line of each key in a TOML text. `tomllib` does not report it.

Used only when a value is wrong, and only on text that `tomllib` has accepted. So this only finds where keys and values
begin and end, and leaves their meaning (quoted keys, escapes) to `tomllib`.
"""

from __future__ import annotations

import re  # noqa: TID253 (this module itself is loaded on demand)
import tomllib  # noqa: TID253

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Path = tuple[str | int, ...]

_QUOTED = r'"(?:\\.|[^"\\])*"' + r"|'[^']*'"
_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_KEY = re.compile(rf"(?:{_QUOTED}|[^\"'=\]])*")
_TEXT = re.compile(rf'"""(?:\\.|[^\\])*?"""(?:"{{0,2}})|\'\'\'.*?\'\'\'(?:\'{{0,2}})|{_QUOTED}', re.DOTALL)
_BARE = re.compile(r"[^,\]}\n#]*")


class Lines:
    """The line of each key. Scans the text on the first call."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._known: dict[Path, int] = {}

    def of(self, path: Path) -> int:
        """The line of a key, or of the nearest table or list around it."""
        if not self._known:
            self._known[()] = 1
            self._scan()
        while path not in self._known:
            path = path[:-1]
        return self._known[path]

    def _scan(self) -> None:
        table: Path = ()
        elements: dict[Path, int] = {}
        while self._peek():
            if self._text.startswith("[[", self._at):
                self._at += 2
                table = self._key(())
                self._at += 2
                elements[table] = elements.get(table, -1) + 1
                table = (*table, elements[table])
                self._note(table, self._at)
            elif self._peek() == "[":
                self._at += 1
                table = self._key(())
                self._at += 1
            else:
                self._pair(table)

    def _pair(self, table: Path) -> None:
        path = self._key(table)
        self._at += 1
        self._value(path)

    def _value(self, path: Path) -> None:
        opening = self._peek()
        if opening in ("[", "{"):
            self._at += 1
            index = 0
            while (letter := self._peek()) not in ("]", "}", ""):
                if letter == ",":
                    self._at += 1
                elif opening == "{":
                    self._pair(path)
                else:
                    self._note((*path, index), self._at)
                    self._value((*path, index))
                    index += 1
            self._at += 1
        else:
            self._take(_TEXT if opening in ('"', "'") else _BARE)

    def _key(self, table: Path) -> Path:
        """Read a dotted or quoted key and record its line."""
        self._peek()
        start = self._at
        entry: Any = tomllib.loads(f"{self._take(_KEY)} = 0")
        path = table
        while isinstance(entry, dict):
            name, entry = next(iter(entry.items()))
            path = (*path, name)
            self._note(path, start)
        return path

    def _peek(self) -> str:
        """The next character that is not blank or in a comment, or "" at the end."""
        self._take(_BLANK)
        return self._text[self._at : self._at + 1]

    def _take(self, what: re.Pattern[str]) -> str:
        match = what.match(self._text, self._at)
        taken = match[0] if match else ""
        self._at += len(taken)
        return taken

    def _note(self, path: Path, at: int) -> None:
        self._known.setdefault(path, self._text.count("\n", 0, at) + 1)
