"""The files that a commit or a push changes, as git knows them.

A merge changes only files that differ from all of its parents: other changes were checked when they were committed. For
a renamed file, both names count.
"""

from __future__ import annotations

import os

from moot.core.errors import Usage
from moot.guard.hooks import git_directory
from moot.place.git import NO_DRIVERS, Git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moot.place import Place

_NAMES = ("--name-only", "-z", "--no-renames", "--ignore-submodules=dirty")
_HEX = frozenset("0123456789abcdef")
_LONGEST = 1 << 16  # bytes of MERGE_HEAD


def of_commit(place: Place, cwd: str, env: Mapping[str, str]) -> list[str]:
    """The files of the commit that is being made. For `git commit -a` and `--only`, git names another index."""
    directory = git_directory(place)
    index = env.get("GIT_INDEX_FILE")
    more = {"GIT_INDEX_FILE": os.path.join(os.path.realpath(cwd), index)} if index else {}
    git = Git(directory, place.root, more=more)
    changed = _staged(git)
    for parent in _merged(directory):
        changed &= _staged(git, parent)
    return sorted(os.fsdecode(path) for path in changed)


def _staged(git: Git, *parent: str) -> set[bytes]:
    return set(git.listed("diff", "--cached", *NO_DRIVERS, *_NAMES, *parent, "--"))


def _merged(directory: str) -> list[str]:
    """The commits that are being merged."""
    try:
        with open(os.path.join(directory, "MERGE_HEAD"), encoding="ascii") as file:
            lines = file.read(_LONGEST).split()
    except (OSError, UnicodeDecodeError):
        return []
    return [line for line in lines if is_object(line)]


def of_push(place: Place, refs: str, remote: Sequence[str]) -> list[str]:
    """The files of the commits that a push sends. `refs` is what git writes to its hook `pre-push`."""
    git = Git(git_directory(place), place.root)
    pairs = [_pair(line) for line in refs.splitlines() if line.strip()]
    sent = [new for new, _ in pairs if set(new) != {"0"}]
    if not sent:
        return []
    known = [old for _, old in pairs if set(old) != {"0"} and not git.fails("cat-file", "-e", f"{old}^{{commit}}")]
    name, url = (*remote, "", "")[:2]
    theirs = f"--remotes={name}" if name and name != url else "--remotes"
    lines = "\n".join((*sent, *(f"^{old}" for old in known)))
    commits = git.do("rev-list", "--not", theirs, "--not", "--stdin", stdin=lines.encode())
    listed = git.listed(
        "diff-tree", "--stdin", "--root", "-r", "-c", "--no-commit-id", *NO_DRIVERS, *_NAMES, stdin=commits
    )
    return sorted({os.fsdecode(path) for path in listed})


def _pair(line: str) -> tuple[str, str]:
    """The new and the old commit of a line `LOCAL-REF NEW REMOTE-REF OLD`."""
    words = line.rsplit(" ", 3)
    if len(words) != 4 or not is_object(words[1]) or not is_object(words[3]):
        raise Usage("bad_refs", f"{line[:200]!r} is not a line of git's hook pre-push.", "Pass its input unchanged.")
    return words[1], words[3]


def is_object(text: str) -> bool:
    """Whether it is the full name of an object of git."""
    return len(text) in (40, 64) and _HEX.issuperset(text)
