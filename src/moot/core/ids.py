"""Ids: which ones may be chosen, which ones may come in a file, and what a file that is named after one is called.

- An id that somebody chooses on a surface is plain: a letter or digit, then up to 99 letters, digits, `.`, `_` or `-`.
- An id in a protocol's file follows the protocol: one printable line without `/`, at most 200 characters.
- A log may hold any id that an earlier version could write, so no file name is ever built from an id as it is.
"""

from __future__ import annotations

from moot.core.errors import Usage

LONGEST = 100
LONGEST_IN_FILES = 200
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_REST = _FIRST | frozenset("._-")


def is_plain(text: str) -> bool:
    """Whether it is an id that may be chosen, and is safe in a path, a shell and a terminal."""
    return 0 < len(text) <= LONGEST and text[0] in _FIRST and _REST.issuperset(text)


def is_line(text: str) -> bool:
    """Whether it is an id that a protocol's file may bring."""
    return 0 < len(text) <= LONGEST_IN_FILES and text.isprintable() and "/" not in text


def is_name_part(text: str) -> bool:
    """Whether it can stand in the name of a file, and lead nowhere else."""
    return is_line(text) and text not in (".", "..")


def file_name(text: str) -> str:
    """The name of a file about the thing with this id: the id if it is plain, else a digest that no plain id equals."""
    if is_plain(text):
        return text
    from hashlib import blake2b

    return f"~{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=20).hexdigest()}"


def chosen(text: str, what: str) -> str:
    """The id of a new `what` (`task`, `topic` …), if somebody may choose it."""
    if is_plain(text):
        return text
    raise Usage(
        "bad_id",
        f"{text[:80]!r} cannot be the id of a {what}.",
        f"Use a letter or digit, then up to {LONGEST - 1} letters, digits, '.', '_' or '-'.",
    )
