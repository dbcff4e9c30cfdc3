"""The account of the caller. Its name comes from the system, not from the environment, which anybody can set."""

from __future__ import annotations

import os

_LONGEST = 64


def login() -> str:
    """The name of the effective user, reduced to characters that a principal may contain."""
    import pwd

    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid-{uid}"
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name[:_LONGEST]) or f"uid-{uid}"


def exists(name: str) -> bool:
    """Whether this machine has an account with this name."""
    import pwd

    try:
        pwd.getpwnam(name)
    except (KeyError, ValueError):
        return False
    return True
