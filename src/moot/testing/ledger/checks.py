"""Whether a test checks anything. A test that cannot fail proves nothing, however often it passes.

A test checks something if one of these can be reached in its body: an `assert` that is not always true, a `raise`,
`pytest.fail`, `pytest.raises` or `pytest.warns` around a call, or a call that names a helper that checks something.
Helpers are functions and classes of the tests' own files and of `moot.testing`.

It reads the source. So it cannot see whether a check is about the requirement, whether a loop runs at all, whether a
condition is ever true, or whether a decorator replaces the function. It does not see the checks of a fixture, nor those
of a method of an object: such a test needs an `assert` of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path  # noqa: TID253 (only tests load this package)

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
CATCHING = {"Exception", "BaseException", "AssertionError"}
LEAVING = {"skip", "xfail", "exit"}
KIT = Path(__file__).resolve().parents[3]  # the folder that has the package `moot`


class _Source:
    """What one file defines and imports."""

    def __init__(self, tree: ast.Module) -> None:
        self.definitions = dict(_definitions(tree))
        self.imports: dict[str, list[str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    places = [f"{file}::{alias.name}" for file in _module_files(node.module)]
                    self.imports.setdefault(alias.asname or alias.name, []).extend(places)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname:
                        self.imports.setdefault(alias.asname, []).extend(_module_files(alias.name))


class Checks:
    """Reads the definitions below a root, each file once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._source = cache(self._read)
        self._known: dict[str, bool] = {}

    def found_in(self, place: str) -> bool:
        """Whether the function or class at `file.py::Class::function` checks anything."""
        if place not in self._known:
            self._known[place] = False  # a helper that calls itself
            self._known[place] = self._look(place)
        return self._known[place]

    def _read(self, file: str) -> _Source:
        for path in (self.root / file, KIT / file):
            if path.is_file():
                return _Source(ast.parse(path.read_text(encoding="utf-8"), file))
        return _Source(ast.Module([], []))

    def _look(self, place: str) -> bool:
        file, _, name = place.partition("::")
        node = self._source(file).definitions.get(name)
        if isinstance(node, ast.ClassDef):
            return any(self.found_in(f"{place}::{child}") for child, _ in _definitions(node))
        return isinstance(node, Function) and self._checks(node, file, name.split("::")[:-1], {})

    def _checks(self, function: Function, file: str, around: list[str], outer: dict[str, Function]) -> bool:
        own = {child.name: child for part in function.body for child in ast.walk(part) if isinstance(child, Function)}
        inner = {name: child for name, child in {**outer, **own}.items() if child is not function}
        for node in _reached(function.body):
            if isinstance(node, ast.Raise) or (isinstance(node, ast.Assert) and not always_true(node.test)):
                return True
            if isinstance(node, ast.With | ast.AsyncWith) and _expects_an_error(node):
                return True
            if isinstance(node, ast.Call) and (_is_a_check(node) or self._helps(node, file, around, inner)):
                return True
        return False

    def _helps(self, call: ast.Call, file: str, around: list[str], inner: dict[str, Function]) -> bool:
        """Whether the call names a helper that checks: as the function called, or as an argument."""
        for node in (call.func, *call.args, *(word.value for word in call.keywords)):
            if isinstance(node, ast.Name) and node.id in inner:
                if self._checks(inner[node.id], file, around, inner):
                    return True
            elif any(self.found_in(place) for place in self._places(node, file, around)):
                return True
        return False

    def _places(self, node: ast.expr, file: str, around: list[str]) -> Iterator[str]:
        """Where a name may be defined: in this file, in this class, or where it is imported from."""
        if isinstance(node, ast.Name):
            yield f"{file}::{node.id}"
            yield from self._source(file).imports.get(node.id, [])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in {"self", "cls"}:
                yield "::".join([file, *around, node.attr])
            for place in self._source(file).imports.get(node.value.id, []):
                module, _, name = place.partition("::")
                yield f"{module[:-3]}/{name}.py::{node.attr}" if name else f"{place}::{node.attr}"


