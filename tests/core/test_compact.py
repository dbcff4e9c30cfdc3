"""moot's own JSON says and reads exactly what the standard library's does, and refuses what is none."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core import json_codec

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


@given(values)
def test_a_value_is_written_as_the_standard_library_writes_it(value):
    assert json_codec.dumps(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert json_codec.dumps_ascii(value) == json.dumps(value, separators=(",", ":"))


@given(values)
def test_what_was_written_is_read_back(value):
    assert json_codec.loads(json_codec.dumps(value)) == value
    assert json_codec.loads(json_codec.dumps_ascii(value)) == value


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, {1}, b"x", object(), {"a": [math.nan]}, [object()]],
    ids=["nan", "inf", "-inf", "set", "bytes", "object", "nan within", "object within"],
)
def test_what_is_no_json_is_refused_and_the_next_value_is_written_all_the_same(value):
    with pytest.raises((TypeError, ValueError)):
        json_codec.dumps(value)
    assert json_codec.dumps({"a": 1}) == '{"a":1}'


def test_a_value_that_contains_itself_is_refused():
    round_about: list[object] = []
    round_about.append(round_about)
    with pytest.raises((ValueError, RecursionError)):
        json_codec.dumps(round_about)


@pytest.mark.parametrize(
    "text", ["", "{", "[1,", "nul", "NaN", "Infinity", '{"a":1} ', "1 2", '"\x01"', "{'a':1}", "[1]x"]
)
def test_what_moot_would_not_have_written_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 (the point is that it is no other error)
        json_codec.loads(text)


def test_half_a_surrogate_pair_is_escaped_on_request():
    assert json_codec.dumps_ascii("\ud800") == '"\\ud800"'
    assert json_codec.loads('"\\ud800"') == "\ud800"
