"""`moot watch` at a terminal: live, whatever its size, and the terminal is given back however it ends."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from tests.surfaces.glass import Glass
from tests.surfaces.test_watch import everything
from tests.surfaces.worlds import enliven

if TYPE_CHECKING:
    from tests.surfaces.command import Command

# All that may ever act on the terminal: where to write, clearing, tones, and the modes of taking it and giving it back.
ALLOWED = re.compile(rb"\x1b\[(\d+;1H|2K|2J|0?m|1m|2m|1;31m|3[236]m|0m|\?(1049|25|7)[hl])")


@pytest.fixture
def lively(bare: Command) -> Command:
    enliven(bare)
    return bare


def test_everything_is_there_and_a_change_is_seen_without_asking(lively: Command) -> None:
    with Glass(lively, "watch", size=(100, 40)) as glass:
        glass.until(
            "1 problem", "1 Problems: 1", "3 Agents: 2 here", "4 Board: 1 of 7 done", "5 Claims: 1", "6 Mail: 2"
        )
        assert glass.text.splitlines()[0].startswith("moot ")
        assert glass.text.splitlines()[-1].startswith("1-7 one section")
        with Workspace(lively.repo, agent="Bob") as bob:
            bob.task_complete("task-006")
        glass.until("4 Board: 2 of 7 done", "task:completed")
        glass.press("q")
        assert glass.ended() == 0
        assert glass.given_back()


def test_one_section_can_be_looked_at_alone_and_scrolled(lively: Command) -> None:
    with Glass(lively, "watch", size=(80, 10)) as glass:
        glass.until("4 Board")
        glass.press("7")
        glass.until("7 Events", "file:claimed", gone="3 Agents")
        glass.press("\x1b[B" * 2)
        glass.until(gone="file:claimed")
        glass.press("\x1b[A" * 5)
        glass.until("file:claimed")
        glass.press("G")
        glass.until("agent:joined")
        glass.press("\x1b[5~" * 9 + "\x1b[24~" + "ü")  # the last two mean nothing
        glass.until("file:claimed")
        glass.press("\x1b")
        glass.until("4 Board", "1 Problems")
        glass.press("q")
        assert glass.ended() == 0


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (7, 5), (40, 12), (80, 24), (119, 30), (120, 30), (300, 80)])
def test_it_fits_into_any_size_and_follows_it(lively: Command, size: tuple[int, int]) -> None:
    with Glass(lively, "watch", size=(60, 20)) as glass:
        glass.until("Board")
        glass.rows.clear()
        glass.resize(*size)
        glass.until("m" if size[0] > 1 else "…")
        glass.resize(90, 25)
        glass.until("q quit", "Board")
        glass.press("q")
        assert glass.ended() == 0
        assert glass.given_back()


@pytest.mark.parametrize("size", [(1, 1), (12, 3), (40, 24), (80, 24), (200, 50)])
def test_no_line_is_longer_than_the_screen_and_there_are_not_more_of_them(
    lively: Command, size: tuple[int, int]
) -> None:
    with Glass(lively, "watch", size=size) as glass:
        glass.until("…" if size[0] == 1 else "moot"[: size[0] - 1])
        glass.until(gone="Looking")
        lines = glass.text.splitlines()
        assert len(lines) <= size[1]
        assert max(map(len, lines)) <= size[0]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)], ids=["term", "hup", "int"]
)
def test_a_signal_ends_it_and_the_terminal_is_given_back(lively: Command, number: signal.Signals, code: int) -> None:
    with Glass(lively, "watch") as glass:
        glass.until("Board")
        glass.process.send_signal(number)
        assert glass.ended() == code
        assert glass.given_back()


def test_ctrl_c_at_the_keyboard_ends_it(lively: Command) -> None:
    with Glass(lively, "watch") as glass:
        glass.until("Board")
        glass.press("\x03")
        assert glass.ended() == 0
        assert glass.given_back()


BROKEN = """
import sys
from moot.surfaces.cli import watching
from moot.surfaces.cli.main import main
whole, calls = watching.overview, []
def fails(session, recent):
    calls.append(1)
    if len(calls) > 1:
        raise RuntimeError("something nobody thought of")
    return whole(session, recent)
