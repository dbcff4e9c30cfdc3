"""Where a value is in a JSON text."""

from __future__ import annotations

import json

import pytest

from moot.core.json_places import JsonPlaces

TEXT = """\
{
  "messages": [
    {"id": 1, "tags": ["a", "ü"]},
    {"a.b": {"c": true}, "a": {"b": 2}, "x y": [], "deep": [[1, 2], [3]]}
  ],
  "read": null
}
"""


@pytest.mark.parametrize(
    ("place", "value", "at"),
    [
        ("", json.loads(TEXT), (1, 1)),
        ("messages[0].id", 1, (3, 12)),
        ("messages[0].tags[1]", "ü", (3, 29)),
        ('messages[1]["a.b"].c', True, (4, 19)),
        ("messages[1].a.b", 2, (4, 37)),
        ('messages[1]["x y"]', [], (4, 48)),
        ("messages[1].deep[1][0]", 3, (4, 70)),
        ("read", None, (6, 11)),
    ],
)
def test_a_value_is_found_by_its_place_and_the_place_by_its_offset(
    place: str, value: object, at: tuple[int, int]
) -> None:
    places = JsonPlaces(TEXT)
    offset = places.offset(place)
    assert json.JSONDecoder().raw_decode(TEXT, offset)[0] == value
    assert places.line_and_column(offset) == at
    assert places.place(offset) == place


@pytest.mark.parametrize(
    ("place", "around"),
    [
        ("messages[0].title", "messages[0]"),
        ("messages[7]", "messages"),
        ("messages[0].tags[5].x", "messages[0].tags"),
        ("read.x", "read"),
        ("nothing", ""),
        ("messages[0].", "messages[0]"),
    ],
)
def test_a_missing_value_has_the_position_of_the_value_around_it(place: str, around: str) -> None:
    places = JsonPlaces(TEXT)
    assert places.offset(place) == places.offset(around)


def test_a_byte_order_mark_and_blanks_before_the_value_are_skipped() -> None:
    assert JsonPlaces("\ufeff \n [1, 2]").line_and_column(JsonPlaces("\ufeff \n [1, 2]").offset("[1]")) == (2, 6)
