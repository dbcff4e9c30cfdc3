"""Path templates: `.notes/{name}.json` matches all such files below a worktree.

A template has at most one placeholder, for a file or directory name or a part of one. All other characters are literal:
the path of a protocol may contain `*` or `[`.
"""

from __future__ import annotations

import os

from moot.core.ids import is_name_part

_TEMPORARY = ".moot."  # the prefix of kept files (`moot.mirrors.exchange`)


def filled(template: str, subject: str) -> str:
    before, after = _parts(template)
    return f"{before}{subject}{after}" if "{" in template else template


def subjects(root: str, template: str) -> set[str]:
    """The values of the placeholder for the files that exist."""
    if "{" not in template:
        return set()
    before, after = _parts(template)
    folder, _, prefix = before.rpartition("/")
    suffix, slash, below = after.partition("/")
    try:
        names = os.listdir(os.path.join(root, folder))
    except OSError:
        return set()
    found = {
        name[len(prefix) : len(name) - len(suffix)]
        for name in names
        if name.startswith(prefix) and name.endswith(suffix) and not name.startswith(_TEMPORARY)
    }
    if slash:
        found = {one for one in found if os.path.lexists(os.path.join(root, folder, f"{prefix}{one}{suffix}", below))}
    return set(filter(is_name_part, found))


def _parts(template: str) -> tuple[str, str]:
    before, _, rest = template.partition("{")
    return before, rest.partition("}")[2]
