"""What a screen shows: it always fits, and where there is little room it is what matters that is left."""

from __future__ import annotations

import os
import pty

from hypothesis import given
from hypothesis import strategies as st

from moot.core.text import cells
from moot.overview.panes import Pane
from moot.surfaces.cli.screen import Choice, compose, fit, wrap
from moot.surfaces.cli.terminal import Terminal

TONES = st.sampled_from(["", "dim", "bold", "good", "busy", "warn", "bad"])
LINES = st.lists(st.tuples(st.text(max_size=60), TONES), max_size=4).map(tuple)
PANES = st.lists(
    st.builds(
        Pane,
        name=st.sampled_from(["problems", "agents", "board", "mail"]),
        title=st.text(max_size=20),
        lines=st.lists(LINES, max_size=12).map(tuple),
        urgent=st.booleans(),
        weight=st.integers(1, 3),
    ),
    max_size=7,
).map(tuple)


def plain(line: tuple[tuple[str, str], ...]) -> str:
    return "".join(text for text, _ in line)


def width_of(line: tuple[tuple[str, str], ...]) -> int:
    return sum(cells(text) for text, _ in line)


@given(LINES, PANES, st.integers(0, 250), st.integers(0, 60), st.integers(0, 9), st.integers(0, 99))
def test_it_always_fits(
    head: tuple[tuple[str, str], ...], panes: tuple[Pane, ...], width: int, height: int, section: int, scroll: int
) -> None:
    lines = compose(head, panes, width, height, Choice(section=section, scroll=scroll))
    assert len(lines) == (height if width else 0)
    assert all(width_of(line) <= width for line in lines)
    assert not any(char in plain(line) for line in lines for char in "\x1b\n\r\t\x07")


@given(LINES, st.integers(3, 40))
def test_wrapping_loses_no_word(line: tuple[tuple[str, str], ...], width: int) -> None:
    rows = list(wrap(fit(line, 10_000), width))
    said = "".join(plain(row) for row in rows)
    assert "".join(said.split()) == "".join(plain(fit(line, 10_000)).split())
    assert all(width_of(row) <= width for row in rows)


def test_the_blanks_of_a_last_column_are_no_line() -> None:
    row = (("task-001  ", "bold"), ("short" + " " * 40, ""))
    pane = Pane("board", "Board", (row, row))
    shown = [plain(line) for line in compose((), [pane], 30, 10, Choice(section=1))]
    assert shown[2:5] == ["task-001  short", "task-001  short", ""]


def test_where_there_is_little_room_the_urgent_is_left() -> None:
    line = ((("something", ""),),)
    panes = [Pane("board", "Board", line * 9), Pane("problems", "Problems", line * 9, urgent=True)]
    shown = [plain(row) for row in compose((), panes, 40, 4, Choice())]
    assert [row.partition(" ─")[0] for row in shown[1:]] == ["1 Board", "2 Problems", "something"]
    assert shown[2].endswith("─ 8 more lines")


def test_many_problems_leave_room_for_the_rest() -> None:
    line = ((("something", ""),),)
    panes = [Pane("problems", "Problems", line * 99, urgent=True), Pane("board", "Board", line * 9)]
    shown = [plain(row) for row in compose((), panes, 40, 24, Choice())]
    assert sum(row == "something" for row in shown) == 20
    assert any(row.startswith("2 Board ──") for row in shown)


def heard(terminal: int, end: bytes) -> bytes:
    """What was written, up to this. A terminal gives it in pieces of any size."""
    said = b""
    while not said.endswith(end):
        said += os.read(terminal, 4096)
    return said


def test_only_what_differs_is_written_again() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as out:
        terminal = Terminal(out, None, colours=True)
        terminal.show(["one", "two", "three"])
        heard(ours, b"three")
        terminal.show(["one", "two", "three"])
        terminal.show(["one", "2", "three"])
        assert heard(ours, b"2K2") == b"\x1b[2;1H\x1b[2K2"
        terminal.show(["one"])
        assert heard(ours, b"[3;1H\x1b[2K") == b"\x1b[2;1H\x1b[2K\x1b[3;1H\x1b[2K"
    os.close(ours)
