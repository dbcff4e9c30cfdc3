r"""The regular expressions that a message schema may use, with the meaning that JSON Schema gives them.

A pattern is a sequence of characters and classes, each with an optional count, between an optional `^` and an optional
`$`: `^task-\d{3,}$`, `\S$`. There are no groups, alternatives, references or look-arounds, and no `.`, because engines
differ about it. What follows a variable count must not match what was counted, and an open-ended count requires `^` at
the start. So matching takes linear time for any text.

As in ECMA-262, and unlike in Python, `\d` and `\w` are ASCII, `\s` is every blank and line break of Unicode, and `$`
is the very end.
"""

from __future__ import annotations

from sys import maxunicode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

_BLANKS = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_CODE = r"\\(?:[nrtfv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[\^$\\.*+?()\[\]{}|/])"
_ONE = rf"(?:{_CODE}|\\-|[^\\\[\]^&~|\-])"
_CLASS = rf"\[\^?(?:\\[dDwWs]|{_ONE}(?:-{_ONE})?)+-?\]"
_ATOM = rf"(?:{_CODE}|\\[dDwWsS]|{_CLASS}|[^\^$\\.*+?()\[\]{{}}|])"
_COUNT = r"(?:[*+?]|\{\d{1,4}(?:,\d{0,4})?\})"

_compiled: dict[str, Pattern[str]] = {}


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found anywhere in the text."""
    if pattern not in _compiled:
        _compiled[pattern] = _compile(pattern)
    return _compiled[pattern].search(text) is not None


def objection(pattern: str) -> str | None:
    """Why the pattern cannot be used; None if it can."""
    import re

    row = re.fullmatch(rf"\^?((?:{_ATOM}{_COUNT}?)*)\$?", pattern)
    if row is None:
        return "more than characters and classes with counts between ^ and $"
    try:
        _compile(pattern)
        pieces = [(_compile(atom), *_span(count)) for atom, count in re.findall(rf"({_ATOM})({_COUNT}?)", row[1])]
    except (re.error, OverflowError) as error:
        return str(error)
    samples = _samples(pattern)
    for index, (counted, least, most) in enumerate(pieces):
        if most is None and not pattern.startswith("^"):
            return "an open-ended count without ^ at the beginning"
        for follower, at_least, _ in pieces[index + 1 :] if least != most else []:
            if any(counted.match(sample) and follower.match(sample) for sample in samples):
                return "a varying count before something that matches the same characters"
            if at_least:
                break
    return None


def _compile(pattern: str) -> Pattern[str]:
    """The pattern for Python: the same, except for two escapes and `$`, which Python reads differently."""
    import re

    def translated(piece: re.Match[str]) -> str:
        return {r"\S": f"[^{_BLANKS}]", "$": r"\Z"}.get(piece[0]) or _within(piece[0])

    return re.compile(re.sub(rf"{_CLASS}|\\.|\$", translated, pattern), re.ASCII)


def _within(piece: str) -> str:
    """A class or an escape, with the escape for blanks spelled out."""
    import re

    if piece == r"\s":
        return f"[{_BLANKS}]"
    return re.sub(r"\\.", lambda escape: _BLANKS if escape[0] == r"\s" else escape[0], piece)


def _span(count: str) -> tuple[int, int | None]:
    """The least and the most that a count allows; None for no end."""
    if count in ("", "?", "*", "+"):
        return {"": (1, 1), "?": (0, 1), "*": (0, None), "+": (1, None)}[count]
    least, comma, most = count[1:-1].partition(",")
    return int(least), (int(most) if most else None) if comma else int(least)


def _samples(pattern: str) -> set[str]:
    """Enough characters to tell whether two classes of this pattern overlap: the ends of all ranges, and around."""
    import re

    coded = re.findall(r"\\[ux]([0-9a-fA-F]{2,4})", pattern)
    blanks = "\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
    ends = {*map(ord, pattern + blanks), *(int(code, 16) for code in coded), *range(256)}
    return {chr(code + step) for code in ends for step in (-1, 0, 1) if 0 <= code + step <= maxunicode}
