"""Ruby, Python and moot read the same values from YAML, whoever wrote it. What they would read differently is refused
with its place, or written in quotes.
"""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from moot.core.flat_json import same
from moot.core.strict_yaml import DEEPEST, LONGEST, MOST, TornYaml, dump, load, load_mapping, load_with_places
from tests.mirrors.psych import needs_ruby, psych

TRAPS = [
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "Y",
    "N",
    "Yes",
    "NO",
    "On",
    "OFF",
    "true",
    "false",
    "True",
    "FALSE",
    "null",
    "Null",
    "~",
    "nil",
    "1.0",
    "1.",
    ".5",
    "1e3",
    "1.5e3",
    "1.5e+3",
    "1e+3",
    "0o14\n012",
    "089",
    "0x1F",
    "0b11",
    "1_000",
    "1,000",
    "+1",
    "-0",
    "00",
    "12:30:45",
    "1:30",
    "2024-01-01",
    "2024-01-01T00:00:00Z",
    "2024-01-01",
    "=",
    "<<",
    "-",
    "--",
    "---",
    "...",
    "?",
    ":",
    ":a\na:",
    ":a:b",
    "[",
    "]",
    "{",
    "}",
    ",",
    "#",
    "&",
    "*",
    "!",
    "|",
    ">",
    "'",
    '"',
    "%",
    "@",
    "`",
    ".inf",
    "-.inf",
    ".nan",
    "NaN",
    "Infinity",
    "a:b",
    "#c",
    "!x",
    "&x",
    "*x",
    "|x",
    "%x",
    "@x",
    "`x",
    "x#",
    "\\n",
    "é",
    "\u2028",
    "\x85\n\ufeff",
    "\x7f",
    "\x00",
    "😀",
    "{a}",
    "[a]",
    "'a'",
    '"a"',
    "a'",
    "1.2.3",
    "v1.0",
    "3.1.2",
    "7e31234",
    "0.1.0",
    "1__0",
    "0_",
    "0x",
    "0o8",
    "+.5",
    "1.5E-3",
]
TRAPS += [
    "",
    " ",
    "a b",
    " a",
    "a ",
    "a\n",
    "\na",
    "a\n\nb",
    "a\tb",
    "\ta",
    "a: b",
    "a #b",
    "- a",
    "? a",
    "a\r\nb",
    "a\rb",
]
TRAPS += [
    "12e03",
    "!ruby/object:Object",
    "2024-01-01 00:00:00 Z",
    "true\n",
    "null ",
    "...\n",
    "--- a",
    "a:",
    "x" * 2000,
]
TEXT = st.sampled_from(TRAPS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
TEXT |= st.text("0123456789_,.:eEoxT+-~ ", max_size=8)
KEYS = TEXT.filter(lambda key: key != "<<" and len(key) < 200)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def ruby():
    with psych() as process:
        yield process


@pytest.mark.proves("S2-HARD-09")
@pytest.mark.proves("S1-META-04", "S1-HARD-10")
@given(VALUES)
@example(TRAPS)
@example({trap: trap for trap in TRAPS if trap != "<<" and len(trap) < 200})
def test_python_and_moot_read_what_moot_writes(value):
    data = dump(value)
    assert same(load(data), value)
    assert same(yaml.safe_load(data), value)
    assert data.endswith(b"\n")


@pytest.mark.proves("S2-HARD-09")
@pytest.mark.proves("S1-META-04", "S1-HARD-10")
@needs_ruby
@settings(deadline=None)
@given(VALUES)
@example(TRAPS)
@example({trap: trap for trap in TRAPS if trap != "<<" and len(trap) < 200})
def test_ruby_reads_what_moot_writes(ruby, value):
    assert same(ruby.load(dump(value).decode()), value)


@pytest.mark.proves("S2-META-04")
@pytest.mark.proves("S1-META-09")
@needs_ruby
@settings(deadline=None)
@given(VALUES)
@example(TRAPS)
def test_moot_reads_what_ruby_writes_to_the_same_values(ruby, value):
    text = ruby.dump(value)
    if "!!str '<<'" in text:  # the only text that Ruby gives a tag
        with pytest.raises(TornYaml, match=r"the tag .* is not accepted"):
            load(text.encode())
    else:
        assert same(load(text.encode()), value)


@given(VALUES)
@example(TRAPS)
@example({"+.5": "-.5"})
def test_moot_reads_what_python_writes_to_the_same_values(value):
    class Plain(yaml.CSafeDumper):
        ignore_aliases = staticmethod(lambda _value: True)

    assert same(load(yaml.dump(value, Dumper=Plain).encode()), value)


def test_the_style_is_block_with_given_keys_first_and_quotes_only_where_needed():
    value = {
        "automation": {"errors": ["plain words"], "warnings": [], "analyzer_completed": True},
        "characteristics": [{"states": ["yes", "authenticated"], "name": "user"}],
        "own key": {},
    }
    order = {
        "": ("characteristics", "missing"),
        "/characteristics/*": ("name",),
        "/automation": ("analyzer_completed",),
    }
    assert dump(value, order, quoted=("/automation/errors",)).decode() == (
        "characteristics:\n"
        "  - name: user\n"
        "    states:\n"
        '      - "yes"\n'
        "      - authenticated\n"
        "automation:\n"
        "  analyzer_completed: true\n"
        "  errors:\n"
        '    - "plain words"\n'
        "  warnings: []\n"
        "own key: {}\n"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: yes\nb: No\nc: y\nd: on", {"a": "yes", "b": "No", "c": "y", "d": "on"}),
        ("[1, -2, +3, 0x1F, 0, 1.5, .5, 1., 1.5e+3]", [1, -2, 3, 31, 0, 1.5, 0.5, 1.0, 1500.0]),
        ("[012, 089, 0o14, 1e3, 1.5e3, 1_000, 1:30]", ["012", "089", "0o14", "1e3", "1.5e3", "1_000", "1:30"]),
        ("[+.5, -.5, -.5e+3]", ["+.5", "-.5", "-.5e+3"]),
        ('[2024-01-01, 2024-01-01T00:00:00Z, =, ":a"]', ["2024-01-01", "2024-01-01T00:00:00Z", "=", ":a"]),
        (
            "[true, True, FALSE, null, Null, ~, '', 'true', \"1\"]",
            [True, True, False, None, None, None, "", "true", "1"],
        ),
        ("a:\nb: |\n  x\n\ty\n", None),
        ("a:\nb: |\n  x\n  \ty\n", {"a": None, "b": "x\n\ty\n"}),
        ("\ufeffa: 1\r\nb:\r\n  - 2\r\n", {"a": 1, "b": [2]}),
        ("%YAML 1.2\n---\na: 1 # c\tomment\n...\n", {"a": 1}),
        ("# only\n---\n", None),
    ],
)
def test_unquoted_text_is_a_number_or_a_word_only_if_all_readers_agree(text, value):
    if "\n\ty" in text:
        with pytest.raises(TornYaml):
            load(text.encode())
    else:
        assert same(load(text.encode()), value)


