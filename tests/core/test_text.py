"""Foreign text on a terminal: it shows itself and does nothing else."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.text import age, closest, counted, fence, one_line, visible

anything = st.text(st.characters(exclude_categories=()))  # halves of pairs included
ACTING = {"Cc", "Cs", "Zl", "Zp", "Cf"}
JOINERS = "\u200c\u200d"


@given(anything)
def test_nothing_that_acts_or_hides_comes_out(text):
    for char in visible(text):
        assert char in "\n\t" or char in JOINERS or unicodedata.category(char) not in ACTING or _is_drawn(char)
    visible(text).encode()


def _is_drawn(char: str) -> bool:
    """Format characters of some scripts that are drawn like any letter."""
    return unicodedata.name(char, "").startswith(("ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN", "SHORTHAND"))


@given(anything)
def test_what_is_safe_is_not_touched_again(text):
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, Grüße, 日本語, 👩‍💻, می‌خواهم", "plain text, Grüße, 日本語, 👩‍💻, می‌خواهم"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("windows\r\nlines", "windows\nlines"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("overwritten\rby this", r"overwritten\rby this"),
        ("\x00\x08\x7f\x85", r"\x00\x08\x7f\x85"),
        ("user\u202egpj.exe", r"user\u202egpj.exe"),
        ("\u2066isolated\u2069\u200f", r"\u2066isolated\u2069\u200f"),
        ("ad\u200bmin", r"ad\u200bmin"),
        ("ad\u200dmin", r"ad\u200dmin"),
        ("é\u200d\u200dé", r"é\u200d\u200dé"),
        ("\ufeffstart", r"\ufeffstart"),
        ("hidden\U000e0041\U000e0042", r"hidden\U000e0041\U000e0042"),
        ("a\u2028b", r"a\u2028b"),
        ("half \ud83d", r"half \ud83d"),
    ],
)
def test_tricks_are_written_out(text, shown):
    assert visible(text) == shown


@given(anything, st.integers(0, 40))
def test_one_line_is_one_line_and_not_too_wide(text, width):
    line = one_line(text, width)
    assert "\n" not in line
    assert sum(_width(char) for char in line) <= width


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("a little too long", 10, "a little…"),
        ("  two\n\n  lines\t", 20, "two lines"),
        ("日本語です", 5, "日本…"),
        ("日本語", 6, "日本語"),
        ("\x1b[2J", 20, r"\x1b[2J"),
        ("anything", 1, "…"),
        ("anything", 0, ""),
        ("\n" * 10_000 + "end", 10, "…"),
    ],
)
def test_a_line_is_folded_and_cut_with_an_ellipsis(text, width, line):
    assert one_line(text, width) == line


@pytest.mark.parametrize(
    ("word", "meant"),
    [("yeats", "Yeats"), ("Yeets", "Yeats"), ("hamiltom", "Hamilton"), ("zzz", None), ("", None), ("x" * 10_000, None)],
)
def test_the_closest_known_word_is_found(word, meant):
    assert closest(word, ["Hamilton", "Yeats", "Keane"]) == meant


def test_nothing_is_close_to_nothing():
    assert closest("Yeats", []) is None


@given(anything)
def test_no_text_can_leave_its_fence(text):
    for line in fence(text).splitlines():
        assert line == ">" or line.startswith("> ")


def test_fenced_text_keeps_its_lines():
    assert fence("one\n\n> two\n") == "> one\n>\n> > two\n>"


def test_one_of_a_thing_is_not_several():
    assert [counted(number, "event") for number in (0, 1, 2)] == ["0 events", "1 event", "2 events"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "0s"),
        (0.9, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (90, "1m30s"),
        (599, "9m59s"),
        (605, "10m"),
        (3600, "1h"),
        (3725, "1h2m"),
        (36_000, "10h"),
        (90_000, "1d1h"),
        (864_000, "10d"),
    ],
)
def test_an_age_has_its_largest_unit_and_a_second_one_while_the_first_is_small(seconds, shown):
    assert age(seconds) == shown
