"""The private methods of a class, from its source."""

from __future__ import annotations

from moot.core.errors import Refused
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.syntax import parse


def private_names(data: bytes, name: str) -> set[str]:
    """The methods of this class that are private. Empty if the source cannot be parsed."""
    try:
        found = declarations(parse(data))
    except Refused:
        return set()
    owner = name.removeprefix("::")
    private = {one.name for one in found.declared if one.owner == owner and one.visibility == "private"}
    public = {one.name for one in found.declared if one.owner == owner and one.visibility == "public"}
    return private - public - {"initialize"}