FAULTS = [
    (b"", "empty", 1, 1),
    (b"# nothing\n", "empty", 1, 1),
    (b"a: 1\nb:\n  c: 2\n  c: 3\n", "the key c stands twice", 4, 3),
    (b"a: !ruby/object:Foo {}", "the tag !ruby/object:Foo", 1, 4),
    (b"a: !!python/name:os.system x", "the tag", 1, 4),
    (b"a: !!binary aGk=", "the tag", 1, 4),
    (b"a: &x 1", "the anchor &x", 1, 4),
    (b"a: &x [1]\nb: *x", "the anchor &x", 1, 4),
    (b"- 1\n- *x", "the alias *x", 2, 3),
    (b"a: 1\n---\nb: 2\n", "a second document", 2, 1),
    (b"%TAG ! tag:x,2000:\n---\na: 1", "%TAG", 1, 1),
    (b"<<: {a: 1}", "merge key", 1, 1),
    (b"'<<': {a: 1}", "merge key", 1, 1),
    (b"a: 1\n\tb: 2", "tab", 2, 1),
    (b"a:\t1", "tab", 1, 3),
    (b"a: [1,\t2]", "tab", 1, 7),
    (b"a: 'x\ty'\n\t# comment", "tab", 2, 1),
    (b"a: \xff", "not UTF-8", 1, 4),
    ("a: é\nb: \x01".encode(), "U+0001", 2, 4),
    ("a: \u2028".encode(), "U+2028", 1, 4),
    (b"a: 1\n1: 2", "put 1 in quotes", 2, 1),
    (b"true: 1", "put true in quotes", 1, 1),
    (b"? [a]\n: 1", "a key must be text", 1, 3),
    (b"? ~\n: 1", "put ~ in quotes", 1, 3),
    (b"a: b: c", "needs quotes", 1, 5),
    (b"a: @x", "starts with @", 1, 4),
    (b"a: [1, 2\nb: 3", "not closed", 2, 2),
    (b"a: {b: 1", "not closed", 2, 1),
    (b"a: 'x", "ends in the middle", 1, 6),
    (b'a: "\\q"', "escape", 1, 5),
    (b"- a\nb: 1", "indentation", 2, 1),
    (b"a: .inf", "finite", 1, 4),
    (b"a: 1.0e+999", "too large", 1, 4),
    (b"a: " + b"9" * 5000, "too large", 1, 4),
    (b"[" * 200, f"more than {DEEPEST} levels", 1, DEEPEST + 1),
    (b"- " * 200, f"more than {DEEPEST} levels", 1, 2 * DEEPEST + 1),
    (b"? " + b"k" * LONGEST + b"\n: 1", "more than 2000 characters", 1, 3),
    (b"[" + b"1," * (MOST + 1) + b"]", f"more than {MOST} values", 1, 2 * MOST),
]


