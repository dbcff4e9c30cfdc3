"""The form `document`: one object in a file. Its values have owners (`moot.core.deciders.document`).

The path may have a placeholder, `.notes/{name}.json`: then each such file is a document, and each one in the log. The
`fields` of the mirror define the rest:

    author    the role that writes to the file
    owners    patterns of pointers, each with the role that owns these values, or `moot`
    keys      patterns of lists, each with the key of its items
    stamp     the pointer to a time that every change updates: a file with an older one is an old copy
    initial   the content of a new or reset document; without it, a document starts with its file
"""

from __future__ import annotations

from moot.api.answer import Notice
from moot.api.protocol import strict_json
from moot.api.protocol.form import Form, Instance, Malformed, Rendering, Taken
from moot.core import flat_json
from moot.core.deciders.document import (
    WORKSPACE,
    AbsorbDocument,
    OpenDocument,
    ResetDocument,
    RestoreDocument,
    key,
)
from moot.core.ids import is_name_part
from moot.core.kind import kind_of
from moot.core.principal import role
from moot.core.record import Record
from moot.mirrors.templates import filled, subjects
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec, Packs
    from moot.core.deciders.document import Document
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.location import Worktree
    from moot.views.store import Store

_ALL = 1 << 31


class DocumentNews(Record):
    """The content of a changed file, and the content it was based on."""

    leaves: dict[str, Any]
    base: Mapping[str, Any] | None


_POINTER = {"type": "string", "pattern": "^/", "description": "a pointer such as /status, with a slash before it"}
_POINTED = {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}


