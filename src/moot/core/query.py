"""What somebody searches for: words, "phrases", -without and begin*, and how the full-text index is asked for them.

Whatever is typed means something: there is no text that is wrong, only text with nothing in it to look for. What the
index would take for its own syntax (AND, NEAR, brackets, a colon) is quoted, and so is a word like any other.
"""

from __future__ import annotations

from moot.core.record import Record

_QUOTES = '"“”„'
_SPOKEN = ("L", "N")  # categories of characters that words are made of; the index splits at all others
_MOST = 64  # terms; the index is asked with one expression, and nobody means more


class Term(Record):
    """One thing that must be there, or must not."""

    text: str
    without: bool = False
    begins: bool = False  # the last word may go on


class Query(Record):
    terms: tuple[Term, ...] = ()

    @property
    def asks(self) -> bool:
        """Whether there is something to look for, and not only something to leave out."""
        return any(not term.without for term in self.terms)

    def expression(self) -> str:
        """The same in the language of FTS5. For a query that asks."""
        wanted = " AND ".join(_quoted(term) for term in self.terms if not term.without)
        unwanted = " OR ".join(_quoted(term) for term in self.terms if term.without)
        return f"({wanted}) NOT ({unwanted})" if unwanted else wanted


def parse(text: str) -> Query:
    """The terms of a text. A quote that is never closed reaches to the end."""
    terms: list[Term] = []
    rest = text.strip()
    while rest and len(terms) < _MOST:
        without = rest[0] == "-"
        rest = rest[1:] if without else rest
        if rest[:1] and rest[0] in _QUOTES:
            said, rest = _until(rest[1:], _QUOTES)
            begins = rest.startswith("*")
        else:
            said, rest = _until_blank(rest)
            begins = said.endswith("*")
        if any(_spoken(char) for char in said):
            terms.append(Term(text=said, without=without, begins=begins and _spoken(said.rstrip("*")[-1:])))
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
