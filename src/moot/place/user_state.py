"""State of this account outside every repository, in `$XDG_STATE_HOME/moot` (`~/.local/state/moot`).

    allowed/<workspace>      what a person has allowed there (`moot.runs.consent`)

A workspace is identified by the id of its log and its path, so that a copy inherits nothing. A file is used only if no
other account could have written it: every directory on its path is checked.
"""

from __future__ import annotations

import os
from stat import S_ISVTX, S_IWOTH

from moot.core.text import shell_word
from moot.place.private_files import make_folder, read_private, unsafe, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_ROOT = 0
_NAME, _DEFAULT = "moot", (".local", "state")
PRIVATE = "private"  # in that directory: the workspace for files outside any repository


def home(env: Mapping[str, str]) -> str:
    """The real path of the directory. It need not exist."""
    return os.path.join(os.path.realpath(_above(env)), _NAME)


def path_of(env: Mapping[str, str], *names: str) -> str:
    """The path of a file in the directory, as it is named. It need not exist."""
    return os.path.join(_above(env), _NAME, *names)


def _above(env: Mapping[str, str]) -> str:
    named = env.get("XDG_STATE_HOME") or ""
    return named if os.path.isabs(named) else os.path.join(env.get("HOME") or os.path.expanduser("~"), *_DEFAULT)


def workspace_name(workspace: str, state: str) -> str:
    """The name of the files about one workspace. `workspace` is the id of its log."""
    return _sha256(f"{workspace}\n{os.path.realpath(state)}".encode())[:32]


def read(env: Mapping[str, str], *names: str) -> bytes | None:
    """The content of a file in the directory; None if it does not exist."""
    path = os.path.join(home(env), *names)
    if not os.path.lexists(path):
        return None
    check_way(os.path.dirname(path))
    try:
        return read_private(path)
    except FileNotFoundError:
        return None


def write(env: Mapping[str, str], *names: str, content: bytes, sync: bool = True) -> None:
    """Write a file in the directory. Creates the directory for this account only."""
    path = os.path.join(home(env), *names)
    make_folder(os.path.dirname(path))
    check_way(os.path.dirname(path))
    write_private(path, content, sync=sync)


def check_way(directory: str) -> None:
    """Refuse a directory that another account could replace or write to."""
    trusted = (os.geteuid(), _ROOT)
    here = os.path.realpath(directory)
    while True:
        found = os.stat(here)
        if found.st_uid not in trusted:
            raise unsafe(here, f"it belongs to another account (uid {found.st_uid})")
        if found.st_mode & S_IWOTH and not found.st_mode & S_ISVTX:
            raise unsafe(here, "every account on this machine can write to it", f"chmod o-w {shell_word(here, 'DIR')}")
        above = os.path.dirname(here)
        if above == here:
            return
        here = above


def _sha256(data: bytes) -> str:
    """The digest in hexadecimal, without hashlib: it loads OpenSSL, which takes longer than the rest of a command."""
    for name in ("_sha2", "_sha256"):  # since Python 3.12, and before
        try:
            return str(__import__(name).sha256(data).hexdigest())
        except (ImportError, AttributeError):
            continue
    import hashlib

    return hashlib.sha256(data).hexdigest()