class DocumentForm(Form):
    """See the module."""

    fields: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "author": {"type": "string", "minLength": 1},
            "owners": _POINTED,
            "keys": _POINTED,
            "stamp": _POINTER,
            "initial": {"type": "object"},
        },
        "additionalProperties": False,
    }

    durable = True
    notes_deletions = True

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        super().__init__(spec, packs)
        self._author = spec.fields.get("author", "")
        self.speakers = (role(self._author),) if self._author else ()
        self._owners: Mapping[str, str] = spec.fields.get("owners", {})
        self._keys: Mapping[str, str] = spec.fields.get("keys", {})
        self._stamp: str | None = spec.fields.get("stamp")
        self._initial: Mapping[str, Any] | None = spec.fields.get("initial")

    @classmethod
    def misfits(cls, fields: Mapping[str, Any], roles: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
        if "author" in fields and fields["author"] not in roles:
            yield ("author",), f"there is no role {fields['author']!r}; known: {', '.join(roles) or 'none'}"
        for pointer, owner in fields.get("owners", {}).items():
            if owner not in (*roles, "moot"):
                yield ("owners", pointer), f"there is no role {owner!r}; known: {', '.join((*roles, 'moot'))}"
        for field in ("owners", "keys"):
            for pointer in fields.get(field, {}):
                if not pointer.startswith("/"):
                    yield (field, pointer), f"{pointer!r}: expected a pointer such as /status, with a slash before it"

    def instances(self, store: Store, worktrees: Sequence[Worktree]) -> Iterator[Instance]:
        known = self._known(store)
        for tree in worktrees:
            found = {*known.get(self._worktree(tree.name), ()), *subjects(tree.root, self.spec.path)}
            for subject in sorted(found) if "{" in self.spec.path else ("",):
                path = filled(self.spec.path, subject)
                yield Instance(path=path, root=tree.root, worktree=tree.name, subject=subject)

    def _known(self, store: Store) -> dict[str, set[str]]:
        """The subjects in the log, by worktree."""
        found: dict[str, set[str]] = {}
        if "{" in self.spec.path:
            for one in queries.things(store, "document", _ALL):
                if one.mirror == f"{self.spec.pack}/{self.spec.name}" and is_name_part(one.subject):
                    found.setdefault(one.worktree, set()).add(one.subject)
        return found

    def _worktree(self, name: str) -> str:
        return WORKSPACE if self.spec.scope == "workspace" else name

    def key(self, one: Instance) -> str:
        slug = f"{self.spec.name}.{one.subject}" if one.subject else self.spec.name
        return key(self.spec.pack, self._worktree(one.worktree), slug)

    def follows(self, event: Event) -> bool:
        return event.stream.startswith(f"document/{self.spec.pack}.")

    def render(self, store: Store, one: Instance) -> Rendering | None:
        state, _ = states.state(store, kind_of("document"), self.key(one))
        if state.status:
            found = state.leaves
        elif self._initial is not None:
            found = flat_json.flatten(self._initial, self._keys)
        else:
            return None
        return Rendering(data=self.write(flat_json.unflatten(found, self._keys)), memo=found)

    def write(self, content: Mapping[str, Any]) -> bytes:
        """Format the content. A form for another format than JSON overrides this and `parse`."""
        return strict_json.dump(content)

    def read(self, data: bytes) -> dict[str, Any]:
        content = self.parse(data)
        if not isinstance(content, dict):
            raise Malformed("the file is not an object")
        try:
            return flat_json.flatten(content, self._keys)
        except flat_json.Unkeyed as error:
            raise Malformed(str(error)) from None

    def parse(self, data: bytes) -> object:
        """Parse the bytes. Raises `Torn`."""
        return strict_json.load(data)

    def authors(self, content: Any) -> tuple[str, ...]:  # noqa: ARG002
        return self.speakers or ("moot",)

    def observe(self, call: Call, one: Instance, content: Any, memo: Any, author: str) -> DocumentNews | None:  # noqa: ARG002
        state, _ = states.state(call.engine.store, kind_of("document"), self.key(one))
        if not content and state.leaves and self.spec.emptied == "restore":
            return None
        if state.status and (self._is_past(state, content) or not flat_json.difference(state.leaves, content).pointers):
            return None
        return DocumentNews(leaves=content, base=memo)

    def _is_past(self, state: Document, content: Mapping[str, Any]) -> bool:
        """Whether the file is an old copy. An equal stamp means a change."""
        there, here = content.get(self._stamp or ""), state.leaves.get(self._stamp or "")
        return isinstance(there, str) and isinstance(here, str) and there < here

    def take(self, work: Work, one: Instance, content: Any, memo: Any, facts: DocumentNews) -> Taken:  # noqa: ARG002
        name, before = self.key(one), len(work.drafts)
        if not work.state("document", name).status:
            first = facts.leaves if self._initial is None else flat_json.flatten(self._initial, self._keys)
            work.do("document", name, self._opening(one, first))
        command = AbsorbDocument(
            author=self._author,
            leaves=facts.leaves,
            base=facts.base,
            owners=self._owners,
            wins=self.spec.wins,
        )
        work.do("document", name, command)
        return Taken(notices=tuple(self._notices(work, one, before)))

    def _opening(self, one: Instance, first: Mapping[str, Any]) -> OpenDocument:
        mirror, worktree = f"{self.spec.pack}/{self.spec.name}", self._worktree(one.worktree)
        return OpenDocument(mirror=mirror, worktree=worktree, subject=one.subject, leaves=first)

    def _notices(self, work: Work, one: Instance, before: int) -> Iterator[Notice]:
        for draft in work.drafts[before:]:
            if draft.type == "document:refused":
                touched = ", ".join((*draft.data["set"], *draft.data.get("gone", ())))
                owners = ", ".join(draft.data.get("owners", ()))
                yield Notice("change_refused", f"{one.name}: {touched} belongs to {owners}; the change was not taken.")
            elif draft.type == "document:conflicted":
                touched = ", ".join(dict.fromkeys((*draft.data["log"], *draft.data["file"])))
                won = draft.data["won"]
                yield Notice("change_conflicted", f"{one.name}: {touched} changed in the log, too; the {won} wins.")

    def vanished(self, work: Work, one: Instance, memo: Any) -> Taken:  # noqa: ARG002
        name = self.key(one)
        if not work.state("document", name).status:
            return Taken()
        reason = f"{one.path} was deleted"
        if self.spec.missing == "reset":
            work.do(
                "document",
                name,
                ResetDocument(leaves=flat_json.flatten(self._initial or {}, self._keys), reason=reason),
            )
        else:
            work.do("document", name, RestoreDocument(reason=reason))
        return Taken()
