"""Tables for people at a terminal: in columns where they fit, otherwise one entry below the other."""

from __future__ import annotations

from moot.core.text import cells, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from rich.console import RenderableType
    from rich.text import Text as RichText

    from moot.api.answer import Marked, Table

_GAP = 3  # cells that a column takes besides its content
_NARROW = 24  # cells: a longer content may be wrapped, but not into less than this
# Columns whose content speaks for itself. In an entry without columns, the others are preceded by their names.
_PLAIN = frozenset(("", "state", "prio", "priority", "who", "title", "roles", "mode", "paths", "command", "outcome"))


def draw(table: Table, out: TextIO) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, highlight=False)
    used = [n for n, _ in enumerate(table.columns) if any(_text(row[n]) for row in table.rows)]
    names = [table.columns[n] for n in used]
    rows = [[row[n] for n in used] for row in table.rows]
    if _fits(names, rows, console.width):
        console.print(_in_columns(table.title, names, rows))
        return
    console.print(Text(visible(table.title)), end="\n\n")
    for row in rows:
        for line in _stacked(names, row, console.width):
            console.print(line)
    console.print()


def _fits(names: Sequence[str], rows: Sequence[Sequence[str | Marked]], width: int) -> bool:
    """Whether the columns fit when long contents are wrapped."""
    natural = [max(cells(name), *(cells(_text(row[n])) for row in rows)) for n, name in enumerate(names)]
    return sum(min(size, _NARROW) + _GAP for size in natural) <= width + _GAP


def _in_columns(title: str, names: Sequence[str], rows: Sequence[Sequence[str | Marked]]) -> RenderableType:
    from rich import box
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(title=Text(visible(title)), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        drawn.add_column(name, overflow="fold")
    for row in rows:
        drawn.add_row(*(_cell(cell) for cell in row))
    return drawn


def _stacked(names: Sequence[str], row: Sequence[str | Marked], width: int) -> list[RenderableType]:
    """One entry: its short contents, as many as fit on a line, then each long one; further lines are indented."""
    from rich.padding import Padding
    from rich.text import Text

    lines, long = [Text()], []
    for n, (name, cell) in enumerate(zip(names, row, strict=True)):
        if not _text(cell):
            continue
        shown = _cell(cell)
        if n and name not in _PLAIN:
            shown = Text(f"{name} ").append(shown)
        if cells(_text(cell)) > _NARROW:
            long.append(Padding(shown, (0, 0, 0, 2)))
        elif not lines[-1]:
            lines[-1].append(shown)
        elif lines[-1].cell_len + 2 + shown.cell_len <= width:
            lines[-1].append("  ").append(shown)
        else:
            lines.append(Text("  ").append(shown))
    return [*lines, *long]


def _text(cell: str | Marked) -> str:
    return cell if isinstance(cell, str) else cell.text


def _cell(cell: str | Marked) -> RichText:
    from rich.text import Text

    if isinstance(cell, str):
        return Text(visible(cell), style=_style(cell))
    drawn, end = Text(), 0
    for start, stop in cell.marks:
        drawn.append(visible(cell.text[end:start])).append(visible(cell.text[start:stop]), style="bold yellow")
        end = stop
    return drawn.append(visible(cell.text[end:]))


def _style(word: str) -> str:
    """The style of a state: by its name, or by its last word, because packs choose their own names."""
    return _STYLES.get(word, "") or _STYLES.get(word.rpartition("_")[2], "")


_STYLES = {
    "done": "green",
    "completed": "green",
    "ok": "green",
    "here": "green",
    "working": "cyan",
    "progress": "cyan",
    "review": "yellow",
    "waits": "dim",
    "failed": "red",
    "rejected": "red",
    "dead": "red",
    "BAD": "bold red",
}
