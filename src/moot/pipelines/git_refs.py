"""Which branches and tags a repository has, and what is checked out: commands of stages change none of it.

Reads git's files, without git. Branches of remotes are left out: programs fetch them in the background.
"""

from __future__ import annotations

import os

from moot.pipelines.contract import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HEAD = "HEAD"
_KINDS = ("refs/heads/", "refs/tags/")
_MOST = 20_000
_LONGEST = 4096
_PACKED = 16 << 20
_SHOWN = 12  # digits of a commit


def look(common: str, own: str) -> dict[str, bytes]:
    """The commit of each branch and tag, by name; and what is checked out here. `own`: this worktree's directory."""
    found = dict(_packed(common))
    for kind in _KINDS:
        found.update(_loose(common, kind))
    head = _content(os.path.join(own, HEAD), _LONGEST)
    if head is not None:
        branch = head.decode("utf-8", "surrogateescape").strip().removeprefix("ref: ")
        found[HEAD] = os.fsencode(f"{branch} ") + found.get(branch, b"")
    return found


def is_ref(name: str) -> bool:
    return name == HEAD or name.startswith(_KINDS)


def _packed(common: str) -> Iterator[tuple[str, bytes]]:
    for line in (_content(os.path.join(common, "packed-refs"), _PACKED) or b"").splitlines():
        commit, _, name = line.partition(b" ")
        if name.startswith(tuple(map(str.encode, _KINDS))):
            yield os.fsdecode(name), commit


def _loose(common: str, kind: str) -> Iterator[tuple[str, bytes]]:
    left, waiting = _MOST, [os.path.join(common, kind)]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            left -= 1
            if left < 0:
                return
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif not entry.name.endswith(".lock") and (data := _content(entry.path, _LONGEST)) is not None:
                yield os.path.relpath(entry.path, common), data.strip()


def _content(path: str, limit: int) -> bytes | None:
    from moot.place import gitdir

    try:
        return gitdir.read(path, limit)[:limit]
    except OSError:
        return None


def problems(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[Problem]:
    """What was changed. A commit, another branch that is checked out, or a deletion fails the stage.

    Other branches and tags may belong to somebody who works in another worktree: those are only reported.
    """
    branch = before.get(HEAD, b"").rpartition(b" ")[0].decode("utf-8", "surrogateescape")
    for name in sorted(one for one in {*before, *after} if is_ref(one)):
        old, new = before.get(name), after.get(name)
        if old == new or (name == branch and HEAD in after):  # HEAD says it
            continue
        if name == HEAD:
            yield Problem(_moved_head(old or b"", new or b""), path=HEAD)
        elif new is None:
            yield Problem(f"was deleted while the stage ran; it was at {_short(old)}", path=name)
        elif old is None:
            yield Problem(f"was made while the stage ran, at {_short(new)}", path=name, blocks=False)
        else:
            text = f"was moved from {_short(old)} to {_short(new)} while the stage ran"
            yield Problem(text, path=name, blocks=False)


def _moved_head(old: bytes, new: bytes) -> str:
    (was, commit), (now, other) = (one.rpartition(b" ")[::2] for one in (old, new))
    if was != now:
        return f"{_branch(now)} was checked out while the stage ran, instead of {_branch(was)}"
    back = f"; `git reset --soft {_short(commit)}` takes the commits back and keeps the files" if commit else ""
    return f"was moved from {_short(commit)} to {_short(other)} while the stage ran, which may not commit{back}"


def _branch(name: bytes) -> str:
    text = name.decode("utf-8", "replace")
    return text.removeprefix(_KINDS[0]) if text.startswith(_KINDS[0]) else text[:_SHOWN]


def _short(commit: bytes | None) -> str:
    return (commit or b"").decode("ascii", "replace")[:_SHOWN] or "no commit"
