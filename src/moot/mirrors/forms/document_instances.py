"""Documents that the log knows: where their files are, which one a shared file shows, how one was before."""

from __future__ import annotations

import os

from moot.api.protocol.document_folders import is_prepared
from moot.api.protocol.form import Instance
from moot.core.ids import is_name_part
from moot.core.kind import kind_of, meta_of
from moot.mirrors.templates import filled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from moot.core.deciders.document import Document
    from moot.log import Log
    from moot.place import Worktree

_PAGE = 1000


def shown_in_each_file(documents: Iterable[Document]) -> list[Document]:
    """The documents that their files show. Those without a path of their own have a file each."""
    found: dict[tuple[str, str], Document] = {}
    for one in documents:
        file = (one.worktree, one.path or f"\0{one.id}")
        if file not in found or found[file].shown < one.shown:
            found[file] = one
    return list(found.values())


def instance_of(document: Document, tree: Worktree, template: str) -> Instance | None:
    """The file of a document; None if its path cannot be used. Outside the worktree, the root is above its folder.

    A log may have come from elsewhere, so its paths are not trusted: the file is named as the mirror says, and is in a
    folder with the name that the mirror gives, or in one that was prepared on this machine for this worktree.
    """
    path, root = document.path, tree.root
    if not path:
        if "{" in template and not is_name_part(document.subject):
            return None
        path = filled(template, document.subject)
    elif not _is_named_like(path, template):
        return None
    elif os.path.isabs(path):
        folder = os.path.dirname(path)
        if os.path.normpath(path) != path or not is_prepared(folder, root):
            return None
        root = os.path.dirname(folder)
        path = os.path.relpath(path, root)
    if "\0" in path or {"", ".", ".."} & set(path.split(os.sep)):
        return None
    return Instance(path=path, root=root, worktree=tree.name, subject=document.subject)


def _is_named_like(path: str, template: str) -> bool:
    folder, name = os.path.split(path)
    before, _, after = os.path.basename(template).partition("{")
    if not (is_name_part(name) and name.startswith(before) and name.endswith(after.partition("}")[2])):
        return False
    hidden = any(part.startswith(".") for part in folder.split(os.sep)) and folder != os.path.dirname(template)
    same = os.path.basename(folder) == os.path.basename(os.path.dirname(template))
    return os.path.isabs(path) or (same and not hidden)


def leaves_at(log: Log, name: str, version: int) -> dict[str, Any] | None:
    """The leaves of a document after the event at this position; None if it had none then."""
    kind = kind_of("document")
    state: Any = kind.new(name)
    after = 0
    while events := log.read(after, _PAGE, kind.stream(name)):
        for event in events:
            if event.position > version:
                return state.leaves if state.status else None
            state = kind.evolve(state, kind.events[event.type].of(event.data), meta_of(event))
        after = events[-1].position
    return state.leaves if state.status else None
