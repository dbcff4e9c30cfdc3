"""Search queries: any text is a query, and what contains all its terms matches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moot.core.query import Query, parse


def test_words_phrases_and_what_is_left_out() -> None:
    wrong = {}
    for text, terms, without in (
        ("two words", ("two", "words"), ()),
        ('"a  phrase" -not', ("a phrase",), ("not",)),
        ('-"not this"', (), ("not this",)),
        ('never "closed at all', ("never", "closed at all"), ()),
        ("src/moot/parse.py well-known", ("src/moot/parse.py", "well-known"), ()),
        ("“curly quotes”", ("curly quotes",), ()),
        ('"" -""', (), ()),
        ("a.*(b", ("a.*(b",), ()),
    ):
        if parse(text) != Query(terms=terms, without=without):
            wrong[text] = parse(text)
    assert wrong == {}


@given(st.lists(st.text('abé日-"* \ud800', min_size=1), min_size=1, max_size=8))
def test_a_text_with_all_the_terms_matches_in_upper_or_lower_case(words: list[str]) -> None:
    query = parse(" ".join(words))
    text = "before " + "  \n".join(query.terms) + " after"
    assert query.matches(text.upper()) is not any(term.lower() in text.lower() for term in query.without)
    if query.terms:
        shown, marks = query.excerpt(text)
        assert {shown[start:end].lower() for start, end in marks} <= {term.lower() for term in query.terms}
        assert not query.replace(terms=("xyzzy", *query.terms)).matches(text)


def test_an_excerpt_is_one_line_around_the_first_match() -> None:
    text, marks = parse("needle").excerpt("hay\n" * 200 + "needle in the hay " + "hay " * 200)
    assert (text[0], text[-1], "\n" in text, len(text)) == ("…", "…", False, 242)
    assert [text[start:end] for start, end in marks] == ["needle"]
    assert parse("needle").excerpt("hay") == ("hay", ())
