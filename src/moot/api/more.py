"""Warns that a list was cut: how many items are missing, and how to see them."""

from __future__ import annotations

from moot.core.text import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call


def warn_of_more(call: Call, limit: int, more: int, noun: str) -> None:
    """`limit`: the value of --limit. `more`: the number of items that it left out."""
    if more > 0:
        call.warn("more", f"{counted(more, f'more {noun}')}: use --limit {limit + more}.")
