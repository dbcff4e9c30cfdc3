"""The environment of handlers and agents: what programs need, what moot sets, and what moot.toml lists for the command.

They do not get anything else from the environment of moot: no tokens, no keys, and not the identity of the caller. A
handler that writes to the log must set its own identity. An agent gets one from the program that drives it.
"""

from __future__ import annotations

import os
from stat import S_ISDIR

from moot.place.private_files import outside

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
SECRET = "MOOT_"  # noqa: S105 (the prefix of variables that are never passed on and cannot be listed)


def allowed(handler: Handler, env: Mapping[str, str], *roots: str) -> dict[str, str]:
    """The environment for this handler, made from `env`."""
    named = {*BASE, *handler.env}
    names = [name for name in env if name in named or name.startswith("LC_")]
    given = {name: env[name] for name in names if not name.startswith(SECRET)}
    own = {"MOOT_RUN" if handler.stage else "MOOT_HANDLER": handler.name}  # either says: no person
    return {**given, "PATH": os.pathsep.join(search_path(env, *roots)), **own}


def search_path(env: Mapping[str, str], *roots: str) -> list[str]:
    """The directories in PATH, without those inside `roots`, which the repository controls."""
    entries = [one for one in (env.get("PATH") or os.defpath).split(os.pathsep) if os.path.isabs(one)]
    return [entry for entry in entries if outside(real_path(entry), *roots)]


_reals: dict[str, tuple[tuple[int, ...], str]] = {}  # path → what it named, and the real path of that
_MOST = 1000


def real_path(path: str) -> str:
    """The real path of a directory or file. It is computed again when the path names another one."""
    try:
        now = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    mark = (now.st_dev, now.st_ino) if S_ISDIR(now.st_mode) else (now.st_dev, now.st_ino, now.st_ctime_ns)
    known = _reals.get(path)
    if known is None or known[0] != mark:
        if len(_reals) > _MOST:
            _reals.clear()
        known = _reals[path] = mark, os.path.realpath(path)
    return known[1]
