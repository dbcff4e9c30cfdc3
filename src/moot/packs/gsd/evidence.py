"""Compares what agents say with the repository: where a path leads, whether a commit and the file of an artifact exist.

Looked up before the commit that takes the event. What is not there is flagged, never refused: the file may be in a
checkout that moot does not see.
"""

from __future__ import annotations

import os

from moot.api.protocol.content import relative
from moot.packs.gsd.telling import FEED
from moot.views import feeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import Saying
    from moot.views.store import Store

COMMIT, FILE = "unknown_commit", "no_file"
_ARTIFACTS = ("artifact:created", "artifact:modified")
_found: set[tuple[str, str]] = set()  # commits that exist, by repository: they do not go away
_MOST = 10_000
_HEX = frozenset("0123456789abcdefABCDEF")


def real_paths(saying: Saying) -> dict[str, str]:
    """Absolute paths that lead into the project through a link above it, each with its real path."""
    listed = saying.data.get("paths")
    given = [saying.data.get("path"), saying.data.get("artifact"), *(listed if isinstance(listed, list) else ())]
    away = [path for path in given if isinstance(path, str) and path.startswith("/") and "\0" not in path]
    return {path: os.path.realpath(path) for path in away if relative(path, saying.roots) is None}


def doubts(call: Call, saying: Saying, real: Mapping[str, str]) -> tuple[str, ...]:
    """Flags for what the repository does not have. `real`: see `real_paths`."""
    data = saying.data
    if saying.type == "task:completed" and _is_commit(data.get("commit")) and not _has_commit(call, data["commit"]):
        return (f"{COMMIT}: this repository has no commit {data['commit']}",)
    if saying.type in _ARTIFACTS and (path := _path(data.get("path"), saying, real)) and not _exists(path, saying):
        return (f"{FILE}: {path} is in no worktree",)
    return ()


def of_phase(store: Store, phase: str) -> tuple[str, ...]:
    """The flags of the artifacts of a phase whose file was absent when they were last announced."""
    latest: dict[str, str | None] = {}
    for entry in feeds.entries(store, FEED, [("phase", phase), ("noun", "artifact")]):
        latest[str(entry.event.get("path"))] = next((flag for flag in entry.flags if flag.startswith(FILE)), None)
    return tuple(flag for flag in latest.values() if flag)


def _is_commit(text: Any) -> bool:
    return isinstance(text, str) and 7 <= len(text) <= 40 and _HEX.issuperset(text)


def _path(given: Any, saying: Saying, real: Mapping[str, str]) -> str | None:
    usable = isinstance(given, str) and given and "\0" not in given
    return relative(real.get(given, given), saying.roots) if usable else None


def _exists(path: str, saying: Saying) -> bool:
    return any(os.path.lexists(os.path.join(root, path)) for root in saying.roots)


def _has_commit(call: Call, commit: str) -> bool:
    """Whether the repository has the commit. True outside git, or if git cannot say."""
    common = call.place.common
    if common is None or (common, commit) in _found:
        return True
    if not _is_loose(common, commit) and not _git_has(common, call.place.root, commit):
        return False
    if len(_found) < _MOST:
        _found.add((common, commit))
    return True


def _is_loose(common: str, commit: str) -> bool:
    """Whether it is a commit in a file of its own, as a new one is. This takes a fraction of the time of git."""
    import zlib

    folder = os.path.join(common, "objects", commit[:2].lower())
    try:
        for name in os.listdir(folder):
            if name.startswith(commit[2:].lower()):
                with open(os.path.join(folder, name), "rb") as file:
                    if zlib.decompressobj().decompress(file.read(64), 7) == b"commit ":
                        return True
    except (OSError, zlib.error):
        pass
    return False


def _git_has(common: str, root: str, commit: str) -> bool:
    from moot.processes.git import Git, GitFailed

    try:
        return not Git(common, root).fails("cat-file", "-e", f"{commit}^{{commit}}")
    except GitFailed:
        return True
