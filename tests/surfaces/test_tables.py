"""Tables at a terminal: readable at 80 and at 40 columns, with local times."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING

import pytest

from moot.api.answer import Table
from moot.engine.clock import local
from moot.surfaces.cli.tables import draw

if TYPE_CHECKING:
    from tests.surfaces.command import Command

TITLE = "Write the parser for the new configuration grammar"
BOARD = Table(
    ("task", "state", "prio", "try", "who", "title", "waits for"),
    (
        ("task-001", "working", "high", "", "Yeats", TITLE, ""),
        ("task-002", "waits", "", "", "", "Document it", "task-001"),
    ),
    title="Board: 1 working, 1 open",
)


@pytest.fixture
def drawn(monkeypatch):
    def at(columns: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        out = io.StringIO()
        draw(BOARD, out)
        return [line.rstrip() for line in out.getvalue().splitlines()]

    return at


def test_at_80_columns_it_is_a_table_without_empty_columns(drawn):
    lines = drawn(80)
    assert all(len(line) <= 80 for line in lines)
    heads = next(line for line in lines if "task" in line and "state" in line)
    assert heads.split() == ["task", "state", "prio", "who", "title", "waits", "for"]


def test_at_40_columns_entries_stand_below_each_other_and_no_word_is_broken(drawn):
    lines = drawn(40)
    assert all(len(line) <= 40 for line in lines)
    assert "task-001  working  high  Yeats" in lines
    assert "  waits for task-001" in lines
    assert TITLE in " ".join(" ".join(lines).split())


@pytest.mark.parametrize(("zone", "offset"), [("Asia/Tokyo", 9), ("UTC", 0)])
def test_a_time_is_shown_in_the_zone_of_the_machine(monkeypatch, zone, offset):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        name = "JST" if offset else "UTC"
        assert local("2031-05-08T09:30:15.250Z") == f"2031-05-08 {9 + offset:02}:30:15 {name}"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_json_keeps_utc(bare: Command) -> None:
    bare("init")
    bare("join", "Ada")
    event = bare("log", "--json").result[0]
    assert event["at"].endswith("Z")
    assert event["at"] not in bare("log").out


@pytest.mark.parametrize("text", ["", "yesterday", "9999-99-99T00:00:00Z"])
def test_what_is_not_a_time_is_shown_as_it_is(text):
    assert local(text) == text
