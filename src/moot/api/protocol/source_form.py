"""Files that moot only reads: plans, configuration. What they say is kept in the log as documents.

Each file is one document (`moot.core.deciders.document`). A changed file is read again; a deleted one leaves an empty
document. The file itself is never written, moved or quarantined: a file that cannot be read leaves its problems in the
document, at `PROBLEMS`, each with its place.

All worktrees share the documents. If several worktrees have a file, the one of the main worktree counts, as for
settings, and then the first by name.
"""

from __future__ import annotations

import os
from abc import abstractmethod

from moot.api.answer import Notice
from moot.api.protocol.form import Form, Instance, Taken
from moot.core import flat_json
from moot.core.deciders.document import WORKSPACE, AbsorbDocument, OpenDocument, ResetDocument, key
from moot.core.kind import kind_of
from moot.core.text import first_few
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.form import Rendering
    from moot.core.deciders.document import Document
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.place import Worktree
    from moot.views.store import Store

PATH = "/path"  # the file, relative to the root of its worktree
PROBLEMS = "/problems"
_LARGEST = 1 << 20


class SourceForm(Form):
    """See the module. A subclass defines `leaves`, `read` if a file can be torn, `found` if there are several files."""

    writable = False
    notes_deletions = True
    largest = _LARGEST

    @abstractmethod
    def leaves(self, content: Any, subject: str) -> Mapping[str, Any]:
        """What the document keeps: values by pointer. Problems are texts at `PROBLEMS`."""

    def found(self, root: str) -> Iterable[tuple[str, str]]:
        """The files that a worktree has: each with its subject and its path. Called for every command."""
        return (("", self.spec.path),) if os.path.lexists(os.path.join(root, self.spec.path)) else ()

    def instances(self, store: Store, worktrees: Sequence[Worktree]) -> Iterator[Instance]:
        chosen: dict[str, Instance] = {}
        for tree in worktrees:
            for subject, path in self.found(tree.root):
                if subject not in chosen:
                    chosen[subject] = Instance(path=path, root=tree.root, worktree=tree.name, subject=subject)
        yield from chosen.values()
        for subject in _known(store, self.spec.pack, self.spec.name) if worktrees else ():
            leaves = {} if subject in chosen else _document(store, self.spec.pack, self.spec.name, subject).leaves
            if leaves:  # the file was deleted
                path = str(leaves.get(PATH, self.spec.path))
                yield Instance(path=path, root=worktrees[0].root, worktree=worktrees[0].name, subject=subject)

    def read(self, data: bytes) -> Any:
        return data

    def observe(self, call: Call, one: Instance, content: Any, memo: Any, author: str) -> dict[str, Any] | None:  # noqa: ARG002
        found = {PATH: one.path, **self.leaves(content, one.subject)}
        state, _ = states.state(call.engine.store, kind_of("document"), self._key(one))
        return found if flat_json.difference(state.leaves, found).pointers else None

    def take(self, work: Work, one: Instance, content: Any, memo: Any, facts: dict[str, Any]) -> Taken:  # noqa: ARG002
        key, mirror = self._key(one), f"{self.spec.pack}/{self.spec.name}"
        before: Document = work.state("document", key)
        work.do("document", key, OpenDocument(mirror=mirror, leaves=facts, subject=one.subject))
        work.do(
            "document", key, AbsorbDocument(author="", leaves=facts, base=before.leaves if before.status else facts)
        )
        problems = facts.get(PROBLEMS, ())
        if not problems or problems == before.leaves.get(PROBLEMS):
            return Taken()
        return Taken(notices=(Notice("source_defective", f"{one.name}: {first_few(problems)}."),))

    def vanished(self, work: Work, one: Instance, memo: Any) -> Taken:  # noqa: ARG002
        if work.state("document", self._key(one)).leaves:
            work.do("document", self._key(one), ResetDocument(leaves={}, reason=f"{one.path} does not exist any more"))
        return Taken()

    def follows(self, event: Event) -> bool:  # noqa: ARG002
        return False

    def render(self, store: Store, one: Instance) -> Rendering | None:  # noqa: ARG002
        return None

    def _key(self, one: Instance) -> str:
        return source_key(self.spec.pack, self.spec.name, one.subject)


def source_key(pack: str, mirror: str, subject: str = "") -> str:
    """The id of the document of a source."""
    return key(pack, WORKSPACE, f"{mirror}.{subject}" if subject else mirror)


def sources(store: Store, pack: str, mirror: str) -> list[Document]:
    """The documents of a mirror of sources. Those of deleted files are empty."""
    return [_document(store, pack, mirror, subject) for subject in _known(store, pack, mirror)]


def _known(store: Store, pack: str, mirror: str) -> list[str]:
    """The subjects of the documents of a mirror. Their contents are not loaded: there may be hundreds."""
    own, below = source_key(pack, mirror), source_key(pack, mirror, ".").removesuffix(".")
    found = queries.thing_ids(store, "document", own, f"{below[:-1]}/")  # "/" follows "."
    return [name.removeprefix(below) if name != own else "" for name in found if name == own or name.startswith(below)]


def _document(store: Store, pack: str, mirror: str, subject: str) -> Document:
    found: Document = states.state(store, kind_of("document"), source_key(pack, mirror, subject))[0]
    return found
