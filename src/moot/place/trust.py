"""Decides whether a workspace may be used: the equivalent of git's `safe.directory`.

The owner of a repository controls its log and its settings. So a workspace is used only if its root, its git directory
and its state directory belong to the caller, or if the caller trusts it explicitly: by `safe.directory` in git's system
or global config (never the repository's own). A state directory that is a symbolic link, or that every account can
write, is never used.
The same rule applies to each file with settings or messages: its author must be the caller, the owner of an accepted
workspace, or root. Files of other accounts are used only if the workspace is trusted explicitly.

The check happens before settings are read, before git runs, and before anything is created.
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK, S_IWOTH

from moot.core.errors import Unavailable
from moot.core.text import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moot.place import Place

_ROOT = 0
_SYSTEM = ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")
_DEEPEST = 5  # files that include one another


def check(place: Place, env: Mapping[str, str]) -> None:
    """Raise unless the workspace may be used."""
    state = _status(place.state)
    if state is not None:
        if not S_ISDIR(state.st_mode):
            raise _unsafe(place.state, "it is a link" if S_ISLNK(state.st_mode) else "it is not a directory")
        if state.st_mode & S_IWOTH:
            raise _unsafe(place.state, "every account on this machine can write to it", "chmod o-w")
    mine = os.geteuid()
    if state is not None and state.st_uid != mine:
        return _insist(place, place.state, state.st_uid, env)
    for path, follow in _decisive(place):
        found = _status(path, follow=follow)
        if found is not None and found.st_uid != mine:
            return _insist(place, path, found.st_uid, env)
    for root in (place.main_root or place.root, place.root):
        found = _status(f"{root}/moot.toml")
        if found is not None:  # only the first file is used
            return None if found.st_uid in (mine, _ROOT) else _insist(place, f"{root}/moot.toml", found.st_uid, env)
    return None


def _decisive(place: Place) -> Iterator[tuple[str, bool]]:
    """The paths whose owners count, and whether to follow a link there."""
    yield place.root, True
    if place.common is not None:
        yield place.common, True
        if place.root != place.common:
            yield f"{place.root}/.git", False


def check_author(place: Place, path: str, uid: int) -> None:
    """Raise unless files of this account may be used in the workspace."""
    if not may_write(place, uid):
        _insist(place, path, uid, os.environ)


def may_write(place: Place, uid: int) -> bool:
    """Whether files of this account may be used in an accepted workspace."""
    if uid in (_ROOT, os.geteuid()):
        return True
    for path in (place.root, place.common or place.root, place.state):
        found = _status(path, follow=True)
        if found is not None and found.st_uid == uid:
            return True
    return _is_trusted(place.root, os.environ)


def remedy(place: Place, env: Mapping[str, str]) -> str:
    """How to trust the workspace explicitly."""
    if os.path.basename(place.root) == "*" or place.root != place.root.strip():  # it would match other folders, too
        return "A folder with this name cannot be trusted. Rename it first."
    if os.geteuid() == _ROOT and env.get("SUDO_UID"):
        return "Run it without sudo."
    command = f"git config --global --add safe.directory {shell_word(place.root, 'DIR')}"
    return f"If you trust that account, run `{command}`."


def is_own(path: str, place: Place) -> bool:
    """Whether a worktree that the repository names belongs to the caller, or to the owner of the repository."""
    found = _status(path, follow=True)
    if found is None:
        return False
    if found.st_uid == os.geteuid():
        return True
    common = _status(place.common or place.root, follow=True)
    return common is not None and common.st_uid == found.st_uid


def _insist(place: Place, path: str, uid: int, env: Mapping[str, str]) -> None:
    if _is_trusted(place.root, env):
        return
    raise Unavailable(
        "unsafe_workspace",
        f"The workspace {place.root} is not trusted: {path} belongs to another account (uid {uid}), "
        "which could change its content.",
        _returned(place, path, uid) or remedy(place, env),
        path=path,
        workspace=place.root,
    )


def _returned(place: Place, path: str, uid: int) -> str | None:
    """The remedy if root created the state directory in a directory of the caller."""
    above = _status(os.path.dirname(place.state), follow=True)
    if uid != _ROOT or path != place.state or above is None or above.st_uid != os.geteuid():
        return None
    return f"If it is yours, run `sudo chown -R {os.geteuid()} {shell_word(path, 'DIR')}`."


def _unsafe(path: str, why: str, remedy: str = "") -> Unavailable:
    at = shell_word(path, "DIR")
    command = f"Run `{remedy} {at}`" if remedy else f"Inspect it (`ls -ld {at}`) and remove it"
    return Unavailable(
        "unsafe_workspace",
        f"The state directory {path} is not safe to use: {why}.",
        f"{command}. Then try again.",
        path=path,
    )


def _status(path: str, *, follow: bool = False) -> os.stat_result | None:
    """The status of a file; None if there is none, or if it cannot be read (opening it then fails)."""
    try:
        return os.stat(path, follow_symlinks=follow)
    except OSError:
        return None


def _is_trusted(root: str, env: Mapping[str, str]) -> bool:
    return _covers(root, _safe_directories(env), env)


def _covers(root: str, lines: list[str], env: Mapping[str, str]) -> bool:
    """Whether a list covers this directory. As in git: `*`, a trailing `/*`, and an empty line resets the list."""
    covered = False
    for line in lines:
        named = line.strip()
        if not named:
            covered = False
        elif named == "*":
            covered = True
        else:
            below = named.endswith("/*")
            named = named.removesuffix("/*") if below else named
            if named.startswith("~/"):
                named = os.path.join(env.get("HOME") or os.path.expanduser("~"), named[2:])
            if os.path.isabs(named):
                real = os.path.realpath(named)
                covered |= root.startswith(f"{real.rstrip('/')}/") if below else root == real
    return covered


def _safe_directories(env: Mapping[str, str]) -> list[str]:
    """All values of `safe.directory` in git's system and global config, read without running git."""
    home = env.get("HOME") or os.path.expanduser("~")
    files: list[str] = []
    if env.get("GIT_CONFIG_NOSYSTEM", "").lower() not in ("1", "true", "yes", "on"):
        files += [env["GIT_CONFIG_SYSTEM"]] if env.get("GIT_CONFIG_SYSTEM") else _SYSTEM
    if "GIT_CONFIG_GLOBAL" in env:
        files += [env["GIT_CONFIG_GLOBAL"]]
    else:
        above = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        files += [os.path.join(above, "git", "config"), os.path.join(home, ".gitconfig")]
    return [value for file in files if os.path.isabs(file) for value in _safe_in(file, home, _DEEPEST)]


def _safe_in(path: str, home: str, deep: int) -> Iterator[str]:
    from moot.place.gitdir import entries

    try:
        found = list(entries(path))
    except Unavailable:
        return  # an unreadable config trusts nothing
    for section, name, value in found:
        if (section, name) == ("safe", "directory"):
            yield value
        elif (section, name) == ("include", "path") and deep:
            named = os.path.join(home, value[2:]) if value.startswith("~/") else value
            yield from _safe_in(os.path.join(os.path.dirname(path), named), home, deep - 1)
