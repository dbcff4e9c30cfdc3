"""Records: values with named fields that nothing changes."""

from __future__ import annotations

import json
from typing import ClassVar, NoReturn, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.record import Record, unreachable


class Point(Record):
    x: int
    y: int = 0
    tags: tuple[str, ...] = ()


class Named(Point):
    kind: ClassVar[str] = "named"
    name: str = ""
    near: Point | None = None
    extra: dict[str, object] = {}  # noqa: RUF012


def test_fields_are_given_by_place_or_by_name():
    assert Point(1, 2) == Point(1, y=2) == Point(y=2, x=1)
    assert (Point(1).x, Point(1).y, Point(1).tags) == (1, 0, ())


def test_a_subclass_has_the_fields_of_its_parent_first():
    assert Named(1, 2, ("a",), "n") == Named(x=1, y=2, tags=("a",), name="n")


@pytest.mark.parametrize(
    ("args", "fields"),
    [((), {}), ((), {"y": 1}), ((1, 2, (), 4), {}), ((1,), {"z": 1}), ((1,), {"kind": "other"})],
)
def test_what_does_not_fit_is_no_record(args, fields):
    with pytest.raises(TypeError):
        Point(*args, **fields)


def test_a_record_cannot_be_changed():
    point = Point(1)
    with pytest.raises(AttributeError, match="x cannot be changed"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        del point.x
    assert point == Point(1)


def test_a_changed_copy_leaves_the_original():
    point = Point(1, 2)
    assert point.replace(y=3) == Point(1, 3)
    assert point == Point(1, 2)
    with pytest.raises(TypeError):
        point.replace(z=1)


def test_records_are_equal_by_kind_and_content():
    assert Point(1) != Named(1)
    assert Point(1) != Point(2)
    assert Point(1) != (1, 0, ())
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_it_shows_all_its_fields():
    assert repr(Point(1, tags=("a",))) == "Point(x=1, y=0, tags=('a',))"


def test_plain_leaves_out_defaults_and_full_does_not():
    value = Named(1, name="n", near=Point(5, tags=("t",)))
    assert value.plain() == {"x": 1, "name": "n", "near": {"x": 5, "tags": ["t"]}}
    assert value.full() == {
        "x": 1,
        "y": 0,
        "tags": [],
        "name": "n",
        "near": {"x": 5, "y": 0, "tags": ["t"]},
        "extra": {},
    }


def test_sets_come_out_sorted_and_tuples_as_lists_however_deep():
    value = Named(1, extra={"a": frozenset("cab"), "b": ({"c": (1, (2,))},), "d": Point(1)})
    assert value.plain()["extra"] == {"a": ["a", "b", "c"], "b": [{"c": [1, [2]]}], "d": {"x": 1}}


def test_what_is_not_known_is_left_out():
    assert Point.of({"x": 1, "colour": "red"}) == Point(1)


@given(st.builds(Point, x=st.integers(), y=st.integers(), tags=st.lists(st.text(), max_size=3).map(tuple)))
def test_a_record_survives_being_written_down(point):
    assert Point.of(json.loads(json.dumps(point.plain()))) == point
    assert Point.of(json.loads(json.dumps(point.full()))) == point


def test_nobody_gets_to_the_unreachable():
    with pytest.raises(AssertionError, match="not handled: 'x'"):
        unreachable(cast("NoReturn", "x"))
