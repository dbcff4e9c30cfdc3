"""Finds the settings of a repository without a known main worktree, such as a bare repository.

Every caller gets the same file: `moot.toml` in the git directory if it exists, else the one in the worktree in which
`moot init` was run. `moot init` records that worktree in the state directory (the file `worktree`: its name in git and
its root). If none is recorded, or the worktree was moved without `git worktree move`, the first worktree by name that
has a `moot.toml` is used.
"""

from __future__ import annotations

import os

from moot.location import MAIN, gitdir, trust
from moot.private_files import read_private, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.location import Place

_FILE = "moot.toml"
_RECORD = "worktree"
_LONGEST = 16384  # bytes


def roots(place: Place) -> tuple[str, ...]:
    """The directories to search for the settings, in order."""
    common = place.common or place.root
    chosen = recorded(place)
    if chosen is None:
        having = (root for _, root in _known(place) if os.path.lexists(os.path.join(root, _FILE)))
        chosen = next(having, None)
    return (common,) if chosen is None else (common, chosen)


def recorded(place: Place) -> str | None:
    """The root of the recorded worktree, if it still belongs to the repository."""
    noted = _noted(place)
    if noted is None:
        return None
    name, root = noted
    if name != MAIN:
        return next((there for known, there in _known(place) if known == name), None)
    git = gitdir.at(root) if os.path.isabs(root) else None
    return root if git is not None and gitdir.real(git) == place.common else None


def lost(place: Place) -> str | None:
    """The recorded root of the worktree, if it no longer exists there."""
    noted = _noted(place)
    return None if noted is None or recorded(place) is not None else noted[1]


def _noted(place: Place) -> tuple[str, str] | None:
    try:
        name, _, root = os.fsdecode(read_private(os.path.join(place.state, _RECORD), _LONGEST)).partition("\n")
    except FileNotFoundError:
        return None
    return name, root.rstrip("\n")


def _known(place: Place) -> Iterator[tuple[str, str]]:
    """Name and root of the worktrees that git lists. A moved one is not among them until git repairs its path."""
    for name, root in gitdir.linked_worktrees(place.common or place.root):
        if trust.is_own(root, place):
            yield name, root


def record(place: Place) -> None:
    """Record the worktree of this place, unless one is already recorded."""
    if place.common is None or place.root == place.common or os.path.basename(place.common) == ".git":
        return
    if recorded(place) is None:
        write_private(os.path.join(place.state, _RECORD), os.fsencode(f"{place.worktree}\n{place.root}\n"))


def home(place: Place) -> str:
    """The directory for a new settings file."""
    return recorded(place) or place.root


def ignored(place: Place, source: str | None) -> str | None:
    """The settings file of the current worktree, if it is not used and differs from the one in use."""
    path = os.path.join(place.root, _FILE)
    if path == source or not os.path.isfile(path):
        return None
    try:
        mine = gitdir.read(path, 1 << 20)
        theirs = b"" if source is None else gitdir.read(source, 1 << 20)
    except OSError:
        return path
    return None if mine == theirs else path
