"""The named statements of `queries.sql`, and the numbered migrations in `schema/`."""

from __future__ import annotations

import os

_HERE = os.path.dirname(__file__)


def _text(*path: str) -> str:
    with open(os.path.join(_HERE, *path), encoding="utf-8") as file:
        return file.read()


def named(file: str) -> dict[str, str]:
    """The statements of a file next to this one, by name."""
    pairs = (part.split("\n", 1) for part in _text(file).split("-- name: ")[1:])
    return {name.strip(): statement.strip() for name, statement in pairs}


SQL = named("queries.sql")


def migrations(folder: str | None = None) -> list[tuple[int, str]]:
    """Number and script of every migration, in order. The number becomes the file's `user_version`."""
    folder = folder or os.path.join(_HERE, "schema")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".sql"))
    return [(int(name[:4]), _text(folder, name)) for name in names]
