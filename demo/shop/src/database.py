"""The database of the shop: all migrations, in the order of their numbers."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def database() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    for file in sorted(Path("migrations").glob("*.sql"), key=lambda file: int(file.name.partition("_")[0])):
        made.executescript(file.read_text(encoding="utf-8"))
    return made
