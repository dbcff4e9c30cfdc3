"""Fits an overview to a screen: which sections, and how many lines of each, cut to the width.

Pure: takes sections and a size, returns lines. Only `watching` knows terminals.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.core.text import ELLIPSIS, cells, counted, cut, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from moot.overview.panes import Line, Pane

_WIDE = 120  # columns: from this width on, sections are in two columns
_GAP = 2
_HELP_FROM = 8  # lines
_SECTIONS = 7  # without those of packs; before the first overview is read
_CHOICES = "one section   0 all   "
_HELP = "↑↓ scroll   q quit"
_RIGHT = ("agents", "claims", "mail")
_DEEP = 1000  # maximum number of lines to scroll through

_COLOURS = {"dim": "2", "bold": "1", "good": "32", "busy": "36", "warn": "33", "bad": "1;31"}
_PLAIN = {"bold": "1", "bad": "1"}


class Choice(Record):
    """What the person chose to see: all sections (0), or the section of this number, from this line on."""

    section: int = 0
    scroll: int = 0


def compose(head: Line, panes: Sequence[Pane], width: int, height: int, choice: Choice) -> list[Line]:
    """At most as many lines as the screen has, each at most as wide as the screen."""
    if width < 1 or height < 1:
        return []
    choices = "" if len(panes) == 1 else f"1-{min(len(panes) or _SECTIONS, 9)} {_CHOICES}"
    foot = [fit(((f"{choices}{_HELP}", "dim"),), width)] if height >= _HELP_FROM else []
    room = height - 1 - len(foot)
    if 0 < choice.section <= len(panes):
        body = _alone(panes[choice.section - 1], choice, width, room)
    elif width >= _WIDE:
        body = _beside(panes, width, room)
    else:
        body = _stack(panes, range(1, len(panes) + 1), width, room)
    body += [()] * (room - len(body))
    return [fit(head, width), *body, *foot]


def paint(line: Line, *, colours: bool) -> str:
    """A line with the escape codes for its tones."""
    codes = _COLOURS if colours else _PLAIN
    return "".join(f"\x1b[{codes[tone]}m{text}\x1b[0m" if tone in codes else text for text, tone in line if text)


def fit(line: Line, width: int) -> Line:
    """The line in at most `width` cells, with an ellipsis if it was cut, and without control characters."""
    safe = _trimmed([(visible(text).replace("\n", " ").replace("\t", " "), tone) for text, tone in line])
    if sum(cells(text) for text, _ in safe) <= width:
        return tuple(safe)
    fitted, room = [], width - 1
    for text, tone in safe:
        kept = cut(text, room)
        fitted.append((kept, tone))
        room -= cells(kept)
        if kept != text:
            break
    return (*fitted, (ELLIPSIS, fitted[-1][1]))


def _trimmed(line: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The line without trailing spaces, such as the padding of the last column."""
    pieces = list(line)
    while pieces and pieces[-1][0] != (text := pieces[-1][0].rstrip()):
        pieces[-1:] = [(text, pieces[-1][1])] if text else []
    return pieces


def wrap(line: Line, width: int, indent: int = 2) -> Iterator[Line]:
    """The line wrapped at words where possible; continuation rows are indented."""
    indent = max(0, min(indent, width - 2))  # a character may need two cells
    row: list[tuple[str, str]] = []
    room, begun = width, False
    for text, tone in _trimmed(line):
        for word in _words(visible(text)):
            rest = word
            while cells(rest) > room:
                part = cut(rest, room)
                if begun and (not part or cells(rest.strip()) <= width - indent):
                    yield tuple(row)
                    row, room, rest, begun = [(" " * indent, "")], width - indent, rest.lstrip(), False
                else:
                    part = part or rest[:1]
                    row.append((part, tone))
                    rest, room, begun = rest[len(part) :], 0, True
            row.append((rest, tone))
            room, begun = room - cells(rest), True
    yield tuple(row)


def _words(text: str) -> Iterator[str]:
    """The words of a text, each with its leading spaces."""
    start = 0
    for at in range(1, len(text)):
        if text[at] == " " and text[at - 1] != " ":
            yield text[start:at]
            start = at
    yield text[start:]


def _title(pane: Pane, number: int, width: int, hidden: int = 0) -> Line:
    name, more = f"{number} {pane.title} ", f" {counted(hidden, 'more line')}" if hidden else ""
    return fit(((name, pane.tone), ("─" * max(0, width - cells(name) - len(more)), "dim"), (more, "dim")), width)


def _alone(pane: Pane, choice: Choice, width: int, room: int) -> list[Line]:
    rows = [fit(row, width) for line in pane.lines for row in wrap(line, width)][:_DEEP]
    start = max(0, min(choice.scroll, len(rows) - room + 1))
    hidden = max(0, len(rows) - start - room + 1)
    return [_title(pane, choice.section, width, hidden), *rows[start : start + room - 1]][: max(room, 0)]


def _beside(panes: Sequence[Pane], width: int, room: int) -> list[Line]:
    """Urgent sections at full width, the rest in two columns."""
    numbers = range(1, len(panes) + 1)
    top = [(pane, n) for pane, n in zip(panes, numbers, strict=True) if pane.urgent]
    rest = [(pane, n) for pane, n in zip(panes, numbers, strict=True) if not pane.urgent]
    above = _stack([p for p, _ in top], [n for _, n in top], width, max(room // 2, 1))
    half = (width - _GAP) // 2
    columns = []
    for right in (False, True):
        mine = [(pane, n) for pane, n in rest if (pane.name in _RIGHT) is right]
        columns.append(_stack([p for p, _ in mine], [n for _, n in mine], half, room - len(above)))
    joined = []
    for row in range(max(map(len, columns))):
        left, right_line = (column[row] if row < len(column) else () for column in columns)
        padding = half + _GAP - sum(cells(text) for text, _ in left)
        joined.append((*left, (" " * padding, ""), *right_line))
    return above + joined


def _stack(panes: Sequence[Pane], numbers: Sequence[int], width: int, room: int) -> list[Line]:
    """Sections below each other, each cut to its share of the room."""
    bodies = [
        [fit(row, width) for line in pane.lines for row in (wrap(line, width) if pane.urgent else (line,))]
        for pane in panes
    ]
    shares = _shares(panes, [len(body) for body in bodies], room)
    lines: list[Line] = []
    for pane, number, body, share in zip(panes, numbers, bodies, shares, strict=True):
        if share < 1:
            continue
        lines += [_title(pane, number, width, len(body) - share + 1), *body[: share - 1]]
    return lines


def _shares(panes: Sequence[Pane], lengths: list[int], room: int) -> list[int]:
    """How many lines each section gets, including its title. Urgent ones may take half; then all share the rest."""
    shares = [0] * len(lengths)
    left = room

    def give(index: int, lines: int) -> None:
        nonlocal left
        lines = max(0, min(lines, left, lengths[index] + 1 - shares[index]))
        shares[index] += lines
        left -= lines

    order = sorted(range(len(lengths)), key=lambda i: (not panes[i].urgent, lengths[i] == 0, i))
    for index in order:
        give(index, 2)
    for index in order:
        if panes[index].urgent:
            give(index, max(0, room // 2 - (room - left)))
    while left > 0 and any(shares[i] < lengths[i] + 1 for i in order):
        for index in order:
            give(index, panes[index].weight)
    return shares
