"""The private methods of a class, from its source."""

from __future__ import annotations


def private_names(data: bytes, name: str) -> set[str]:
    """The methods of this class that are private. Empty if the source cannot be read."""
    raise NotImplementedError