watching.overview = fails
sys.exit(main(["watch"]))
"""


def test_a_mistake_of_ours_is_told_on_a_terminal_that_was_given_back(lively: Command) -> None:
    with Glass(lively, script=BROKEN) as glass:
        assert glass.ended() == 7
        assert glass.given_back()
        assert b"something nobody thought of" in glass.raw.rpartition(b"\x1b[?1049l")[2]


def test_ctrl_z_gives_the_terminal_to_the_shell_and_takes_it_again(lively: Command) -> None:
    with Glass(lively, "watch") as glass:
        glass.until("Board")
        glass.process.send_signal(signal.SIGTSTP)
        glass.process.send_signal(signal.SIGCONT)
        with Workspace(lively.repo) as ws:
            ws.task_add("After the pause")
        glass.until("After the pause")
        glass.press("q")
        assert glass.ended() == 0
        assert glass.given_back()


def test_nothing_that_others_wrote_acts_on_the_terminal(lively: Command) -> None:
    with Workspace(lively.repo, agent="Ada") as ada:
        ada.task_add("\x1b[2J\x1b]0;owned\x07\x9b31m gone \u202e")
        ada.task_add("漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字")
        ada.send("Bob", "\x1b[999;999Hhere", type="request", within=0)
    with Glass(lively, "watch", size=(60, 30)) as glass:
        glass.until("\\x1b[2J", "漢")
        glass.press("1")
        glass.until("\\x1b[999;999Hhere")
        glass.press("q")
        glass.ended()
        rest = ALLOWED.sub(b"", glass.raw).replace(b"\r\n", b"")
        assert not re.search(rb"[\x00-\x1f\x7f]", rest), rest


def test_a_text_that_was_taken_out_of_sight_leaves_the_screen(lively: Command) -> None:
    sent = lively("send", "Bob", "The word is swordfish.", "--json", agent="Ada").result["id"]
    with Glass(lively, "watch", size=(100, 40)) as glass:
        glass.until("swordfish")
        lively("redact", sent, "--reason", "a password")
        glass.until("event:redacted", gone="swordfish")


def test_a_session_in_which_one_only_looks_changes_no_file(lively: Command) -> None:
    with Workspace(lively.repo) as still_open:
        still_open.board()
        before = everything(lively.repo, lively.linked)
        with Glass(lively, "watch", MOOT_AGENT="Bob") as glass:
            glass.until("Board")
            for section in "1234567":
                glass.press(section)
                glass.until(f"{section} ")
            glass.press("q")
            assert glass.ended() == 0
        assert everything(lively.repo, lively.linked) == before


def test_without_colours_there_are_none(lively: Command) -> None:
    with Glass(lively, "watch", NO_COLOR="1") as glass:
        glass.until("Board")
        assert not re.search(rb"\x1b\[[\d;]*3\dm", glass.raw)


def test_a_terminal_that_knows_ascii_alone_gets_nothing_else(lively: Command) -> None:
    settings = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with Glass(lively, "watch", **settings) as glass:
        glass.until("4 Board: 1 of 7 done ---", "##")
        assert glass.raw.isascii()


def test_a_terminal_that_can_only_write_lines_gets_a_snapshot(lively: Command) -> None:
    with Glass(lively, "watch", TERM="dumb") as glass:
        assert glass.ended() == 0
        assert b"\x1b" not in glass.raw
        assert b"Board: 1 of 7 done" in glass.raw


def test_what_cannot_be_read_now_is_told_and_tried_again(lively: Command) -> None:
    log = lively.repo / ".git" / "moot" / "log.db"
    with Glass(lively, "watch") as glass:
        glass.until("Board")
        glass.press("q")
        glass.ended()
    aside = Path(f"{log}.aside")
    log.rename(aside)
    with Glass(lively, "watch") as glass:
        assert glass.ended() == 7
        assert b"\x1b[?1049h" not in glass.raw  # it was said before the terminal was touched
    aside.rename(log)
