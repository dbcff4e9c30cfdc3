"""What is in scope of moot's own requirements, and what is deferred for which reason: scope.toml says so.

Requirements and marks are read by `moot.testing.ledger`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from moot.testing.ledger import Marks, Requirement, note_marks, read_marks, read_requirements

HERE = Path(__file__).resolve().parent

__all__ = ["HERE", "Ledger", "Marks", "note_marks"]


@dataclass(frozen=True)
class Ledger:
    requirements: dict[str, Requirement]
    marks: Marks
    scope: dict[str, Any]

    @classmethod
    def read(cls) -> Ledger:
        scope = tomllib.loads((HERE / "scope.toml").read_text(encoding="utf-8"))
        return cls(read_requirements(HERE / "requirements"), read_marks(HERE.parent), scope)

    @property
    def clauses(self) -> dict[str, str]:
        """Id and what is missing, for requirements that are proven otherwise."""
        return dict(self.scope["clause"])

    @cached_property
    def in_scope(self) -> list[str]:
        prefixes = tuple(f"{prefix}-" for prefix in self.scope["in_scope"]["prefixes"])
        single = set(self.scope["in_scope"]["ids"])
        return [name for name in self.requirements if name.startswith(prefixes) or name in single]

    @cached_property
    def deferred(self) -> dict[str, str]:
        """Id and reason; an entry for a whole protocol (`S1-*`) stands for all its requirements."""
        table = self.scope["deferred"]
        reasons = {name: table.get(name) or table.get(f"{name[:2]}-*") for name in self.requirements}
        return {name: reason for name, reason in reasons.items() if reason}

    @cached_property
    def proven(self) -> dict[str, list[str]]:
        """Id and the tests that name it."""
        return {name: self.marks.proves[name] for name in self.requirements if name in self.marks.proves}

    @cached_property
    def open(self) -> list[str]:
        return [name for name in self.requirements if name not in self.proven and name not in self.deferred]

    @cached_property
    def open_promises(self) -> list[int]:
        return [n for n in self.promises if n not in self.marks.promise and n not in self.deferred_promises]

    @property
    def promises(self) -> range:
        return range(1, self.scope["promises"]["count"] + 1)

    @cached_property
    def deferred_promises(self) -> dict[int, str]:
        return {int(n): reason for n, reason in self.scope["promises"]["deferred"].items()}
