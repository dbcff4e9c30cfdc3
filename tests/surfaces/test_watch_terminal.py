"""`moot watch` at a terminal: live, whatever its size, and the terminal is restored however it ends."""

from __future__ import annotations

import io
import re
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from moot import Workspace
from moot.overview.panes import Pane
from moot.surfaces.cli.watching import rows
from tests.surfaces.glass import Glass
from tests.surfaces.test_watch import everything
from tests.surfaces.worlds import enliven

if TYPE_CHECKING:
    from tests.surfaces.command import Command

# All that may ever act on the terminal: where to write, clearing, tones, and the modes of taking it and giving it back.
ALLOWED = re.compile(rb"\x1b\[(H|2K|2J|\d*A|[\d;]*m|\?(1049|25)[hl])")
TONES = st.sampled_from(["", "dim", "bold", "good", "busy", "warn", "bad"])
LINES = st.lists(st.tuples(st.text(max_size=60), TONES), max_size=4).map(tuple)
PANES = st.lists(
    st.builds(
        Pane,
        name=st.just("board"),
        title=st.text(max_size=20),
        lines=st.lists(LINES, max_size=12).map(tuple),
        urgent=st.booleans(),
    ),
    max_size=7,
).map(tuple)


@pytest.fixture
def lively(bare: Command) -> Command:
    enliven(bare)
    return bare


@given(LINES, PANES, st.integers(1, 250), st.integers(1, 60))
def test_it_always_fits(head: tuple[tuple[str, str], ...], panes: tuple[Pane, ...], width: int, height: int) -> None:
    found = rows(head, panes, Console(file=io.StringIO(), width=width), width, height)
    assert len(found) <= height
    assert all(row.cell_len <= max(width, 2) for row in found)
    assert not any(char in row.plain for row in found for char in "\x1b\n\r\x07")


def test_everything_is_there_and_a_change_is_seen_without_asking(lively: Command) -> None:
    with Glass(lively, "watch", size=(100, 40)) as glass:
        glass.until("1 problem", "Problems: 1", "Agents: 2", "Board: 1 of 7 done", "Claims: 1", "Mail: 2", "q quit")
        assert glass.text.splitlines()[0].startswith("moot ")
        assert glass.text.splitlines()[-1] == "q quit"
        with Workspace(lively.repo, agent="Bob") as bob:
            bob.task_complete("task-006")
        glass.until("Board: 2 of 7 done", "task:completed")
        glass.process.send_signal(signal.SIGTSTP)  # Ctrl-Z does nothing
        glass.drawn("q quit")
        glass.resize(30, 12)
        glass.rows.clear()
        glass.until("Board", "q quit", gone="task:completed")
        assert max(map(len, glass.text.splitlines())) <= 30
        glass.press("xq")
        assert glass.ended() == 0
        assert glass.restored()


def test_however_it_ends_the_terminal_is_restored(lively: Command) -> None:
    for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (None, 0)):
        with Glass(lively, "watch") as glass:
            glass.until("Board", "q quit")
            if number is None:
                glass.press("\x03")
            else:
                glass.process.send_signal(number)
            assert glass.ended() == code
            assert glass.restored()


BROKEN = """
import sys
from moot.surfaces.cli import watching
from moot.surfaces.cli.main import main
whole, calls = watching.overview, []
def fails(session):
    calls.append(1)
    if len(calls) > 1:
        raise RuntimeError("something nobody thought of")
    return whole(session)
watching.overview = fails
sys.exit(main(["watch"]))
"""


def test_a_mistake_of_ours_is_shown_on_a_terminal_that_was_restored(lively: Command) -> None:
    with Glass(lively, script=BROKEN) as glass:
        assert glass.ended() == 7
        assert glass.restored()
        assert b"something nobody thought of" in glass.raw.rpartition(b"\x1b[?1049l")[2]


def test_nothing_that_others_wrote_acts_on_the_terminal(lively: Command) -> None:
    with Workspace(lively.repo, agent="Ada") as ada:
        ada.task_add("\x1b[2J\x1b]0;owned\x07\x9b31m gone \u202e [red]markup[/red]")
        ada.task_add("漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字")
        ada.send("Bob", "\x1b[999;999Hhere", type="request", within=0)
    with Glass(lively, "watch", size=(90, 50)) as glass:
        glass.until("\\x1b[2J", "[red]", "漢", "\\x1b[999;999Hhere")
        glass.press("q")
        glass.ended()
        rest = ALLOWED.sub(b"", glass.raw).replace(b"\r\n", b"")
        assert not re.search(rb"[\x00-\x1f\x7f]", rest), rest


def test_a_text_that_was_redacted_leaves_the_screen(lively: Command) -> None:
    sent = lively("send", "Bob", "The word is swordfish.", "--json", agent="Ada").result["id"]
    with Glass(lively, "watch", size=(100, 40)) as glass:
        glass.until("swordfish")
        lively("redact", sent, "--reason", "a password")
        glass.until("event:redacted", gone="swordfish")


def test_watching_changes_no_file(lively: Command) -> None:
    with Workspace(lively.repo) as still_open:
        still_open.board()
        before = everything(lively.repo, lively.linked)
        with Glass(lively, "watch", MOOT_AGENT="Bob", NO_COLOR="1") as glass:
            glass.until("Board")
            glass.press("q")
            assert glass.ended() == 0
            assert not re.search(rb"\x1b\[[\d;]*3\dm", glass.raw), "no colours"
        assert everything(lively.repo, lively.linked) == before


def test_a_terminal_that_cannot_draw_gets_a_snapshot(lively: Command) -> None:
    ascii_only = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for settings in ({"TERM": "dumb"}, ascii_only):
        with Glass(lively, "watch", **settings) as glass:
            assert glass.ended() == 0
            assert b"\x1b" not in glass.raw
            assert b"Board: 1 of 7 done" in glass.raw
