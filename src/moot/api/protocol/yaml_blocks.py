"""Finds the YAML block that ends the output of an agent: its answer.

Agents quote: the prompt with its samples, an earlier answer, a file. So only the last block counts, fenced or bare. If
it cannot be read, or is not what was asked for, there is no answer, whatever stands before it.

    - A fenced block starts at a line of three or more backticks or tildes. It ends at such a line that is not indented
      further (a text inside YAML may contain fences), or with the output. Its language is `yaml`, `yml` or `json`, or
      its first line starts a mapping.
    - A bare block is a group of lines outside fences that starts with `key:` at the left margin, where the key is a
      lowercase name. Indented lines, list items, comments and further keys belong to it. A blank line does not end it,
      unless a key would stand twice.

Takes linear time, and looks only at the end of a very long output.
"""

from __future__ import annotations

import re  # noqa: TID253 (this module itself is loaded on demand)

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

WINDOW = 2 * 1024 * 1024  # characters at the end of the output; a block that is larger is not found
_LANGUAGES = ("yaml", "yml", "json")
_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})[ \t]*([^`\s]*)[^`\n]*$", re.MULTILINE)
_KEY = re.compile(r"([a-z][a-z0-9_]*):(?:[ \t]|$)")
_INSIDE = re.compile(r"[ \t]|- |-$|#|---$|\.\.\.$|[}\]]")
_BEFORE = re.compile(r"[ \t]*(?:#[^\n]*|---[ \t]*)?\n")  # a line that may stand before the first key


class YamlBlock(Record):
    """A block of an output."""

    text: str
    line: int  # of its first line, counted from 1 at the start of the whole output
    fenced: bool


class _Fenced(Record):
    top: int  # where its opening fence starts
    start: int
    end: int
    after: int  # where its closing fence ends
    indent: int
    language: str


def last_block(output: str) -> YamlBlock | None:
    """The last YAML block of the output; None if there is none."""
    cut = output.find("\n", len(output) - WINDOW - 1) + 1 if len(output) > WINDOW else 0
    text = output[cut:]
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    last: _Fenced | None = None
    gaps, begin = list[tuple[int, int]](), 0  # outside fences, since the last block
    for fenced in _fenced(text):
        gaps.append((begin, fenced.top))
        begin = fenced.after
        if _is_yaml(text, fenced):
            last, gaps = fenced, []
    gaps.append((begin, len(text)))
    for gap in reversed(gaps):
        bare = _bare(text, *gap)
        if bare is not None:
            if cut and not bare[0]:  # its start was cut off
                return None
            return YamlBlock(text[bare[0] : bare[1]], _line(output, cut, text, bare[0]), fenced=False)
    if last is None:
        return None
    inside = text[last.start : last.end]
    if last.indent:
        inside = re.sub(rf"^ {{1,{last.indent}}}", "", inside, flags=re.MULTILINE)
    return YamlBlock(inside, _line(output, cut, text, last.start), fenced=True)


def _line(output: str, cut: int, text: str, at: int) -> int:
    return output.count("\n", 0, cut) + text.count("\n", 0, at) + 1


def _fenced(text: str) -> Iterator[_Fenced]:
    """The fenced blocks, in order. One that is not closed ends with the text."""
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None or (fence[3] and not opening[3]):  # a bare fence before it closed a block that was cut off
            opening = fence
        elif not fence[3] and fence[2].startswith(opening[2]) and len(fence[1]) <= len(opening[1]):
            yield _block(opening, fence.start(), fence.end())
            opening = None
    if opening is not None:
        yield _block(opening, len(text), len(text))


def _block(opening: re.Match[str], end: int, after: int) -> _Fenced:
    start = min(opening.end() + 1, end)
    return _Fenced(opening.start(), start, end, after, len(opening[1]), opening[3].lower())


def _is_yaml(text: str, fenced: _Fenced) -> bool:
    if fenced.language in _LANGUAGES:
        return True
    spot = fenced.start
    while line := _BEFORE.match(text, spot, fenced.end):
        spot = line.end()
    while spot < fenced.end and text[spot] == " ":
        spot += 1
    return _KEY.match(text, spot, fenced.end) is not None


class _Group:
    """The lines of a bare block, found from the end to the start, paragraph by paragraph."""

    def __init__(self) -> None:
        self.start: int | None = None  # of the paragraphs that belong to it
        self._keys: set[str] = set()
        self._first: int | None = None  # the first key of the paragraph above them, as far as it is known
        self._more: set[str] = set()

    def add_key(self, name: str, at: int) -> None:
        self._first = at
        self._more.add(name)

    def end_paragraph(self) -> bool:
        """False if this paragraph repeats a key: then it is another block."""
        if self._keys & self._more:
            return False
        if self._first is not None:
            self.start, self._first = self._first, None
        self._keys |= self._more
        self._more = set()
        return True


def _bare(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """Where the last bare block between two places starts and ends."""
    group, spot, bottom = _Group(), end, end
    while spot > begin:
        top = text.rfind("\n", begin, spot - 1) + 1 or begin
        line = text[top:spot].rstrip()
        if key := _KEY.match(line):
            group.add_key(key[1], top)
        elif not line:
            if not group.end_paragraph():
                break
        elif not _INSIDE.match(line):
            if not group.end_paragraph() or group.start is not None:
                break
            bottom = top  # what stood below it was no block
        spot = top
    group.end_paragraph()
    return None if group.start is None else (group.start, bottom)
