"""The text of the hooks, and how to recognise it in a file.

The second line has a digest of the other lines. So a hook that moot made is recognised whatever version made it, and
one that somebody edited is not taken for it.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256  # noqa: TID253 (loaded on demand)
from shlex import quote

HOOKS = ("pre-commit", "pre-push")
_MARK = b"# moot guard 1 "
_CALL = "moot -C . guard check"
_ARGUMENTS = {"pre-commit": "pre-commit", "pre-push": 'pre-push --refs - -- "$@"'}


def hook_script(hook: str) -> bytes:
    """The hook for this machine: it runs moot with the interpreter that runs this."""
    with open(os.path.join(os.path.dirname(__file__), "hook.sh"), encoding="utf-8") as file:
        text = file.read()
    text = text.replace("@HOOK@", hook).replace("@PYTHON@", quote(os.path.abspath(sys.executable or "moot")))
    whole = text.encode("utf-8", "surrogateescape")
    return whole.replace(b"@DIGEST@", _digest(whole), 1)


def is_made(content: bytes) -> bool:
    """Whether `moot guard install` made it, even if it was edited since."""
    return _second_line(content).startswith(_MARK)


def is_unchanged(content: bytes) -> bool:
    """Whether it is exactly what `moot guard install` made."""
    return is_made(content) and _second_line(content) == _MARK + _digest(content)


def calls_guard(content: bytes, hook: str) -> bool:
    """Whether a hook of somebody else has the line that runs the guard."""
    return f"guard check {hook}".encode() in content


def line_for(hook: str) -> str:
    """The line that runs the guard in a hook of somebody else. Without moot, it does nothing."""
    return f"! command -v moot >/dev/null || {_CALL} {_ARGUMENTS[hook]} || [ $? -ne 3 ] || exit 1"


def _second_line(content: bytes) -> bytes:
    return b"".join(content.split(b"\n", 2)[1:2])


def _digest(content: bytes) -> bytes:
    lines = content.split(b"\n")
    return sha256(b"\n".join(lines[:1] + lines[2:])).hexdigest().encode()
