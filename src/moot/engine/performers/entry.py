"""Calls a function of Python with an event: `python entry.py module:function`, the event as JSON on standard input.

A program of its own: it is started by its path, imports nothing of moot, and whatever the function raises ends it.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module


def main() -> None:
    module, _, name = sys.argv[1].partition(":")
    sys.path[0] = os.getcwd()  # instead of the folder of this file
    function = import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    function(json.load(sys.stdin))  # type: ignore[operator]  # what it is, its owner knows


if __name__ == "__main__":
    main()
