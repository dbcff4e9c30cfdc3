"""The environment that handlers get: what programs need to run here, what moot says, and what the handler lists.

Everything else of the runner's environment stays with the runner: tokens and keys, and who it acts as. A handler that
writes to the log says itself who it is.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.core.handler import Handler

BASE = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LANGUAGE", "LC_*",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
    "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
    "TRACEPARENT", "TRACESTATE",
)  # fmt: skip
SECRET = "MOOT_"  # noqa: S105 (how names begin that are never passed on, nor may be listed)


def allowed(handler: Handler, env: Mapping[str, str], *roots: str) -> dict[str, str]:
    """What is left of `env` for this handler."""
    named = {*BASE, *handler.env}
    given = {name: value for name, value in env.items() if name in named or name.startswith("LC_")}
    given = {name: value for name, value in given.items() if not name.startswith(SECRET)}
    return {**given, "PATH": os.pathsep.join(search_path(env, *roots)), "MOOT_HANDLER": handler.name}


def search_path(env: Mapping[str, str], *roots: str) -> list[str]:
    """The directories of PATH, without those that a repository could fill."""
    entries = (env.get("PATH") or os.defpath).split(os.pathsep)
    return [entry for entry in entries if os.path.isabs(entry) and outside(os.path.realpath(entry), *roots)]


def outside(path: str, *roots: str) -> bool:
    """Whether a path, absolute and without links, is in none of the directories `roots`."""
    return not any(path == root or path.startswith(root if root.endswith(os.sep) else root + os.sep) for root in roots)
