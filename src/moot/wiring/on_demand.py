"""Creates a workspace for a verb that can be the first one in a repository (`Verb.creates`).

A source outside any repository belongs to one private workspace per account, below `$XDG_STATE_HOME/moot`.
"""

from __future__ import annotations

import os

from moot import location
from moot.core.errors import Unavailable
from moot.location import user_state
from moot.private_files import make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moot.core.identity import Caller

_PRIVATE = "private"


def private_folder(env: Mapping[str, str]) -> str:
    """The folder of the private workspace of this account."""
    return os.path.join(user_state.home(env), _PRIVATE)


def workspace_of(
    paths: Sequence[str], cwd: str, env: Mapping[str, str], caller: Caller, *, pack: str, named: bool
) -> str | None:
    """The directory whose workspace is to be opened instead of that of the paths; None: that one exists.

    A repository without a workspace gets one with the pack. Outside any repository it is the private one.
    """
    if env.get(location.VARIABLE) and not named:
        return None
    start = os.path.dirname(os.path.abspath(os.path.join(cwd, paths[0]))) if paths else cwd
    while not os.path.isdir(start):
        start = os.path.dirname(start)
    root = _repository(start)
    if root is None and _is_workspace(start, env):
        return None
    if root is not None and _is_workspace(root, env):
        return None
    from moot.wiring.admin import Admin

    folder = root
    if folder is None:
        folder = private_folder(env)
        make_folder(folder)
        user_state.check_way(folder)
    quiet = {name: value for name, value in env.items() if name != location.VARIABLE}
    Admin(folder, quiet, caller, via="cli", named=True).create((pack,))
    return folder


def _repository(start: str) -> str | None:
    while True:
        if os.path.lexists(os.path.join(start, ".git")):
            return start
        above = os.path.dirname(start)
        if above == start:
            return None
        start = above


def _is_workspace(folder: str, env: Mapping[str, str]) -> bool:
    """Whether the folder is in a workspace that has a log."""
    from moot.logs.sqlite.file import NAME

    quiet = {name: value for name, value in env.items() if name != location.VARIABLE}
    try:
        place = location.find(folder, quiet, named=True)
    except Unavailable as error:
        if error.code == "no_workspace":
            return False
        raise
    return os.path.exists(os.path.join(place.state, NAME))
