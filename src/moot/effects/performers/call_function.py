"""Calls a Python function with an event, read as JSON from standard input:

    python -P call_function.py module:function FILE COPY   a file of the workspace; the bytes of the copy are run
    python -P call_function.py module:function FILE        an installed module, whose file this must be

A separate program: it is started by its path and does not import moot. If the function raises, it prints one line and
exits: `ValueError: kaput (hook.py:3)`.

It imports nothing from the workspace: no compiled file next to the source, no enclosing package, no module that shadows
the standard library. Imports come only from the interpreter and its installed packages.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

RAISED = 70  # the exit code if the function raised


def main() -> None:
    (module, _, name), file, *copy = sys.argv[1].partition(":"), *sys.argv[2:]
    root = os.getcwd()
    sys.path[:] = _installed(root)
    sys.meta_path[:] = [BuiltinImporter, FrozenImporter, PathFinder]  # no hook that leads back into the workspace
    try:
        function = _from_copy(module, file, copy[0]) if copy else _from_installed(module, file, root)
        for part in name.split("."):
            function = getattr(function, part)
        function(json.load(sys.stdin))  # type: ignore[operator]  # the user's function
    except Exception as error:  # the outermost edge of this program
        sys.stdout.flush()
        sys.stderr.write(f"{said(error, root)}\n")
        sys.exit(RAISED)


def _from_copy(module: str, file: str, copy: str) -> object:
    with open(copy, "rb") as stream:
        source = stream.read()
    made = type(sys)(module)
    made.__file__ = file
    if module not in sys.modules and module.partition(".")[0] not in sys.stdlib_module_names:
        sys.modules[module] = made
    exec(compile(source, file, "exec", dont_inherit=True), made.__dict__)  # noqa: S102 (a person allowed it)
    return made


def _from_installed(module: str, file: str, root: str) -> object:
    if located(module, root) != file:
        raise ImportError(f"the module {module} is not the one that was allowed ({file})")
    return import_module(module)


def located(module: str, root: str) -> str | None:
    """The file of an installed module, found without importing anything."""
    path, origin = _installed(root), None
    parts = module.split(".")
    for number in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: number + 1]), path)
        if spec is None:
            return None
        origin, path = spec.origin, list(spec.submodule_search_locations or ())
    return None if origin is None or not os.path.isfile(origin) else os.path.realpath(origin)


def _installed(root: str) -> list[str]:
    """The directories that modules are imported from, without those in the workspace.

    A virtual environment inside the workspace is kept if moot itself runs in it.
    """
    root, own = os.path.realpath(root) + os.sep, os.path.realpath(sys.prefix) + os.sep
    places = [(entry, os.path.realpath(entry) + os.sep) for entry in sys.path if os.path.isabs(entry)]
    return [entry for entry, real in places if not real.startswith(root) or (real.startswith(own) and own != root)]


def said(error: Exception, root: str) -> str:
    """The error and its location: the last line in the project, or else in the code that it called."""
    found: list[tuple[str, int]] = []
    text, trace = str(error), error.__traceback__
    while trace is not None:
        found.insert(0, (trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename:  # it carries its own location
        found, text = [(error.filename, error.lineno or 0)], error.msg
    text = f"{type(error).__name__}: {' '.join(text.split())}".removesuffix(": ")
    between = (__file__, import_module.__code__.co_filename)
    places = [(path, line) for path, line in found if path not in between and not path.startswith("<")]
    mine = [
        (os.path.relpath(path, root), line)
        for path, line in places
        if path.startswith(root + os.sep) and "site-packages" not in path  # of an environment inside the project
    ]
    path, line = (mine or [(os.path.basename(path), line) for path, line in places] or [("", 0)])[0]
    return f"{text} ({path}:{line})" if path else text


if __name__ == "__main__":
    main()