def always_true(node: ast.expr) -> bool:
    """Whether an expression is true whatever the code under test does, as far as its form shows."""
    match node:
        case ast.Constant():
            return bool(node.value)
        case ast.Tuple() | ast.List() | ast.Set():
            return bool(node.elts)
        case ast.Dict():
            return bool(node.keys)
        case ast.JoinedStr() | ast.Lambda():
            return True
        case ast.NamedExpr():
            return always_true(node.value)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
        case ast.BoolOp(op=ast.Or()):
            return any(map(always_true, node.values))
        case ast.BoolOp():
            return all(map(always_true, node.values))
        case ast.Compare():
            sides = [node.left, *node.comparators]
            return all(isinstance(side, ast.Constant) for side in sides) or len(set(map(ast.dump, sides))) == 1
    return False


def _reached(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a body that can run and whose failure is seen. Inner functions count where they are named."""
    for statement in body:
        yield from _nodes(statement)
        if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break) or _leaves(statement):
            return


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, Definition):
        return
    yield node
    if isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Constant):
        yield from _reached(node.body if node.test.value else node.orelse)
    elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple | ast.List) and not node.iter.elts:
        yield from _reached(node.orelse)
    elif isinstance(node, ast.Try) and any(map(_swallows, node.handlers)):
        yield from _reached(node.orelse + node.finalbody)
    elif isinstance(node, ast.With) and (any(map(_suppresses, node.items)) or any(map(_raises, node.items))):
        return
    else:
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield from _reached(value)
            else:
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from _nodes(child)


def _definitions(node: ast.AST, around: str = "") -> Iterator[tuple[str, Definition]]:
    """The functions and classes of a file or class with their names (`Class::function`), also below `if` and `with`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield around + child.name, child
            if isinstance(child, ast.ClassDef):
                yield from _definitions(child, f"{around}{child.name}::")
        elif isinstance(child, ast.stmt):
            yield from _definitions(child, around)


def _module_files(module: str) -> Iterator[str]:
    path = module.replace(".", "/")
    if module.partition(".")[0] != "moot" or module.startswith("moot.testing"):
        yield f"{path}.py"
        yield f"{path}/__init__.py"


def _of_pytest(node: ast.AST) -> str:
    """`raises` for a call of `pytest.raises` or `raises`; empty for other calls."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Name):
        return node.func.id
    holder = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(node.func, ast.Attribute) and isinstance(holder, ast.Name) and holder.id == "pytest":
        return node.func.attr
    return ""


def _is_a_check(call: ast.Call) -> bool:
    """`pytest.fail(…)`, or `pytest.raises(Error, function)`."""
    name = _of_pytest(call)
    return name == "fail" or (name in {"raises", "warns"} and len(call.args) > 1)


def _raises(item: ast.withitem) -> bool:
    return _of_pytest(item.context_expr) in {"raises", "warns", "deprecated_call", "RaisesGroup"}


def _expects_an_error(node: ast.With | ast.AsyncWith) -> bool:
    """`with pytest.raises(…)` around a call. An error that the body itself raises is no check."""
    inside = [child for part in node.body if not isinstance(part, ast.Raise) for child in ast.walk(part)]
    work = (ast.Call, ast.Attribute, ast.Subscript, ast.BinOp, ast.For, ast.With, ast.Import, ast.ImportFrom, ast.Await)
    return any(map(_raises, node.items)) and any(isinstance(child, work) for child in inside)


def _leaves(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and _of_pytest(node.value) in LEAVING


def _names(node: ast.AST | None) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)} if node is not None else set()


def _swallows(handler: ast.ExceptHandler) -> bool:
    caught = handler.type is None or _names(handler.type) & CATCHING
    raises = any(isinstance(node, ast.Raise) or _of_pytest(node) == "fail" for node in ast.walk(handler))
    return bool(caught) and not raises


def _suppresses(item: ast.withitem) -> bool:
    call = item.context_expr
    name = call.func if isinstance(call, ast.Call) else None
    called = name.attr if isinstance(name, ast.Attribute) else name.id if isinstance(name, ast.Name) else ""
    return called == "suppress" and bool(_names(call) & CATCHING)
