"""Requirements on one side, the tests that name them on the other.

Tests are read, not run: the marks `@pytest.mark.proves("S0-TA-01", …)` and `@pytest.mark.promise(7)` are found in the
text of tests/**/*.py, so the ledger is whole whichever tests are selected. A skipped or expected-to-fail test proves
nothing. What is in scope, and what is deferred for which reason, stands in scope.toml.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MARKS = {"proves": str, "promise": int}
DISABLED = {"skip", "xfail"}


@dataclass(frozen=True)
class Requirement:
    id: str
    spec: int
    pack: str
    must: str


@dataclass
class Marks:
    """Which tests name which requirement or promise, and which marks are not usable."""

    proves: dict[str, list[str]] = field(default_factory=dict)
    promise: dict[int, list[str]] = field(default_factory=dict)
    defects: list[str] = field(default_factory=list)


def read_requirements(folder: Path = HERE / "requirements") -> dict[str, Requirement]:
    """All requirements by id, in the order of the files."""
    found: dict[str, Requirement] = {}
    for path in sorted(folder.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        spec = data["spec"]
        for entry in data["requirement"]:
            if entry["id"] in found:
                raise ValueError(f"{path.name}: {entry['id']} is there twice")
            found[entry["id"]] = Requirement(entry["id"], spec["number"], spec["pack"], entry["must"])
    return found


def read_marks(folder: Path = HERE.parent) -> Marks:
    """The marks of all test files below a folder."""
    marks = Marks()
    for path in sorted(folder.rglob("*.py")):
        note_marks(marks, path.relative_to(folder.parent).as_posix(), path.read_text(encoding="utf-8"))
    return marks


def note_marks(marks: Marks, file: str, text: str) -> None:
    """Adds the marks of one test file."""
    _Reader(file, marks).visit(ast.parse(text, file))


class _Reader(ast.NodeVisitor):
    """Notes each mark under the name of the test (or class, or file) that carries it."""

    def __init__(self, file: str, marks: Marks) -> None:
        self.marks = marks
        self.around = [file]
        self.idle = ""  # why marks do not count here

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._definition(node, "" if node.name.startswith("test") else "is no test")

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._definition(node, "" if node.name.startswith("test") else "is no test")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._definition(node, "")

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, idle: str) -> None:
        before = self.idle
        if DISABLED & {_mark_of(item) for item in node.decorator_list}:
            idle = "is skipped or expected to fail"
        self.idle = before or idle
        self.around.append(node.name)
        self.generic_visit(node)
        self.around.pop()
        self.idle = before

    def visit_Call(self, node: ast.Call) -> None:
        mark = _mark_of(node)
        if mark in MARKS:
            self._note(mark, node)
        self.generic_visit(node)

    def _note(self, mark: str, node: ast.Call) -> None:
        values = [item.value if isinstance(item, ast.Constant) else None for item in node.args]
        test = "::".join(self.around)
        if self.idle:
            self._defect(node, f"{self.idle}, so its mark {mark} proves nothing")
        elif not values or node.keywords or any(type(value) is not MARKS[mark] for value in values):
            self._defect(node, f"{mark} takes {MARKS[mark].__name__} literals, so that they can be found by reading")
        else:
            named: dict[Any, list[str]] = getattr(self.marks, mark)
            for value in values:
                named.setdefault(value, []).append(test)

    def _defect(self, node: ast.Call, what: str) -> None:
        self.marks.defects.append(f"{'::'.join(self.around)} (line {node.lineno}): {what}")


def _mark_of(node: ast.AST) -> str:
    """`proves` for `pytest.mark.proves(…)`, with or without a call; empty for anything else."""
    target = node.func if isinstance(node, ast.Call) else node
    if not isinstance(target, ast.Attribute):
        return ""
    holder = target.value
    name = holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
    return target.attr if name == "mark" else ""


@dataclass(frozen=True)
class Ledger:
    requirements: dict[str, Requirement]
    marks: Marks
    scope: dict[str, Any]

    @classmethod
    def read(cls) -> Ledger:
        scope = tomllib.loads((HERE / "scope.toml").read_text(encoding="utf-8"))
        return cls(read_requirements(), read_marks(), scope)

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
