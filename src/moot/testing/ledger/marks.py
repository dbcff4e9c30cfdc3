"""Finds the marks `@pytest.mark.proves("S0-TA-01", …)` in the source of tests.

Marks count for the items that pytest collects. The source is read as well, to find the marks that no item carries: on a
helper, on a class without tests, in a file that is not collected.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field  # noqa: TID253 (only tests load this package)
from pathlib import Path  # noqa: TID253
from typing import Any, NamedTuple  # noqa: TID253

TYPES: dict[str, type] = {"proves": str, "promise": int}


class Mark(NamedTuple):
    """One id of one mark, and where it is written: a file, a class or a function."""

    id: str
    place: str
    line: int


@dataclass
class Marks:
    """All marks below a folder, and those that are not valid."""

    written: list[Mark] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)


def id_of(mark: str, value: Any) -> str:
    """The id that a mark's argument stands for; empty if it is not valid."""
    if type(value) is not TYPES[mark]:
        return ""
    return f"promise {value}" if mark == "promise" else str(value)


def read_marks(folder: Path, root: Path) -> Marks:
    """The marks of all Python files below a folder. Places are relative to the root."""
    marks = Marks()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(name in text for name in TYPES):
            note_marks(marks, path.relative_to(root).as_posix(), text)
    return marks


def note_marks(marks: Marks, file: str, text: str) -> None:
    """Add the marks of one file."""
    _Reader(file, marks).visit(ast.parse(text, file))


class _Reader(ast.NodeVisitor):
    """Notes each mark under the name of its function, class or file."""

    def __init__(self, file: str, marks: Marks) -> None:
        self.marks = marks
        self.around = [file]

    def visit(self, node: ast.AST) -> None:
        inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.around.append(node.name)
        if isinstance(node, ast.Call):
            self._note(node)
        self.generic_visit(node)
        if inside:
            self.around.pop()

    def _note(self, node: ast.Call) -> None:
        mark, place = _mark_of(node), "::".join(self.around)
        if mark not in TYPES:
            return
        ids = [id_of(mark, item.value if isinstance(item, ast.Constant) else None) for item in node.args]
        if not ids or node.keywords or not all(ids):
            kind = TYPES[mark].__name__
            self.marks.defects.append(f"{place} (line {node.lineno}): {mark} needs literals of type {kind}")
        self.marks.written += [Mark(name, place, node.lineno) for name in ids if name]


def _mark_of(node: ast.Call) -> str:
    """`proves` for `pytest.mark.proves(…)` and `mark.proves(…)`; empty for anything else."""
    if not isinstance(node.func, ast.Attribute):
        return ""
    holder = node.func.value
    name = holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
    return node.func.attr if name == "mark" else ""
