"""Ids: which ones a user may choose, which ones a file may contain, and the file names made from them.

- An id chosen by a user is plain: a letter or digit, then up to 99 letters, digits, `.`, `_` or `-`.
- An id in a protocol's file is one printable line without `/`, at most 200 characters.
- A log may hold any id that some program wrote, so an id is never used as a file name unchecked.
"""

from __future__ import annotations

from moot.core.errors import Usage

LONGEST = 100
LONGEST_IN_FILES = 200
_DIGITS = 10  # ids with larger numbers were chosen by a user and do not affect the next number
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_REST = _FIRST | frozenset("._-")


def is_plain(text: str) -> bool:
    """Whether a user may choose this id. It is then safe in a path, a shell and a terminal."""
    return 0 < len(text) <= LONGEST and text[0] in _FIRST and _REST.issuperset(text)


def is_line(text: str) -> bool:
    """Whether a protocol's file may contain this id."""
    return 0 < len(text) <= LONGEST_IN_FILES and text.isprintable() and "/" not in text


def is_name_part(text: str) -> bool:
    """Whether it can be part of a file name without leading to another directory."""
    return is_line(text) and text not in (".", "..")


def number_of(task: str) -> int:
    """The number in a task id: 7 for task-007, 0 for ids of another form."""
    digits = task[5:] if task.startswith("task-") else ""
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < _DIGITS else 0


def file_name(text: str) -> str:
    """The file name for this id: the id if it is plain, else a digest that cannot equal a plain id."""
    if is_plain(text):
        return text
    from hashlib import blake2b

    return f"~{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=20).hexdigest()}"


def chosen(text: str, what: str) -> str:
    """The id. Raises if it is not valid for a new `what` (`task`, `topic` …)."""
    if is_plain(text):
        return text
    raise Usage(
        "bad_id",
        f"{text[:80]!r} is not a valid {what} id.",
        f"Use a letter or digit, then up to {LONGEST - 1} letters, digits, '.', '_' or '-'.",
    )
