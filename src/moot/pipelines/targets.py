"""Targets of a pipeline whose pack has no rules of its own: each named file is the source of one."""

from __future__ import annotations

import os

from moot.core.errors import Usage
from moot.pipelines.contract import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.api.call import Call
    from moot.api.protocol import Pack

SOURCE = "source"


def file_targets(call: Call, pack: Pack, paths: Sequence[str]) -> list[Target]:
    """One target for each path. The paths are relative to the caller's directory, and inside its worktree."""
    root = os.path.realpath(call.place.root)
    return [_target(root, pack, one) for one in dict.fromkeys(inside(root, call.cwd, path) for path in paths)]


def inside(root: str, cwd: str, path: str) -> str:
    """The path relative to the worktree. Raises unless it is a regular file in it, and no link leads out of it."""
    whole = os.path.realpath(os.path.join(cwd, path))
    if not whole.startswith(root.rstrip(os.sep) + os.sep):
        raise Usage(
            "outside_the_worktree",
            f"{path[:200]} is not in the worktree {root}.",
            "Name a file of this worktree, or run the command in the other one.",
            path=path[:200],
        )
    if not os.path.isfile(whole):
        raise Usage("no_such_file", f"There is no file {path[:200]}.", "Check the path.", path=path[:200])
    return os.path.relpath(whole, root)


def _target(root: str, pack: Pack, source: str) -> Target:
    folder, name = os.path.split(source)
    words = {"path": source, "folder": folder or ".", "name": name, "stem": os.path.splitext(name)[0]}
    paths = {SOURCE: (source,)}
    assert pack.pipeline is not None
    for role, template in pack.pipeline.files.items():
        paths[role] = (filled(template, words),)
    return Target(id=f"{pack.name}:{source}", title=source, root=root, paths=paths)


def filled(template: str, words: dict[str, str]) -> str:
    """The path that a template means."""
    for word, value in words.items():
        template = template.replace(f"{{{word}}}", value)
    folder = template.endswith("/")
    return os.path.normpath(template) + ("/" if folder else "")
