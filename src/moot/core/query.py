"""Search queries: words, "phrases", -without and begin*, and their translation to the full-text index.

Every text is a valid query, though it may contain nothing to search for. Words that are syntax to the index (AND, NEAR,
brackets, a colon) are quoted, so they are searched for like any other word.
"""

from __future__ import annotations

from moot.core.record import Record

_QUOTES = '"“”„'
_SPOKEN = ("L", "N")  # Unicode categories that form words; the index splits at all others
_MOST = 64  # terms in one expression


class Term(Record):
    """A word or phrase that must occur, or must not."""

    text: str
    without: bool = False
    begins: bool = False  # the last word is a prefix


class Query(Record):
    terms: tuple[Term, ...] = ()

    @property
    def asks(self) -> bool:
        """Whether there is something to search for, not only something to exclude."""
        return any(not term.without for term in self.terms)

    def expression(self) -> str:
        """The query as an FTS5 expression. Only valid if `asks`."""
        wanted = " AND ".join(_quoted(term) for term in self.terms if not term.without)
        unwanted = " OR ".join(_quoted(term) for term in self.terms if term.without)
        return f"({wanted}) NOT ({unwanted})" if unwanted else wanted


def parse(text: str) -> Query:
    """The terms of a text. An unclosed quote extends to the end."""
    terms: list[Term] = []
    rest = text.strip()
    while rest and len(terms) < _MOST:
        without = rest[0] == "-"
        rest = rest[1:] if without else rest
        if rest[:1] and rest[0] in _QUOTES:
            term, rest = _until(rest[1:], _QUOTES)
            begins = rest.startswith("*")
        else:
            term, rest = _until_blank(rest)
            begins = term.endswith("*")
        if any(_spoken(char) for char in term):
            terms.append(Term(text=term, without=without, begins=begins and _spoken(term.rstrip("*")[-1:])))
        rest = rest.removeprefix("*").strip()
    return Query(terms=tuple(terms))


def _until(text: str, ends: str) -> tuple[str, str]:
    for at, char in enumerate(text):
        if char in ends:
            return text[:at], text[at + 1 :]
    return text, ""


def _until_blank(text: str) -> tuple[str, str]:
    for at, char in enumerate(text):
        if char.isspace():
            return text[:at], text[at:]
    return text, ""


def _spoken(char: str) -> bool:
    if char.isascii():
        return char.isalnum()
    from unicodedata import category

    return category(char)[0] in _SPOKEN


def _quoted(term: Term) -> str:
    return '"' + term.text.replace('"', '""') + '"' + (" *" if term.begins else "")
