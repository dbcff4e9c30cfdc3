"""Matches requirements with the tests that name them.

Tests are parsed, not run: the marks `@pytest.mark.proves("S0-TA-01", …)` are found in the source, so the result does
not depend on which tests are selected. A test that is skipped or expected to fail proves nothing.
"""

from __future__ import annotations

import ast
import tomllib  # noqa: TID253 (only tests load this module)
from dataclasses import dataclass, field  # noqa: TID253
from pathlib import Path  # noqa: TID253
from typing import Any  # noqa: TID253

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
    """The tests that name each requirement or promise, and the marks that are not valid."""

    proves: dict[str, list[str]] = field(default_factory=dict)
    promise: dict[int, list[str]] = field(default_factory=dict)
    defects: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Ledger:
    """Which requirements of a file have tests."""

    proven: dict[str, list[str]]
    open: list[str]
    unknown: list[str]  # ids that tests name, but that are not in the file
    defects: list[str]


def ledger(requirements: str | Path, tests: str | Path) -> Ledger:
    """Compare the requirements in a file (`[[requirement]]` with `id` and `must`) with the tests below a folder."""
    known, marks = read_requirements(Path(requirements)), read_marks(Path(tests))
    prefix = tuple({name.partition("-")[0] + "-" for name in known})
    return Ledger(
        proven={name: marks.proves[name] for name in known if name in marks.proves},
        open=[name for name in known if name not in marks.proves],
        unknown=[name for name in marks.proves if name not in known and name.startswith(prefix)],
        defects=marks.defects,
    )


def read_requirements(place: Path) -> dict[str, Requirement]:
    """All requirements of a file, or of the files in a folder, by id and in order."""
    found: dict[str, Requirement] = {}
    for path in sorted(place.glob("*.toml")) if place.is_dir() else [place]:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        spec = data["spec"]
        for entry in data["requirement"]:
            if entry["id"] in found:
                raise ValueError(f"{path.name}: {entry['id']} occurs twice")
            found[entry["id"]] = Requirement(entry["id"], spec["number"], spec["pack"], entry["must"])
    return found


def read_marks(folder: Path) -> Marks:
    """The marks of all test files below a folder."""
    marks = Marks()
    for path in sorted(folder.rglob("*.py")):
        note_marks(marks, path.relative_to(folder.parent).as_posix(), path.read_text(encoding="utf-8"))
    return marks


def note_marks(marks: Marks, file: str, text: str) -> None:
    """Add the marks of one test file."""
    _Reader(file, marks).visit(ast.parse(text, file))


class _Reader(ast.NodeVisitor):
    """Collects each mark under the name of its test, class or file."""

    def __init__(self, file: str, marks: Marks) -> None:
        self.marks = marks
        self.around = [file]
        self.idle = ""  # why marks do not count here

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._definition(node)
        else:
            super().visit(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        before, idle = self.idle, ""
        if not isinstance(node, ast.ClassDef) and not node.name.startswith("test"):
            idle = "is not a test"
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
            self._defect(node, f"{mark} needs literals of type {MARKS[mark].__name__}, because tests are not run")
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
