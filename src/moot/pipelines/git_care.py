"""Notices when a command changes what git runs or obeys: hooks, and the configuration of the repository.

A changed hook runs at the person's next commit, and so do some settings. Others are harmless: git itself writes them
when a branch is pushed. Those are only reported.
"""

from __future__ import annotations

import os
from stat import S_ISLNK, S_ISREG, S_IXGRP, S_IXOTH, S_IXUSR

from moot.pipelines.contract import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moot.location import Place

_FILES = ("config", "config.worktree", "info/attributes")
_LARGEST = 1 << 20
_MOST = 200  # hooks
_RUNNABLE = S_IXUSR | S_IXGRP | S_IXOTH
# Settings that make git run a program, or read another file.
_RUNS = (
    *("hookspath", "fsmonitor", "sshcommand", "editor", "pager", "askpass", "gitproxy", "program", "helper"),
    *("command", "textconv", "clean", "smudge", "process", "driver", "include", "alias"),
)


def look(place: Place, root: str) -> dict[str, bytes]:
    """The hooks and settings of the repository, by path in its git directory."""
    from moot.location import gitdir

    own = gitdir.at(root) if place.common is not None else None
    if own is None or place.common is None:
        return {}
    found: dict[str, bytes] = {}
    for base in (place.common,) if _is_same(own, place.common) else (place.common, own):
        for name in (*_FILES, *_hooks(base)):
            data = _content(os.path.join(base, name))
            if data is not None:
                found.setdefault(name, data)
    return found


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
    """What was changed. A hook, or a setting that makes git run a program, fails the stage."""
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        what = "changed" if old is not None and new is not None else "made" if old is None else "removed"
        runs = name.startswith("hooks/") or _runs_programs(old or b"", new or b"")
        text = f"was {what} while the stage ran" + ("; git runs what it says" if runs and new is not None else "")
        yield Problem(text, path=f".git/{name}", blocks=runs)


def _runs_programs(old: bytes, new: bytes) -> bool:
    """Whether lines were added that make git run a program."""
    lines = set(new.lower().splitlines()) - set(old.lower().splitlines())
    words = [line.decode("utf-8", "replace").partition("=")[0].strip(' \t["') for line in lines]
    return any(word.startswith(start) or word.endswith(start) for word in words for start in _RUNS)
