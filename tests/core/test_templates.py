"""Text forms: what is written is read again, and what differs is named by its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.templates import NearMiss, form_of, parse, read, render

MIGRATION = form_of("REQUEST_MIGRATION #{issue:int} tables:[{tables:names}]")
BLOCKED = form_of("BLOCKED {who:word}: {why:text}")
FORMS = [MIGRATION, BLOCKED, form_of("BLOCKED"), form_of("READY {number:int}/{of:int} end")]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("REQUEST_MIGRATION #50 tables:[a, b]", {"issue": 50, "tables": ["a", "b"]}),
        ("REQUEST_MIGRATION 50  tables:[a,b]\n", {"issue": 50, "tables": ["a", "b"]}),
        ("REQUEST_MIGRATION #50 tables:[]", {"issue": 50, "tables": []}),
        ("BLOCKED Ada: the parser\nis gone ", {"who": "Ada", "why": "the parser\nis gone"}),
        ("BLOCKED", {}),
        ("READY #1/#2 end", {"number": 1, "of": 2}),
    ],
)
def test_a_text_is_read_as_its_fields(text, fields):
    found = read(FORMS, text)
    assert isinstance(found, tuple)
    assert found[1] == fields


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("REQUEST_MIGRATION #x tables:[a]", 18, "a number"),
        ("REQUEST_MIGRATION #50 tabels:[a]", 25, "'tables:['"),
        ("REQUEST_MIGRATION #50 tables:[a b]", 31, "']'"),
        ("REQUEST_MIGRATION #50 tables:[a] now", 33, "the end"),
        ("REQUEST_MIGRATION", 17, "a blank"),
        ("REQUEST_MIGRATON #50 tables:[a]", 14, "'REQUEST_MIGRATION'"),
        ("Request_Migration", None, ""),
        ("BLOCKED Ada the parser", 11, "':'"),  # the closest of the two forms
        ("Blocked by the parser", None, ""),
        ("The parser: READY 1/2 end", None, ""),
        ("", None, ""),
    ],
)
def test_a_near_miss_has_a_place_and_other_texts_have_no_form(text, position, expected):
    found = read(FORMS, text)
    assert (found.position if isinstance(found, NearMiss) else None) == position
    assert found is None or found.expected == expected


@pytest.mark.parametrize(
    "source",
    [
        "", "{a:int}", "A{a:int}", "A {a:thing}", "A {a}", "A {a:int", "A {a:int}{b:int}", "A {a:int} {a:int}",
        "A {a:text} end", "A {a:text} {b:int}", "A {type:word}",
    ],
)  # fmt: skip
def test_a_form_that_could_not_be_read_is_refused(source):
    with pytest.raises(ValueError, match=r"\w"):
        form_of(source)


_WORDS = st.text(min_size=1, max_size=8)


@given(st.integers(0, 10**6), st.lists(_WORDS, max_size=3), _WORDS, st.text())
def test_what_is_written_is_read_as_the_same_data_or_is_not_written(issue, tables, who, why):
    for form, data in ((MIGRATION, {"issue": issue, "tables": tables}), (BLOCKED, {"who": who, "why": why})):
        said = render(form, data)
        assert not said or parse(form, said) == data
        assert render(form, {**data, "more": 1}) == ""
    plain = {"issue": issue, "tables": [f"t{number}" for number in range(len(tables))]}
    assert parse(MIGRATION, render(MIGRATION, plain)) == plain


@given(st.text())
def test_every_text_has_a_form_or_a_place(text):
    for form in FORMS:
        found = parse(form, text)
        assert not isinstance(found, NearMiss) or 0 <= found.position <= len(text)
