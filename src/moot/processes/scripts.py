"""Why a script that exists cannot be started: the system then says only that a file does not exist."""

from __future__ import annotations

import os

_LONGEST = 256  # bytes of a first line that Linux reads


def missing_interpreter(program: str, cwd: str) -> str | None:
    """The interpreter in the first line of a script, if it does not exist; None otherwise."""
    try:
        with open(os.path.join(cwd, program), "rb") as file:
            first = file.read(_LONGEST).split(b"\n")[0]
    except (OSError, ValueError):
        return None
    words = first.removeprefix(b"#!").split(None, 1)
    if not first.startswith(b"#!") or not words or os.path.exists(os.path.join(os.fsencode(cwd), words[0])):
        return None
    return words[0].decode("utf-8", "replace")
