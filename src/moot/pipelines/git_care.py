"""Notices when a command changes what git runs or obeys: hooks, settings of the repository, branches and tags.

A changed hook runs at the person's next commit, and many settings make git run a program. Some are harmless: git itself
writes them when a branch is pushed (`git_settings`). Those are only reported.
"""

from __future__ import annotations

import os
from stat import S_ISLNK, S_ISREG, S_IXGRP, S_IXOTH, S_IXUSR

from moot.core.text import first_few
from moot.pipelines import git_refs
from moot.pipelines.contract import Problem
from moot.pipelines.git_settings import unsafe_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moot.place import Place

_FILES = ("config", "config.worktree", "info/attributes")
_LARGEST = 1 << 20
_MOST = 200  # hooks
_RUNNABLE = S_IXUSR | S_IXGRP | S_IXOTH


def look(place: Place, root: str) -> dict[str, bytes]:
    """The hooks, settings and refs of the repository, by path in its git directory."""
    from moot.place import gitdir

    own = gitdir.at(root) if place.common is not None else None
    if own is None or place.common is None:
        return {}
    found: dict[str, bytes] = {}
    for base in (place.common,) if _is_same(own, place.common) else (place.common, own):
        for name in (*_FILES, *_hooks(base)):
            data = _content(os.path.join(base, name))
            if data is not None:
                found.setdefault(name, data)
    return found | git_refs.look(place.common, own)


def _is_same(one: str, other: str) -> bool:
    try:
        return one == other or os.path.samefile(one, other)
    except OSError:
        return False


def _hooks(base: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(os.path.join(base, "hooks")))
    except OSError:
        return
    yield from (f"hooks/{name}" for name in names[:_MOST] if not name.endswith(".sample"))


def _content(path: str) -> bytes | None:
    """What a file contains, and whether it can be run; None if there is none."""
    try:
        mode = os.lstat(path).st_mode
        if S_ISLNK(mode):
            return b"link " + os.fsencode(os.readlink(path))
        if not S_ISREG(mode):
            return None
        with open(path, "rb", buffering=0) as file:
            return (b"x" if mode & _RUNNABLE else b"-") + file.read(_LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return b"unreadable"


def problems(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[Problem]:
    """What was changed. A hook, or a setting that is not known to be harmless, fails the stage; see also `git_refs`."""
    for name in sorted(one for one in {*before, *after} if not git_refs.is_ref(one)):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        what = "changed" if old is not None and new is not None else "made" if old is None else "removed"
        why = _danger(name, old or b"-", new) if new is not None else ""
        blocks = bool(why) or name.startswith("hooks/")
        yield Problem(f"was {what} while the stage ran{why}", path=f".git/{name}", blocks=blocks)
    yield from git_refs.problems(before, after)


def _danger(name: str, old: bytes, new: bytes) -> str:
    """Why a new content is not harmless; empty if it is."""
    if name.startswith("hooks/"):
        return "; git runs what it says"
    if not new.startswith((b"-", b"x")) or not old.startswith((b"-", b"x")) or len(new) > _LARGEST:
        return "; what git would read there is not known"
    if name.endswith("attributes"):
        lines = set(new[1:].splitlines()) - set(old[1:].splitlines())
        harmless = all(not line.strip() or line.strip().startswith(b"#") for line in lines)
        return "" if harmless else "; git may run programs for it"
    settings = unsafe_settings(old[1:], new[1:])
    return f"; git may run programs for {first_few(settings)}" if settings else ""
