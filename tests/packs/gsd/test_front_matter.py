"""The front matter of plans: the part of YAML that is read, what is refused, and what is read with a doubt."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.packs.gsd.flow_values import DEEPEST, Fault
from moot.packs.gsd.front_matter import parse


def fields(text: str) -> dict[str, Any]:
    found = parse(f"---\n{text}\n---\nbody\n")
    assert (found.doubts, found.body) == ((), "body\n")
    return found.fields


# Every value here is what PyYAML's BaseLoader makes of it, except that `>` keeps its line ends.
READ = [
    ("plan: 01", {"plan": "01"}),
    ("a: b # comment\nc: '#' # comment", {"a": "b", "c": "#"}),
    ("a: x#y", {"a": "x#y"}),
    ("a:\nb: ~\nc: null", {"a": "", "b": "~", "c": "null"}),
    ("depends_on: []", {"depends_on": []}),
    ("depends_on: [\"01-01\", 01-02, '03']", {"depends_on": ["01-01", "01-02", "03"]}),
    ("depends_on:\n  - 01-01\n  - 01-02", {"depends_on": ["01-01", "01-02"]}),
    ("depends_on:\n- 01-01\n- 01-02\nwave: 2", {"depends_on": ["01-01", "01-02"], "wave": "2"}),
    ("a: [x,\n    y, # why\n    z]\nb: 1", {"a": ["x", "y", "z"], "b": "1"}),
    ("a: {b: c, 'd': [e], f}", {"a": {"b": "c", "d": ["e"], "f": ""}}),
    ("a:\n  - b: 1\n    c: 2\n  - b: 3", {"a": [{"b": "1", "c": "2"}, {"b": "3"}]}),
    ("a:\n  - - x\n    - y\n  - z", {"a": [["x", "y"], "z"]}),
    ("a:\n  -\n    b: 1\n  -", {"a": [{"b": "1"}, ""]}),
    ("a:\n  b:\n    c: d\n  e: f", {"a": {"b": {"c": "d"}, "e": "f"}}),
    ("a: one\n  two\n\n  three", {"a": "one two\nthree"}),
    ('a: "one\n  two"', {"a": "one two"}),
    (r'a: "x\ty \"z\" \\ \u00e9"', {"a": 'x\ty "z" \\ é'}),
    ("a: 'it''s'", {"a": "it's"}),
    ("a: |\n  one\n    two\n\n  three\nb: 1", {"a": "one\n  two\n\nthree\n", "b": "1"}),
    ("a: |-\n  one\nb: >\n  two\n  three", {"a": "one", "b": "two\nthree\n"}),
    ("# first\n\na: 1\n  # in between\nb: 2", {"a": "1", "b": "2"}),
    ("a: http://x/y:1", {"a": "http://x/y:1"}),
    ('"a b": c', {"a b": "c"}),
    ("files:\n  - src/app/[id]/page.tsx\n  - src/(x)/y.ts", {"files": ["src/app/[id]/page.tsx", "src/(x)/y.ts"]}),
    ("", {}),
    ("# only this", {}),
]


@pytest.mark.parametrize(("text", "found"), READ, ids=[repr(text)[:40] for text, _ in READ])
def test_what_planning_agents_write_is_read(text, found):
    assert fields(text) == found


def test_a_byte_order_mark_and_windows_line_ends_change_nothing():
    assert parse("\ufeff---\r\na: 1\r\nb:\r\n  - x\r\n---\r\nbody").fields == {"a": "1", "b": ["x"]}


REFUSED = [
    ("a: !!str 1", 2, 4, "a tag"),
    ("a: &x 1", 2, 4, "an anchor"),
    ("a: 1\nb: *x", 3, 4, "an alias"),
    ("a:\n  - *x", 3, 5, "an alias"),
    ("a: [x, *y]", 2, 8, "an alias"),
    ("a: {b: !t c}", 2, 8, "a tag"),
    ("a: 1\nb: 2\na: 3", 4, 1, "'a' stands twice"),
    ("a:\n  b: 1\n  b: 2", 4, 3, "'b' stands twice"),
    ("a: {b: 1, b: 2}", 2, 11, "'b' stands twice"),
    ("a:\n  - b: 1\n    b: 2", 4, 5, "'b' stands twice"),
    ("a:\n\tb: 1", 3, 1, "a tab"),
    ("- a\n- b", 2, 1, "a key and a colon"),
    ("just words", 2, 1, "a key and a colon"),
    ("a: 1\n  b: 2\nc", 4, 1, "a key and a colon"),
    ("a:\n    b: 1\n  c: 2", 4, 3, "indented"),
    ("? a\n: b", 2, 1, "a key that is itself a value"),
    ("a: [x,\n  y\nb: 1", 2, 4, "does not end"),
    ('a: "x\n  y\nb: 1', 2, 4, "does not end"),
    ("a: {[x]: y}", 2, 5, "a key that is itself a value"),
    ("a: |x\n  y", 2, 4, "does not begin a text"),
    ("a: |\n    x\n  y", 4, 3, "indented less"),
    ("a: " + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), 2, 4 + DEEPEST, "levels deep"),
    ("\n".join(f"{'  ' * n}a:" for n in range(DEEPEST + 2)), DEEPEST + 3, 1, "levels deep"),
]


@pytest.mark.parametrize(("text", "line", "column", "reason"), REFUSED, ids=[repr(one[0])[:40] for one in REFUSED])
def test_what_readers_would_disagree_about_is_refused_with_its_place(text, line, column, reason):
    with pytest.raises(Fault) as caught:
        parse(f"---\n{text}\n---\n")
    assert reason in caught.value.reason
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize("text", ["", "# Plan", "a: 1\n---\n", "---\na: 1\n", "--- x\n---\n"])
def test_a_file_without_a_whole_front_matter_is_refused(text):
    with pytest.raises(Fault):
        parse(text)


DOUBTFUL = [
    ('a: "X", "Y"', '"X", "Y"', 2, 7),
    (r'a: "fetch\(.*"', r'"fetch\(.*"', 2, 10),
    ("a: one: two", "one: two", 2, 7),
    ("a: `x`", "`x`", 2, 4),
    ("a: [src/[id]/page.tsx, b]", "[src/[id]/page.tsx, b]", 2, 9),
    ('a: "x" and y', '"x" and y', 2, 7),
    ("a: [x", "[x", 2, 4),
    ("a: - b", "- b", 2, 4),
]


@pytest.mark.parametrize(("text", "value", "line", "column"), DOUBTFUL, ids=[one[0] for one in DOUBTFUL])
def test_a_value_that_is_not_yaml_is_kept_as_written_with_a_doubt(text, value, line, column):
    found = parse(f"---\n{text}\nwave: 2\n---\n")
    assert found.fields == {"a": value, "wave": "2"}
    assert [(doubt.line, doubt.column) for doubt in found.doubts] == [(line, column)]
    assert str(found.doubts[0]).startswith(f"line {line}, column {column}: ")


# ---------------------------------------------------------------------- what is written is read back

LETTERS = string.ascii_letters + string.digits + " _-.:/#'\"[]{},&*!|>@`%?\\\té\n"
texts = st.text(LETTERS, max_size=20)
values = st.recursive(
    texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(string.ascii_lowercase, min_size=1), inner),
    max_leaves=12,
)


def block(value: Any, indent: int) -> str:
    """The value in blocks, with quoted texts."""
    before = "\n" + " " * indent
    if isinstance(value, dict) and value:
        return "".join(f"{before}{key}:{block(inner, indent + 2)}" for key, inner in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{before}-{block(inner, indent + 2)}" for inner in value)
    return f" {flow(value)}"


def flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if "\n" in value or "\\" in value or "\t" in value:
        escapes = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
        return '"' + "".join(escapes.get(letter, letter) for letter in value) + '"'
    return "'" + value.replace("'", "''") + "'"


@given(st.dictionaries(st.text(string.ascii_lowercase, min_size=1), values, min_size=1, max_size=4))
def test_blocks_and_brackets_are_read_back(value):
    assert fields(block(value, 0).lstrip("\n")) == value
    assert fields("\n".join(f"{key}: {flow(inner)}" for key, inner in value.items())) == value


@given(st.text(LETTERS + "-\n:  ", max_size=200))
def test_no_text_makes_it_fail_in_another_way(text):
    try:
        parse(f"---\n{text}\n---\n")
    except Fault as fault:
        place = fault.line, fault.column
    else:
        place = (1, 1)
    assert min(place) >= 1
