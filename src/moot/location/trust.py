"""Whether a workspace may be used at all: git's `safe.directory`, for moot.

Whoever owns a repository decides what is in its log and its settings. So a workspace is used only if its root, its git
directory and its state directory belong to the caller, or if the caller trusts it in spite of that: by `safe.directory`
in git's system or global config (never the repository's own), or by a line in `trusted` of the user's store.
A state directory that is a link, or that everybody may write, is never used.
The same goes for each file from which settings or messages are taken: its author must be the caller, the owner of the
workspace that was accepted, or root; anybody else only where the workspace is trusted by name.

This is asked before settings are read, before git is called, and before anything is made.
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK, S_IWOTH

from moot.core.errors import Unavailable
from moot.core.text import shell_word
from moot.private_files import owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moot.location import Place

TRUSTED = "trusted"
_ROOT = 0
_SYSTEM = ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")
_DEEPEST = 5  # files that include one another
_LONGEST_LIST = 1 << 20


def check(place: Place, env: Mapping[str, str]) -> None:
    """Raise unless the workspace may be used."""
    state = _status(place.state)
    if state is not None:
        if not S_ISDIR(state.st_mode):
            raise _unsafe(place.state, "it is a link" if S_ISLNK(state.st_mode) else "it is not a directory")
        if state.st_mode & S_IWOTH:
            raise _unsafe(place.state, "every account on this machine may write to it", "chmod o-w")
    mine = owners()
    if state is not None and state.st_uid not in mine:
        return _insist(place, place.state, state.st_uid, env)
    for path, follow in _decisive(place):
        found = _status(path, follow=follow)
        if found is not None and found.st_uid not in mine:
            return _insist(place, path, found.st_uid, env)
    for root in (place.main_root or place.root, place.root):
        found = _status(f"{root}/moot.toml")
        if found is not None:  # the first one holds
            return None if found.st_uid in (*mine, _ROOT) else _insist(place, f"{root}/moot.toml", found.st_uid, env)
    return None


def _decisive(place: Place) -> Iterator[tuple[str, bool]]:
    """What makes this a workspace, and whether a link there stands for what it leads to."""
    yield place.root, True
    if place.common is not None:
        yield place.common, True
        if place.root != place.common:
            yield f"{place.root}/.git", False


def check_author(place: Place, path: str, uid: int) -> None:
    """Raise unless what this account wrote into a file of the workspace may be taken."""
    if not may_write(place, uid):
        _insist(place, path, uid, os.environ)


def may_write(place: Place, uid: int) -> bool:
    """Whether files of this account in the worktrees are taken at their word, in a workspace that was accepted."""
    if uid == _ROOT or uid in owners():
        return True
    for path in (place.root, place.common or place.root, place.state):
        found = _status(path, follow=True)
        if found is not None and found.st_uid == uid:
            return True
    return _is_trusted(place.root, os.environ)


def remedy(place: Place, env: Mapping[str, str]) -> str:
    """How to trust the workspace by its name."""
    if os.path.basename(place.root) == "*" or place.root != place.root.strip():  # it would mean other folders, too
        return "A folder with this name cannot be trusted by its name: give it another one first."
    root = shell_word(place.root, "DIR")
    if place.common is not None:
        command = f"git config --global --add safe.directory {root}"
    else:
        from moot.location.user_state import home

        store = shell_word(home(env), "DIR")
        command = f"mkdir -p -m 700 {store} && printf '%s\\n' {root} >> {store}/{TRUSTED}"
    return f"If you trust that account with it: `{command}`."


def is_own(path: str, place: Place) -> bool:
    """Whether a worktree that the repository names belongs to the caller, or to the owner of the repository."""
    found = _status(path, follow=True)
    if found is None:
        return False
    if found.st_uid in owners():
        return True
    common = _status(place.common or place.root, follow=True)
    return common is not None and common.st_uid == found.st_uid


def _insist(place: Place, path: str, uid: int, env: Mapping[str, str]) -> None:
    if _is_trusted(place.root, env):
        return
    raise Unavailable(
        "unsafe_workspace",
        f"The workspace {place.root} is not used: {path} belongs to another account (uid {uid}), "
        "who would decide what is said there.",
        _returned(place, path, uid) or remedy(place, env),
        path=path,
        workspace=place.root,
    )


def _returned(place: Place, path: str, uid: int) -> str | None:
    """The remedy where root has made a state directory in a place of the caller's own."""
    above = _status(os.path.dirname(place.state), follow=True)
    if uid != _ROOT or path != place.state or above is None or above.st_uid not in owners():
        return None
    return f"If it is yours, take it back: `sudo chown -R {os.geteuid()} {shell_word(path, 'DIR')}`."


def _unsafe(path: str, why: str, remedy: str = "") -> Unavailable:
    at = shell_word(path, "DIR")
    command = f"Run `{remedy} {at}`" if remedy else f"Look at it (`ls -ld {at}`), and remove it"
    return Unavailable(
        "unsafe_workspace",
        f"The state directory {path} is not used: {why}.",
        f"{command}. Then try again.",
        path=path,
    )


def _status(path: str, *, follow: bool = False) -> os.stat_result | None:
    """None if there is nothing. What cannot even be looked at is refused by whoever needs it."""
    try:
        return os.stat(path, follow_symlinks=follow)
    except OSError:
        return None


def _is_trusted(root: str, env: Mapping[str, str]) -> bool:
    from moot.location.user_state import read

    said = (read(env, TRUSTED) or b"")[:_LONGEST_LIST]
    if _covers(root, os.fsdecode(said).removesuffix("\n").split("\n"), env):
        return True
    return _covers(root, _safe_directories(env), env)


def _covers(root: str, said: list[str], env: Mapping[str, str]) -> bool:
    """Whether a list of directories has this one, as git reads it: `*`, a `/*` at the end, an empty line to reset."""
    covered = False
    for line in said:
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
    """All values of `safe.directory` in git's system and global config. Git itself is not called before the check."""
    home = env.get("HOME") or os.path.expanduser("~")
    files: list[str] = []
    if env.get("GIT_CONFIG_NOSYSTEM", "").lower() not in ("1", "true", "yes", "on"):
        files += [env["GIT_CONFIG_SYSTEM"]] if env.get("GIT_CONFIG_SYSTEM") else _SYSTEM
    if "GIT_CONFIG_GLOBAL" in env:
        files += [env["GIT_CONFIG_GLOBAL"]]
    else:
        above = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        files += [os.path.join(above, "git", "config"), os.path.join(home, ".gitconfig")]
    return [value for file in files if os.path.isabs(file) for value in _said_in(file, home, _DEEPEST)]


def _said_in(path: str, home: str, deep: int) -> Iterator[str]:
    from moot.location.gitdir import entries

    try:
        found = list(entries(path))
    except Unavailable:
        return  # it says nothing that could be read
    for section, name, value in found:
        if (section, name) == ("safe", "directory"):
            yield value
        elif (section, name) == ("include", "path") and deep:
            named = os.path.join(home, value[2:]) if value.startswith("~/") else value
            yield from _said_in(os.path.join(os.path.dirname(path), named), home, deep - 1)
