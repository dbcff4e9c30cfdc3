"""Targets of a pipeline whose pack has no rules of its own: each named file is the source of one.

If the pipeline has documents, each target has one. Its name is the slug of the source's path: `src/store/cart.py` gives
`src--store--cart.py`. A path that cannot be told from another one by its slug, such as `a--b.py`, gets a digest.
"""

from __future__ import annotations

import os

from moot.core.deciders.document import WORKSPACE, key
from moot.core.errors import Usage
from moot.runs.contract import DocumentRef, Target
from moot.runs.stage import is_reserved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.runs.site import Site
    from moot.runs.stage import PipelinePack

SOURCE = "source"
_BETWEEN = "--"  # between the names of directories in a slug
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_LONGEST = 120  # characters of a slug: the file name of the document has more
_DIGITS = 12


def file_targets(site: Site, pack: PipelinePack, paths: Sequence[str]) -> list[Target]:
    """One target for each path. The paths are relative to the caller's directory, and inside its worktree."""
    root = os.path.realpath(site.place.root)
    found = [_target(root, pack, one) for one in dict.fromkeys(inside(root, site.cwd, path) for path in paths)]
    return [one.replace(document=_document(pack, site.place.worktree, one.paths[SOURCE][0])) for one in found]


def inside(root: str, cwd: str, path: str) -> str:
    """The path relative to the worktree. Raises unless it is a regular file in it, and no link leads out of it."""
    whole = os.path.realpath(os.path.join(cwd, path))
    if os.path.isdir(whole):
        raise Usage("no_such_file", f"{path[:200]} is a folder.", "Name the files in it.", path=path[:200])
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


def _target(root: str, pack: PipelinePack, source: str) -> Target:
    folder, name = os.path.split(source)
    words = {"path": source, "folder": folder or ".", "name": name, "stem": os.path.splitext(name)[0]}
    paths = {SOURCE: (source,)}
    assert pack.pipeline is not None
    for role, template in pack.pipeline.files.items():
        paths[role] = (filled(template, words),)
    for role, (one,) in paths.items():
        if is_reserved(one):
            raise Usage(
                "reserved_path",
                f"{role.capitalize()} {one} of {source[:200]} belongs to git or to moot itself.",
                "Name another file, or correct the path in [pipeline.files].",
                path=one,
            )
    return Target(id=f"{pack.name}:{source}", title=source, root=root, paths=paths)


def _document(pack: PipelinePack, worktree: str, source: str) -> DocumentRef | None:
    assert pack.pipeline is not None
    name, slug = pack.pipeline.document, slug_of(source)
    spec = next((mirror for mirror in pack.mirrors if mirror.name == name), None)
    if spec is None:
        return None
    tree = WORKSPACE if spec.scope == "workspace" else worktree
    before, _, rest = spec.path.partition("{")
    path = f"{before}{slug}{rest.partition('}')[2]}"
    return DocumentRef(key(pack.name, tree, f"{name}.{slug}"), f"{pack.name}/{name}", tree, slug, path)


def slug_of(path: str) -> str:
    """A name for the document of a source that no other source has."""
    slug = path.replace("/", _BETWEEN)
    unclear = _BETWEEN in path or any(part.startswith("-") or part.endswith("-") for part in path.split("/"))
    if not unclear and _PLAIN.issuperset(slug) and slug[0] != "." and len(slug) <= _LONGEST:
        return slug
    import hashlib

    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:_DIGITS]
    end = "".join(char if char in _PLAIN else "-" for char in slug)[-_LONGEST + _DIGITS + 1 :].lstrip(".-")
    return f"{end}-{digest}" if end else digest


def filled(template: str, words: dict[str, str]) -> str:
    """The path that a template means."""
    for word, value in words.items():
        template = template.replace(f"{{{word}}}", value)
    folder = template.endswith("/")
    return os.path.normpath(template) + ("/" if folder else "")
