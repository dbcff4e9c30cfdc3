"""The account that calls, by its name. Not as the environment has it: that is anybody's to say."""

from __future__ import annotations

import os

_LONGEST = 64


def login() -> str:
    """The name of the effective user, as far as it can be part of a principal."""
    import pwd

    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid-{uid}"
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name[:_LONGEST]) or f"uid-{uid}"


def exists(name: str) -> bool:
    """Whether the machine has an account of this name."""
    import pwd

    try:
        pwd.getpwnam(name)
    except (KeyError, ValueError):
        return False
    return True