@pytest.mark.proves("S2-HARD-09")
@pytest.mark.proves("S1-HARD-10", "S1-TEST-02")
@pytest.mark.parametrize(("data", "reason", "line", "column"), FAULTS, ids=[str(fault[0][:24]) for fault in FAULTS])
def test_a_fault_is_refused_with_its_line_and_column(data, reason, line, column):
    with pytest.raises(TornYaml, match=re.escape(reason)) as caught:
        load(data)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert f"(line {line}, column {column})" in str(caught.value)


@pytest.mark.proves("S2-HARD-09")
@pytest.mark.proves("S1-HARD-10")
def test_a_file_over_the_limit_is_refused_unread():
    with pytest.raises(TornYaml, match="larger than 10 bytes"):
        load(b"a: 1\nb: 22\n", largest=10)


@pytest.mark.proves("S1-TEST-02")
@pytest.mark.parametrize("data", [b"invalid yaml [[[\n", b"- 1\n", b"---", b"7\n"])
def test_a_file_that_is_not_a_mapping_is_refused_with_its_place(data):
    with pytest.raises(TornYaml, match=r"expected a mapping, got .* \(line \d, column 1\)"):
        load_mapping(data)


def test_a_bomb_of_aliases_is_refused_at_its_first_anchor():
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 10)]
    with pytest.raises(TornYaml, match="the anchor &l0") as caught:
        load("\n".join(["l0: &l0 [x, x]", *levels]).encode())
    assert caught.value.line == 1


def test_every_key_and_item_has_its_place():
    loaded = load_with_places(b"a:\n  - b: 1\n    c/d: [2,\n  3]\n")
    assert loaded.value == {"a": [{"b": 1, "c/d": [2, 3]}]}
    assert loaded.places == {
        "": (1, 1),
        "/a": (1, 1),
        "/a/0": (2, 5),
        "/a/0/b": (2, 5),
        "/a/0/c~1d": (3, 5),
        "/a/0/c~1d/0": (3, 11),
        "/a/0/c~1d/1": (4, 3),
    }


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_read_or_refused_with_a_place(data):
    try:
        value = load(data)
    except TornYaml as refusal:
        error: TornYaml | None = refusal
    else:
        error = None
        assert same(load(dump(value)), value)
    assert error is None or (error.line >= 1 and error.column >= 1)


UNWRITABLE = {
    "not a number": float("nan"),
    "infinity": float("inf"),
    "a key that is a number": {1: 2},
    "a merge key": {"<<": {}},
    "an object": {"a": object()},
    "half a surrogate pair": "\ud800",
    "a long key": {"k" * LONGEST: 1},
    "many values": [1] * (MOST + 1),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_what_could_not_be_read_back_is_not_written(name):
    with pytest.raises(ValueError, match=r"\w"):
        dump(UNWRITABLE[name])


def test_deep_values_are_written_as_deep_as_they_are_read():
    value: object = "x"
    for _ in range(DEEPEST):
        value = [value]
    assert load(dump(value)) == value
    with pytest.raises(ValueError, match="nested"):
        dump([value])
