"""Finds the workspace of a file, and creates it if there is none: for verbs of packs that work in any project.

The file decides, never the directory of the caller:

- In a repository, it is the workspace of that repository. If it has none, it is created, with the pack.
- Outside any repository, it is the private workspace of this account, below `$XDG_STATE_HOME/moot`. Its log and views
  are readable only for this account, and it has no files of its own.
"""

from __future__ import annotations

import os

from moot import location as places
from moot import settings as setting
from moot.core.errors import Unavailable
from moot.location import user_state
from moot.logs.sqlite.file import NAME
from moot.private_files import make_folder
from moot.wiring.admin import Admin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.core.identity import Caller

PRIVATE = "private"


def workspace_directory(
    path: str, cwd: str, env: Mapping[str, str], pack: str, caller: Caller | None = None, via: str = "python"
) -> str:
    """A directory in the workspace of the file `path`, which need not exist. `MOOT_WORKSPACE` overrides it."""
    if env.get(places.VARIABLE):
        return cwd
    source = os.path.dirname(os.path.normpath(os.path.join(os.path.realpath(cwd), path)))
    try:
        place = places.find(source, env)
    except Unavailable as error:
        if error.code != "no_workspace":
            raise
        return private_workspace(env, pack, caller, via)
    if not os.path.lexists(os.path.join(place.state, NAME)):
        Admin(place.root, env, caller, via, named=True).create((pack,))
    return place.root


def private_workspace(env: Mapping[str, str], pack: str, caller: Caller | None = None, via: str = "python") -> str:
    """The directory of the private workspace. Creates it, and activates the pack in it."""
    directory = os.path.join(user_state.home(env), PRIVATE)
    make_folder(directory)
    user_state.check_way(directory)
    admin = Admin(directory, env, caller, via, named=True)
    try:
        place = admin.place
        ready = os.path.lexists(os.path.join(place.state, NAME)) and pack in setting.load(place).packs
    except Unavailable as error:
        if error.code != "no_workspace":
            raise
        ready = False
    if not ready:
        admin.create((pack,))
    return directory
