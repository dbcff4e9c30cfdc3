"""Calls a function of Python with an event: `python entry.py module:function`, the event as JSON on standard input.

A program of its own: it is started by its path, imports nothing of moot, and whatever the function raises ends it, told
in one line: `ValueError: kaput (hook.py:3)`.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

RAISED = 70  # the exit code that says so


def main() -> None:
    module, _, name = sys.argv[1].partition(":")
    root = sys.path[0] = os.getcwd()  # instead of the folder of this file
    try:
        function = import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
        function(json.load(sys.stdin))  # type: ignore[operator]  # what it is, its owner knows
    except Exception as error:  # the outermost edge of this program
        sys.stdout.flush()
        sys.stderr.write(f"{said(error, root)}\n")
        sys.exit(RAISED)


def said(error: Exception, root: str) -> str:
    """What was raised and where: the last line of the project itself, or of what it called if there is none."""
    found: list[tuple[str, int]] = []
    text, trace = str(error), error.__traceback__
    while trace is not None:
        found.insert(0, (trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename:  # it names its place by itself, in other words
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
