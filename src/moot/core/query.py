"""Search queries: words, "phrases" and -without, and the text of events that they look in.

A text matches if it contains every term, anywhere and in upper or lower case. Every text is a valid query, though it
may contain nothing to search for.
"""

from __future__ import annotations

import re  # noqa: TID253 (only `search` loads this module)

from moot.core.kind import find, payload_of
from moot.core.payload import ALL
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.core.event import Event

_TERM = re.compile(r'(-?)(?:["“”„]([^"“”„]*)["“”„]?|(\S+))')
_MOST = 64  # terms
_BEFORE, _WIDTH = 60, 240  # characters of an excerpt: before the first match, and altogether


class Query(Record):
    terms: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def matches(self, text: str) -> bool:
        line = " ".join(text.split())
        return all(_found(term, line) for term in self.terms) and not any(_found(term, line) for term in self.without)

    def excerpt(self, text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
        """The part of the text around the first match, in one line, and the spans of the terms in it."""
        line = " ".join(text.split())
        pattern = re.compile("|".join(map(re.escape, sorted(self.terms, key=len, reverse=True))), re.IGNORECASE)
        first = pattern.search(line)
        start = max(0, first.start() - _BEFORE) if first else 0
        shown = f"{'…' if start else ''}{line[start : start + _WIDTH]}{'…' if len(line) > start + _WIDTH else ''}"
        return shown, tuple(match.span() for match in pattern.finditer(shown))


def parse(text: str) -> Query:
    """The terms of a text. An unclosed quote extends to the end."""
    found = [(out, " ".join((phrase or word).split())) for out, phrase, word in _TERM.findall(text)][:_MOST]
    return Query(
        terms=tuple(term for out, term in found if term and not out),
        without=tuple(term for out, term in found if term and out),
    )


def texts(event: Event) -> str:
    """The searchable text of the event, one value per line. All fields of an unknown type count as text."""
    kind, known = find(event.stream.partition("/")[0]), payload_of(event)
    if kind is not None and known is not None and kind.text is not None:
        return kind.text(event.data)
    names = list(event.data)
    if known is not None and ALL not in known.words:
        names = [name for name in names if name in known.words or name in known.names]
    return "\n".join(text for name in names for text in _strings(event.data[name]))


def _found(term: str, line: str) -> bool:
    return re.search(re.escape(term), line, re.IGNORECASE) is not None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
