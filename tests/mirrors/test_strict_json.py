"""What other programs would not read is not read here either, and is refused with its place."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.strict_json import DEEPEST, TornJson, dump, load

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_read_back_the_same(value):
    data = dump(value)
    assert load(data) == value
    assert json.loads(data) == value
    assert data.endswith(b"\n")
    assert not data.endswith(b"\n\n")


def test_the_form_is_two_spaces_unescaped_text_in_the_given_order():
    assert dump({"b": ["é"], "a": {}}) == '{\n  "b": [\n    "é"\n  ],\n  "a": {}\n}\n'.encode()


VALID = [
    (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
    (b'{\r\n  "a": [1,\r\n 2]\r\n}\r\n', {"a": [1, 2]}),
    (b" [] \n\n", []),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b'{"a": {"a": [{"a": 1}, {"a": 2}]}}', {"a": {"a": [{"a": 1}, {"a": 2}]}}),
    (b'["a", "a", "{", "NaN", "1e999", "\\"{"]', ["a", "a", "{", "NaN", "1e999", '"{']),
    (b"[" + b"7" * 4000 + b"]", [int("7" * 4000)]),
    (b"[-0.0, 1e-7, 1E+2]", [-0.0, 1e-7, 100.0]),
]


@pytest.mark.proves("S0-HRD-29")
def test_valid_json_is_read():
    assert [data for data, value in VALID if load(data) != value] == []


TORN = [
    (b"", "empty", 1, 1),
    (b" \r\n\t", "empty", 1, 1),
    (b"\xef\xbb\xbf", "empty", 1, 1),
    (b'{"a": 1,\n "b": {"a": 2},\n "a": 3}', '"a" stands twice', 3, 2),
    (b'{"a": 1, "\\u0061": 2}', "stands twice", 1, 2),
    (b'[{"a": 1},\r\n{"a": 1, "b": 2, "b": 2}]', '"b" stands twice', 2, 18),
    (b'{"a"\n :\n1, "a"\n :2}', '"a" stands twice', 3, 4),
    (b"[1,\n NaN]", "NaN is not JSON", 2, 2),
    (b'{"a": Infinity}', "Infinity is not JSON", 1, 7),
    (b'{"a": -Infinity}', "-Infinity is not JSON", 1, 7),
    (b'["x", 1e999]', "too large", 1, 7),
    (b"[-1.5E+400]", "too large", 1, 2),
    (b"[1, " + b"7" * 5000 + b"]", "too large", 1, 5),
    (b'{\n  // a comment\n  "a": 1}', "no comments", 2, 3),
    (b'{"a": /* x */ 1}', "no comments", 1, 7),
    (b"# yaml\na: 1", "no comments", 1, 1),
    (b'{"a": 1} x', "after the end", 1, 10),
    (b'{"a": 1}{"a": 1}', "after the end", 1, 9),
    (b'{"a": 1}\n// done', "no comments", 2, 1),
    (b'{"messages": [{"a": ', "ends in the middle", 1, 21),
    (b'{"a": "unfinish', "unterminated string", 1, 7),
    (b"{'a': 1}", "double quotes", 1, 2),
    (b'{"a": "\x01"}', "control character", 1, 8),
    (b'{"a": "\\ud83d"}', "surrogate", 1, 8),
    (b'{"\\udc00x": 1}', "surrogate", 1, 3),
    (b'{"a": "\xed\xa0\x80"}', "not UTF-8", 1, 8),
    (b'{"\xc3\xa9": 1,\n"\xff": 1}', "not UTF-8", 2, 2),
    ('{"a": 1}'.encode("utf-16"), "not UTF-8", 1, 1),
    (b"\x00\x00\x00\x00", "", 1, 1),
    (b"\xef\xbb\xbf\xef\xbb\xbf{}", "", 1, 1),
    (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "nested", 1, 1),
    (b"[\n" * 100_000, "nested", 1, 1),
    (b'{"a":' * 100_000, "nested", 1, 1),
]


@pytest.mark.proves("S0-HRD-29")
def test_what_is_torn_or_ambiguous_is_refused_with_its_place():
    for data, reason, line, column in TORN:
        with pytest.raises(TornJson, match=f"line {line}, column {column}") as torn:
            load(data)
        assert (torn.value.line, torn.value.column) == (line, column)
        assert reason in torn.value.reason


def test_a_comma_before_the_end_is_refused_there():
    """Python 3.13 names the place of the comma, those before it the place after."""
    with pytest.raises(TornJson) as torn:
        load(b'{"a": 1,}')
    assert torn.value.line == 1
    assert torn.value.column in (8, 9)


@given(VALUES, st.data())
def test_a_prefix_of_an_object_is_never_taken_for_a_whole(value, data):
    whole = dump({"messages": [value]}).rstrip()
    with pytest.raises(TornJson):
        load(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(st.binary() | st.text(alphabet='{}[]",:\\u0dD8aN1e.-I/ \n').map(str.encode))
def test_any_bytes_give_a_value_or_torn(data):
    try:
        value = load(data)
    except TornJson:
        return
    assert load(dump(value)) == value


def test_the_deepest_value_that_is_read_can_be_written():
    value = load(b'{"a":' * DEEPEST + b"1" + b"}" * DEEPEST)
    assert load(dump(value)) == value


def test_a_long_key_does_not_make_a_long_message():
    key = b'"' + b"k" * 5000 + b'"'
    with pytest.raises(TornJson) as torn:
        load(b"{" + key + b": 1, " + key + b": 2}")
    assert len(str(torn.value)) < 200


@pytest.mark.parametrize("value", ["\ud800", {"\udc80": 1}, float("nan"), [float("inf")]])
def test_what_would_not_be_read_back_is_not_written(value):
    with pytest.raises(ValueError, match=r"surrogate|JSON"):
        dump(value)


@pytest.mark.parametrize("levels", [DEEPEST + 1, 2 * sys.getrecursionlimit(), 200_000])
def test_a_value_that_could_not_be_read_again_is_not_written(levels):
    value: list = []
    for _ in range(levels - 1):
        value = [value]
    with pytest.raises(ValueError, match="deep"):
        dump(value)


def test_the_deepest_value_is_written_and_read():
    value: list | int = 1
    for _ in range(DEEPEST):
        value = [value]
    assert load(dump(value)) == value


@pytest.mark.parametrize("data", [b'["' + b'\\"' * 200_000, b'{"a":NaN,' * 2, b'["\\ud800",' + b'"a",' * 100_000])
def test_hostile_bytes_are_refused_in_linear_time(data):
    with pytest.raises(TornJson):
        load(data)
