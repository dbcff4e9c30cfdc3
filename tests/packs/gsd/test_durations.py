"""Durations of the gsd pack: how long a task took, and how long events stay in the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.packs.gsd import durations


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("15min", 900),
        ("1h30min", 5400),
        ("45s", 45),
        ("1h", 3600),
        ("2h5s", 7205),
        ("1h30min15s", 5415),
        ("0s", 0),
        ("90min", 5400),
        ("1.5h", 5400),
        ("0.25s", 0.25),
    ],
)
def test_a_duration_is_numbers_with_units_the_largest_first(text, length):
    assert durations.seconds(text) == length


NOT_DURATIONS = ["", "15", "15m", "min", "30min1h", "1h1h", "1 h", " 15min", "15min ", "-5s", "1h30", "15mins", "1,5h"]
NOT_DURATIONS += ["5.s", ".5s", "٣s", "1e3s", "NaN", "9999999999s", "15MIN", "1d", "1h30min\n"]


@pytest.mark.parametrize("text", [*NOT_DURATIONS, None, 15, 15.0, True, ["15min"]])
def test_anything_else_is_not_a_duration(text):
    assert durations.seconds(text) is None


@given(st.integers(0, 10**8))
def test_a_computed_duration_is_read_back(length):
    assert durations.seconds(durations.spelled(length)) == length


def test_a_computed_duration_has_no_empty_parts():
    lengths = (900, 5400, 45, 3600, 7205, 0, 59.6, -3)
    assert list(map(durations.spelled, lengths)) == ["15min", "1h30min", "45s", "1h", "2h5s", "0s", "1min", "0s"]


def test_retention_is_a_whole_number_with_one_unit():
    assert [durations.retention(text) for text in ("24h", "30m", "7d")] == [86_400, 1800, 604_800]
    refused = [
        "",
        "24",
        "h",
        "0h",
        "00d",
        "1.5h",
        "-1h",
        " 24h",
        "24H",
        "24min",
        "1w",
        "24h ",
        "9999999999h",
        None,
        24,
        "٢h",
    ]
    assert [text for text in refused if durations.retention(text) is not None] == []
