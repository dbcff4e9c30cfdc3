"""The shape of the product, kept by machine: what import-linter and ruff cannot see.

Layers and neighbours are contracts in pyproject.toml (`make check`). Here: sizes, broad excepts, purity, the public
face, and where SQL and output may stand.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

import moot

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "moot"
LINES_PER_FILE = 600
LINES_PER_FUNCTION = 60

# `file::function` and why it must catch everything. A handler that cleans up and raises again needs no entry.
BROAD_EXCEPTS: dict[str, str] = {
    "moot/surfaces/cli/main.py::main": "the outermost edge: whatever happens becomes one sentence and an exit code",
    "moot/runs/effects.py::work": "a thread has no caller: whatever it raises becomes the outcome of the effect",
    "moot/pipelines/waves.py::_worked": "the edge of a thread: what it raised is raised where the targets are awaited",
    "moot/surfaces/python/following.py::_run": "the edge of a thread: what it could not do is raised where one follows",
    "moot/testing/rehearsal.py::_run": "the edge of a thread: what the script raised, the test raises again",
}

# The errors of moot.core.errors that are raised, and the one file with a helper that takes the code from its callers.
ERRORS = {"Refused", "Usage", "Held", "Unknown", "TimedOut", "AwaitedFailed", "Unavailable"}
CODES_GIVEN = {"moot/api/catalogue.py"}

# In the core even these are forbidden, though they need no import.
IMPORTS_BY_NAME = "moot/core/kind.py"  # kinds are imported when they are first needed
IMPURE_BUILTINS = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint"}
CLOCK_READINGS = {"now", "utcnow", "today"}

SQL = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP|ATTACH)\s+\S"
    r"|^\s*(?i:select\b.*\bfrom|insert\s+(or\s+\w+\s+)?into|update\s+\w+\s+set|delete\s+from|alter\s+table"
    r"|(create|drop)\s+(temp\w*\s+)?(unique\s+)?(table|index|view|trigger))\b",
    re.DOTALL,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file of the package."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(PACKAGE.parent).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.name)

    def at(self, node: ast.expr | ast.stmt | ast.excepthandler) -> str:
        return f"{self.name}:{node.lineno}"


SOURCES = [Source(path) for path in sorted(PACKAGE.rglob("*.py"))]
CORE = [source for source in SOURCES if source.name.startswith("moot/core/")]


def none(found: list[str], rule: str) -> None:
    """Fails with the rule and all that break it."""
    if found:
        pytest.fail(f"{rule}\n  " + "\n  ".join(found), pytrace=False)


def test_no_file_is_longer_than_600_lines() -> None:
    found = [f"{s.name}: {n} lines" for s in SOURCES if (n := len(s.text.splitlines())) > LINES_PER_FILE]
    none(found, f"Files over {LINES_PER_FILE} lines; split them by subject:")


def test_no_function_is_longer_than_a_screen() -> None:
    found = [
        f"{source.at(node)} {node.name}: {length} lines"
        for source in SOURCES
        for node in ast.walk(source.tree)
        if isinstance(node, Function) and (length := (node.end_lineno or 0) - node.lineno + 1) > LINES_PER_FUNCTION
    ]
    none(found, f"Functions over {LINES_PER_FUNCTION} lines:")


def test_no_class_name_is_used_twice() -> None:
    """The `Workspace` of the Python API stands in front of the one of `moot.api`; no other two share a name.

    `moot.pipelines`, which only the packs about RSpec use, has the words of `moot.runs`.
    """
    places: dict[str, list[str]] = {}
    for source in SOURCES:
        if source.name.startswith("moot/pipelines/"):
            continue
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name != "Workspace":
                places.setdefault(node.name, []).append(source.name)
    found = [f"{name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]
    none(found, "Class names that are used twice:")


def test_every_module_says_what_it_is_for() -> None:
    found = [source.name for source in SOURCES if not (ast.get_docstring(source.tree) or "").strip()]
    none(found, "Modules without a docstring:")


def test_nothing_catches_everything_but_the_outermost_edge() -> None:
    broad = {place for source in SOURCES for place in _broad_excepts(source)}
    found = sorted(broad - BROAD_EXCEPTS.keys())
    none(found, "Broad excepts that neither raise again nor have a reason in BROAD_EXCEPTS:")
    stale = sorted(BROAD_EXCEPTS.keys() - broad)
    none(stale, "Entries of BROAD_EXCEPTS that are no longer needed:")


def _broad_excepts(source: Source) -> Iterator[str]:
    for around, node in _with_function(source.tree):
        if isinstance(node, ast.ExceptHandler):
            last = node.body[-1]
            raises_again = isinstance(last, ast.Raise) and last.exc is None
            if not raises_again and (node.type is None or _names_everything(node.type)):
                yield f"{source.name}::{around}"
        elif isinstance(node, ast.Call) and _called(node) == "suppress" and any(map(_names_everything, node.args)):
            yield f"{source.name}::{around}"


def _names_everything(node: ast.expr) -> bool:
    members = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(item, ast.Name) and item.id in {"Exception", "BaseException"} for item in members)


def _with_function(node: ast.AST, around: str = "module") -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, Function) else around
        yield inner, child
        yield from _with_function(child, inner)


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _calls(source: Source) -> Iterator[ast.Call]:
    return (node for node in ast.walk(source.tree) if isinstance(node, ast.Call))


def test_every_error_has_its_code_where_it_is_raised() -> None:
    """The reference of codes is made from there."""
    found = []
    for source in SOURCES:
        for call in _calls(source):
            named = call.func.id if isinstance(call.func, ast.Name) else ""
            if named in ERRORS and call.args and source.at(call).rpartition(":")[0] not in CODES_GIVEN:
                first = call.args[0]
                codes = (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,)
                found += [source.at(call) for code in codes if not isinstance(code, ast.Constant)]
    none(found, "Errors whose code stands somewhere else:")


def test_only_surfaces_print() -> None:
    found = [
        source.at(call)
        for source in SOURCES
        for call in _calls(source)
        if isinstance(call.func, ast.Name) and call.func.id == "print" and not source.name.startswith("moot/surfaces/")
    ]
    none(found, "Calls of print outside the surfaces:")


def test_no_command_goes_through_a_shell() -> None:
    found = [
        source.at(call)
        for source in SOURCES
        for call in _calls(source)
        if any(word.arg == "shell" and not _is_false(word.value) for word in call.keywords)
        or ast.unparse(call.func) in {"os.system", "os.popen"}
    ]
    none(found, "Commands that go through a shell:")


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def test_the_core_reads_no_clock_and_touches_no_file() -> None:
    """The modules it may not import are a contract in pyproject.toml; this is what needs no import."""
    found = []
    for source in CORE:
        for call in _calls(source):
            builtin = isinstance(call.func, ast.Name) and call.func.id in IMPURE_BUILTINS
            clock = isinstance(call.func, ast.Attribute) and call.func.attr in CLOCK_READINGS
            lazy = source.name == IMPORTS_BY_NAME and ast.unparse(call.func) == "__import__"
            if (builtin or clock) and not lazy:
                found.append(f"{source.at(call)}: {ast.unparse(call.func)}")
    none(found, "Impure calls in the core:")


def test_nothing_inside_imports_the_package_root() -> None:
    found = []
    for source in SOURCES:
        for node in ast.walk(source.tree):
            whole = isinstance(node, ast.Import) and any(alias.name == "moot" for alias in node.names)
            part = (
                isinstance(node, ast.ImportFrom)
                and node.module == "moot"
                and not all((PACKAGE / alias.name).is_dir() for alias in node.names)
            )
            if isinstance(node, ast.stmt) and (whole or part):
                found.append(source.at(node))
    none(found, "Imports of the package root; import the module that has the name:")


RUBY = "moot.packs.ruby"
# What holds nodes of tree-sitter, besides its own names: fields of the records of packs/ruby.
TREE_WORDS = {"named_children", "child_by_field_name", "start_byte", "end_byte", "start_point", "end_point", "node"}


def test_only_the_package_for_ruby_sees_syntax_trees() -> None:
    """No other module imports tree-sitter, reads a node, or calls a function that takes or returns one."""
    found = []
    for source in SOURCES:
        if source.name.startswith("moot/packs/ruby/"):
            continue
        imports = [node for node in ast.walk(source.tree) if isinstance(node, ast.ImportFrom)]
        ruby = [node for node in imports if (node.module or "").startswith(f"{RUBY}.")]
        found += [source.at(node) for node in imports if (node.module or "").startswith("tree_sitter")]
        found += [
            f"{source.at(node)} {alias.name}" for node in ruby for alias in node.names if _has_node(node, alias.name)
        ]
        found += [
            source.at(node)
            for node in ast.walk(source.tree)
            if ruby and isinstance(node, ast.Attribute) and node.attr in TREE_WORDS
        ]
    none(sorted(found), "Modules that see syntax trees; let packs/ruby return plain values:")


def _has_node(imported: ast.ImportFrom, name: str) -> bool:
    """Whether a function of packs/ruby takes or returns a node."""
    path = PACKAGE.parent / f"{(imported.module or '').replace('.', '/')}.py"
    module = next(source for source in SOURCES if source.path == path)
    functions = [node for node in module.tree.body if isinstance(node, Function) and node.name == name]
    hints = [hint for one in functions for hint in (one.returns, *(given.annotation for given in _given(one)))]
    return any(re.search(r"\bNode\b", ast.unparse(hint)) for hint in hints if hint is not None)


def _given(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def test_sql_stands_in_sql_files() -> None:
    found = [
        f"{source.at(node)}: {text.strip()[:60]!r}"
        for source in SOURCES
        for node, text in _strings(source)
        if SQL.search(text)
    ]
    none(found, "SQL in Python strings; give it a name in a .sql file:")


def _strings(source: Source) -> Iterator[tuple[ast.expr, str]]:
    """All strings but docstrings, an f-string as one with its holes left out."""
    prose = {
        id(node.body[0].value)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Module | ast.ClassDef | Function) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(source.tree):
        if isinstance(node, ast.JoinedStr):
            prose.update(id(part) for part in node.values)
            yield node, "_".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node, node.value


def test_no_notes_to_oneself_are_left() -> None:
    words = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    found = [
        f"{source.name}:{number}"
        for source in SOURCES
        for number, line in enumerate(source.text.splitlines(), 1)
        if words.search(line.replace("// TODO: Add to index.ts export", ""))  # a form that a protocol prints
    ]
    none(found, "Notes to oneself:")


def test_the_public_face_is_what_it_says() -> None:
    errors = ["AwaitedFailed", "Held", "MootError", "Refused", "TimedOut", "Unavailable", "Unknown", "Usage"]
    assert moot.__all__ == [*errors, "Workspace", "__version__"]
    assert all(hasattr(moot, name) for name in moot.__all__)
    assert set(moot.__all__) <= set(dir(moot))
    with pytest.raises(AttributeError, match="nothing_like_this"):
        moot.nothing_like_this  # noqa: B018 (asking is the test)


def test_loading_the_public_face_loads_nothing_else() -> None:
    script = "import json, sys, moot; print(json.dumps([name for name in sys.modules if name.startswith('moot')]))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert json.loads(loaded.stdout) == ["moot"]


@pytest.mark.parametrize(
    ("text", "is_sql"),
    [
        ("SELECT 1", True),
        ("select a from b", True),
        ("insert or ignore into t values (?)", True),
        ("update tasks set state = ?", True),
        ("  create unique index i on t (a)", True),
        ("PRAGMA journal_mode = WAL", False),
        ("BEGIN IMMEDIATE", False),
        ("DELETE", False),
        ("Create a task first.", False),
        ("Updates the set of tasks.", False),
    ],
)
def test_sql_is_told_from_prose(text: str, is_sql: bool) -> None:
    assert bool(SQL.search(text)) is is_sql


def test_what_decides_in_the_api_refuses_by_rules_of_the_core():
    """A function that gets the unit of work decides on states. Why it refuses is said in `moot.core`."""
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: a refusal in {function.name}"
        for path in sorted((PACKAGE / "api").rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef) and "work" in {each.arg for each in function.args.args}
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"Held", "Refused", "Unknown"}
    ]
    assert found == []
