"""What somebody searches for: any text means something, and none is an error of the index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.query import Query, Term, parse
from moot.views.search import excerpts
from tests.views.events import said

typed = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=60)
syntax = st.lists(st.sampled_from(['"', "*", "-", " ", "a", "NOT", "AND", "NEAR(", ")", "x:", "^", "+", "é", "“"])).map(
    "".join
)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("two words", [Term("two"), Term("words")]),
        ('"a phrase" -not', [Term("a phrase"), Term("not", without=True)]),
        ("begin* -end*", [Term("begin*", begins=True), Term("end*", without=True, begins=True)]),
        ('"a phr"*', [Term("a phr", begins=True)]),
        ('-"not this"', [Term("not this", without=True)]),
        ('never "closed at all', [Term("never"), Term("closed at all")]),
        ("src/moot/parse.py", [Term("src/moot/parse.py")]),
        ("well-known", [Term("well-known")]),
        ("“curly quotes”", [Term("curly quotes")]),
        ("C++ *", [Term("C++")]),
        ('... -- ** "" \'', []),
    ],
)
def test_words_phrases_beginnings_and_what_is_left_out(text: str, terms: list[Term]) -> None:
    assert list(parse(text).terms) == terms


@given(typed | syntax)
def test_whatever_is_typed_the_index_takes_it(text: str) -> None:
    query = parse(text)
    if query.asks:
        excerpts(query.expression(), [said("any words at all")])


@given(st.lists(st.sampled_from(["a", "and", "or", "not", "near", "é"]), min_size=1, max_size=8))
def test_what_holds_all_the_words_is_found(words: list[str]) -> None:
    text = " ".join(words)
    for asked in (text, f'"{text}"', f"{words[0]}*"):
        assert excerpts(parse(asked).expression(), [said(text)]), asked
    assert not excerpts(parse(f"{text} -{words[-1]}").expression(), [said(text)])


def test_only_what_is_to_be_there_asks() -> None:
    assert parse("a").asks
    assert not parse("-a").asks
    assert not Query().asks


def test_no_expression_is_longer_than_the_index_takes() -> None:
    query = parse("a " * 1_000 + "-b " * 1_000)
    assert len(query.terms) <= 64
    assert excerpts(query.expression(), [said("a")])
