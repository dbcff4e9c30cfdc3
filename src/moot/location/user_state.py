"""What moot keeps for this account outside of every repository, in `$XDG_STATE_HOME/moot` (`~/.local/state/moot`).

    allowed/<workspace>      what a person has allowed to run there (`moot.effects.consent`)
    known/<workspace>        the last commit that was seen there, so that `verify` notices a log that was rewritten
    trusted                  directories of other accounts that a person trusts, one per line

A workspace is named by the id of its log and its place, so that a copy from elsewhere inherits nothing.
Nothing here is trusted if another account could have written it: every directory on the way is checked.
"""

from __future__ import annotations

import os
from stat import S_ISVTX, S_IWOTH

from moot.core.text import shell_word
from moot.private_files import make_folder, owners, read_private, unsafe, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_ROOT = 0


def home(env: Mapping[str, str]) -> str:
    """The directory. It need not exist."""
    named = env.get("XDG_STATE_HOME") or ""
    if not os.path.isabs(named):
        named = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.join(os.path.realpath(named), "moot")


def workspace_name(workspace: str, state: str) -> str:
    """What the files about one workspace are called. `workspace` is the id of its log."""
    from hashlib import sha256

    return sha256(f"{workspace}\n{os.path.realpath(state)}".encode()).hexdigest()[:32]


def read(env: Mapping[str, str], *names: str) -> bytes | None:
    """The content of a file in the directory; None if there is none."""
    path = os.path.join(home(env), *names)
    if not os.path.lexists(path):
        return None
    check_way(os.path.dirname(path))
    try:
        return read_private(path)
    except FileNotFoundError:
        return None


def write(env: Mapping[str, str], *names: str, content: bytes, sync: bool = True) -> None:
    """Put a file into the directory, which is made for this account alone."""
    path = os.path.join(home(env), *names)
    make_folder(os.path.dirname(path))
    check_way(os.path.dirname(path))
    write_private(path, content, sync=sync)


def check_way(directory: str) -> None:
    """Refuse a directory if another account could put something else in its place, or into it."""
    trusted = (*owners(), _ROOT)
    here = os.path.realpath(directory)
    while True:
        found = os.stat(here)
        if found.st_uid not in trusted:
            raise unsafe(here, f"it belongs to another account (uid {found.st_uid})")
        if found.st_mode & S_IWOTH and not found.st_mode & S_ISVTX:
            raise unsafe(here, "every account on this machine may write to it", f"chmod o-w {shell_word(here, 'DIR')}")
        above = os.path.dirname(here)
        if above == here:
            return
        here = above
