"""The named statements of `queries.sql`, and the schema of a log."""

from __future__ import annotations

import os


def text(name: str) -> str:
    """The content of a file next to this one."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


SQL = {
    name.strip(): statement.strip()
    for name, _, statement in (part.partition("\n") for part in text("queries.sql").split("-- name: ")[1:])
}
