"""Finds the workspace of a file, and creates it if there is none: for verbs of packs that work in any project.

The file decides, never the directory of the caller:

- In a repository, it is the workspace of that repository. If it has none, it is created, with the pack.
- Outside any repository, it is the private workspace of this account, below `$XDG_STATE_HOME/moot`, unless the verb
  needs a repository. Its log and views are readable only for this account, and it has no files of its own.
"""

from __future__ import annotations

import os

from moot import place as places
from moot.core.errors import Unavailable
from moot.logs.sqlite.file import NAME
from moot.place import settings as setting
from moot.place import user_state
from moot.place.private_files import make_folder, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.core.identity import Caller


def workspace_directory(
    path: str,
    cwd: str,
    env: Mapping[str, str],
    pack: str,
    caller: Caller | None = None,
    via: str = "python",
    *,
    loose: bool = True,
) -> str:
    """A directory in the workspace of the file `path`, which need not exist. `MOOT_WORKSPACE` overrides it.

    `loose`: whether the file may be outside any repository.
    """
    if env.get(places.VARIABLE):
        return cwd
    source = os.path.dirname(os.path.normpath(os.path.join(os.path.realpath(cwd), path)))
    try:
        place = places.find(source, env)
    except Unavailable as error:
        if error.code != "no_workspace" or not loose:
            raise
        return private_workspace(env, pack, caller, via)
    if not os.path.lexists(os.path.join(place.state, NAME)):
        from moot.wiring.admin import Admin

        Admin(place.root, env, caller, via, named=True).create((pack,))
    return place.root


def private_workspace(env: Mapping[str, str], pack: str, caller: Caller | None = None, via: str = "python") -> str:
    """The directory of the private workspace. Creates it, and activates the pack in it."""
    directory = os.path.join(user_state.home(env), user_state.PRIVATE)
    from moot.wiring.admin import Admin

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
        _add_to_own_settings(directory, env, pack)
        admin.create((pack,))
    return directory


def _add_to_own_settings(directory: str, env: Mapping[str, str], pack: str) -> None:
    """Activate another pack in settings that moot wrote. A file that somebody has edited stays as it is."""
    try:
        place = places.find(directory, env, named=True)
        with open(os.path.join(directory, setting.FILE), encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError, Unavailable):
        return  # there is nothing yet, or nothing that moot wrote
    from moot.wiring.admin import settings_text

    packs = setting.load(place).packs
    if packs and pack not in packs and text == settings_text(packs, place):
        write_private(os.path.join(directory, setting.FILE), settings_text((*packs, pack), place).encode())
