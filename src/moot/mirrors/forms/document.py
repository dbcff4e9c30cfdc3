"""The form `document`: one object in a file. Its values have owners (`moot.core.deciders.document`).

The path may have a placeholder, `.notes/{name}.json`: then each such file is a document, and each one in the log. The
`fields` of the mirror define the rest:

    author      the role that writes to the file
    owners      patterns of pointers, each with the role that owns these values, or `moot`
    keys        patterns of lists, each with the key of its items
    stamp       the pointer to a time that every change updates: a file with an older one is an old copy
    initial     the content of a new or reset document; without it, a document starts with its file
    format      `json` or `yaml`; by default as the name of the file ends
    order       for YAML: the keys that come first in a mapping, by its pattern; "" is the outermost one
    quoted      for YAML: patterns of pointers below which every text has quotes
    repair      whether a file that cannot be read is written again; otherwise only `moot doc restore` does that, and
                the end of the stage that ruined it
    while_open  there may be hundreds: a file is looked at only while a run on its document is open, when the document
                changes, in the verbs `doc` and `run`, and by `mirror --watch`

If the mirror has the documents of the pack's pipeline, its stages are the authors and owners
(`moot.runs.documents`). Such a document may have a path of its own, also outside the worktree, and several
documents may share one file.
"""

from __future__ import annotations

from moot.api.answer import Notice
from moot.api.protocol.form import Form, Instance, Malformed, Rendering, Taken
from moot.core import flat_json, strict_json
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
from moot.mirrors.forms.document_instances import instance_of, leaves_at, shown_in_each_file
from moot.mirrors.templates import filled, subjects
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec, Pack, Packs
    from moot.core.deciders.document import Document
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.place import Worktree
    from moot.views.store import Store

_ALL = 1 << 31
_SOME = 3  # pointers in a message
_START = b"# moot: version "
_OF = " of "
_LONGEST = 1000
_BOM = b"\xef\xbb\xbf"


class DocumentNews(Record):
    """The content of a changed file, and the content it was based on: that of the document `key`."""

    key: str
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
            "format": {"enum": ["json", "yaml"]},
            "order": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
            "quoted": {"type": "array", "items": _POINTER},
            "repair": {"type": "boolean"},
            "while_open": {"type": "boolean"},
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
        self.rests: bool = spec.fields.get("while_open", False)
        self.repairs = spec.fields.get("repair", True)
        self._format = _format_of(spec)
        self.shows_its_end = self._format.shows_its_end
        self._names_version = self._format.name == "yaml"

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
        if self.rests:
            from moot.runs.documents import open_keys

            yield from self._of_log(worktrees, self._shown(store, open_keys(store)))
            return
        known = self._known(store)
        for tree in worktrees:
            found = {*known.get(self._worktree(tree.name), ()), *subjects(tree.root, self.spec.path)}
            for subject in sorted(found) if "{" in self.spec.path else ("",):
                path = filled(self.spec.path, subject)
                yield Instance(path=path, root=tree.root, worktree=tree.name, subject=subject)

    def resting(self, store: Store, worktrees: Sequence[Worktree], among: frozenset[str] | None) -> Iterator[Instance]:
        if not self.rests:
            return
        if among is None:
            yield from self._of_log(worktrees, queries.things(store, "document", _ALL))
        else:
            yield from self._of_log(worktrees, self._shown(store, {stream.partition("/")[2] for stream in among}))

    def _shown(self, store: Store, names: Iterable[str]) -> Iterator[Document]:
        """Those of the named documents that their files show."""
        for name in sorted(names):
            if self._is_ours(f"document/{name}"):
                one, _ = states.state(store, kind_of("document"), name)
                if not one.path or queries.document_at(store, one.path, one.worktree) == name:
                    yield one

    def _of_log(self, worktrees: Sequence[Worktree], documents: Iterable[Document]) -> Iterator[Instance]:
        """The files of these documents. If several are in one file, that of the one that was shown last."""
        mirror = f"{self.spec.pack}/{self.spec.name}"
        trees = {self._worktree(tree.name): tree for tree in worktrees}
        ours = (one for one in documents if one.mirror == mirror and one.status and one.worktree in trees)
        for one in shown_in_each_file(ours):
            found = instance_of(one, trees[one.worktree], self.spec.path)
            if found is not None:
                yield found

    def _is_ours(self, stream: str) -> bool:
        return stream.startswith(f"document/{self.spec.pack}.")

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

    def document_of(self, one: Instance) -> str:
        return self.key(one)

    def initial_leaves(self) -> dict[str, Any]:
        return flat_json.flatten(self._initial or {}, self._keys)

    def follows(self, event: Event) -> bool:
        return self._is_ours(event.stream)

    def render(self, store: Store, one: Instance) -> Rendering | None:
        name = self.key(one)
        state, version = states.state(store, kind_of("document"), name)
        if state.status:
            found = state.leaves
        elif self._initial is not None:
            found = self.initial_leaves()
        else:
            return None
        memo = {"document": name, "version": version} if self.rests else found
        data = self.write(flat_json.unflatten(found, self._keys))
        if self._names_version:
            data = _stamped(data, name, version)
        return Rendering(data=data, memo=memo, optional=self.rests and not found)  # a deleted file stays deleted

    def is_behind(self, store: Store, one: Instance, memo: Any) -> bool:
        if not self.rests:
            return False
        name = self.key(one)
        _, version = states.state(store, kind_of("document"), name)
        return bool(memo != {"document": name, "version": version})

    def write(self, content: Mapping[str, Any]) -> bytes:
        """Format the content. A form for another format overrides this and `parse`."""
        return self._format.write(content)

    def read(self, data: bytes) -> dict[str, Any]:
        content = self.parse(data)
        if not isinstance(content, dict):
            raise Malformed("the file is not an object")
        try:
            return flat_json.flatten(content, self._keys)
        except flat_json.Unkeyed as error:
            raise Malformed(str(error)) from None

    def read_news(self, data: bytes, store: Store, one: Instance) -> Any:
        named = _version_of(data) if self._names_version else None
        content: Any = self.read(data)  # of a form that is built on this one, not a dictionary
        found = _FileLeaves(content) if self._names_version else content
        if named is not None:
            state, version = states.state(store, kind_of("document"), named["document"])
            here, _ = states.state(store, kind_of("document"), self.key(one))
            same_file = (state.mirror, state.worktree, state.path) == (here.mirror, here.worktree, here.path)
            if state.status and same_file and (state.path or state.id == here.id) and named["version"] <= version:
                found.version = named
        return found

    def parse(self, data: bytes) -> object:
        """Parse the bytes. Raises `Torn`."""
        return self._format.parse(data)

    def cut_off(self, call: Call, data: bytes, content: Any, memo: Any) -> str:
        """YAML that was cut off is often valid. It is, if its last line has no end and the rest of it is missing."""
        if self.shows_its_end or data.endswith((b"\n", b"\r")):
            return ""
        gone = flat_json.difference(self._base(call, content, memo) or {}, content).gone
        if gone:
            some = f"{', '.join(gone[:_SOME])}{' …' if len(gone) > _SOME else ''}"
            return f"the last line has no end, and {some} is missing: it may be cut off"
        cut = self._begins(call, data, content, memo)
        return "the last line has no end: it is cut off" if cut else ""

    def is_beginning(self, call: Call, data: bytes, content: Any, memo: Any) -> bool:
        """While a stage runs, whole lines at the end may be missing: its agent has removed them."""
        version = self._version(content, memo)
        if version is not None and self._pipeline_pack():
            from moot.runs.documents import FILE, author_of

            if author_of(call.engine.store, version["document"]) != FILE:
                return False
        return self._begins(call, data, content, memo)

    def _begins(self, call: Call, data: bytes, content: Any, memo: Any) -> bool:
        """Whether it is the beginning of the file that its writer had read, and not all of it."""
        before = self._base(call, content, memo)
        if before is None or not flat_json.difference(before, content).pointers:
            return False
        return self.write(flat_json.unflatten(before, self._keys)).startswith(_body_of(data))

    def _version(self, content: Any, memo: Any) -> Mapping[str, Any] | None:
        """The document and the version that the writer of a file had read, if a version is known."""
        return getattr(content, "version", None) or (memo if self.rests else None)

    def _base(self, call: Call, content: Any, memo: Any) -> Mapping[str, Any] | None:
        """The leaves that the writer of a file had read; None if unknown."""
        version = self._version(content, memo)
        if version is not None:
            return leaves_at(call.engine.log, str(version["document"]), int(version["version"]))
        return memo  # type: ignore[no-any-return]

    def authors(self, content: Any) -> tuple[str, ...]:  # noqa: ARG002
        return self.speakers or ("moot",)

    def observe(self, call: Call, one: Instance, content: Any, memo: Any, author: str) -> DocumentNews | None:  # noqa: ARG002
        version = self._version(content, memo)
        name = version["document"] if version else self.key(one)
        state, _ = states.state(call.engine.store, kind_of("document"), name)
        if not content and state.leaves and self.spec.emptied == "restore":
            return None
        if state.status and (self._is_past(state, content) or not flat_json.difference(state.leaves, content).pointers):
            return None
        return DocumentNews(key=name, leaves=dict(content), base=self._base(call, content, memo))

    def _is_past(self, state: Document, content: Mapping[str, Any]) -> bool:
        """Whether the file is an old copy. An equal stamp means a change."""
        there, here = content.get(self._stamp or ""), state.leaves.get(self._stamp or "")
        return isinstance(there, str) and isinstance(here, str) and there < here

    def take(self, work: Work, one: Instance, content: Any, memo: Any, facts: DocumentNews) -> Taken:  # noqa: ARG002
        name, before = facts.key, len(work.drafts)
        if not work.state("document", name).status:
            first = facts.leaves if self._initial is None else self.initial_leaves()
            work.do("document", name, self._opening(one, first))
        author, owners = self._rights(work, name)
        command = AbsorbDocument(
            author=author, leaves=facts.leaves, base=facts.base, owners=owners, wins=self.spec.wins
        )
        work.do("document", name, command)
        return Taken(notices=tuple(self._notices(work, one, name, before)))

    def _rights(self, work: Work, name: str) -> tuple[str, Mapping[str, str]]:
        """Who has changed the file, and the owners of its values."""
        pack = self._pipeline_pack()
        if pack is None:
            return self._author, self._owners
        from moot.runs.documents import author_of, owners_of

        author = author_of(work.store, name)
        return author, {**self._owners, **owners_of(pack, author)}

    def _claims(self, work: Work, name: str, values: Mapping[str, Any]) -> dict[str, str]:
        """The markers of stages among refused values, each with the reason."""
        pack = self._pipeline_pack()
        if pack is None:
            return {}
        from moot.runs.documents import unearned

        return unearned(pack, work.state("document", name).leaves, values)

    def _is_in_a_stage(self, work: Work, name: str) -> bool:
        if self._pipeline_pack() is None:
            return False
        from moot.runs.documents import FILE, author_of

        return author_of(work.store, name) != FILE

    def _pipeline_pack(self) -> Pack | None:
        """The pack, if the mirror has the documents of its pipeline."""
        pack = next((one for one in self.packs.packs if one.name == self.spec.pack), None)
        return pack if pack is not None and pack.pipeline and pack.pipeline.document == self.spec.name else None

    def _opening(self, one: Instance, first: Mapping[str, Any]) -> OpenDocument:
        mirror, worktree = f"{self.spec.pack}/{self.spec.name}", self._worktree(one.worktree)
        return OpenDocument(mirror=mirror, worktree=worktree, subject=one.subject, leaves=first)

    def _notices(self, work: Work, one: Instance, name: str, before: int) -> Iterator[Notice]:
        for draft in work.drafts[before:]:
            if draft.type == "document:refused":
                claims = self._claims(work, name, draft.data["set"])
                for pointer, why in claims.items():
                    yield Notice("marker_refused", f"{one.name}: {pointer}: true is not accepted: {why}.")
                others = [at for at in (*draft.data["set"], *draft.data.get("gone", ())) if at not in claims]
                owners = ", ".join(draft.data.get("owners", ()))
                said = f"{one.name}: {', '.join(others)} belongs to {owners}; the change was not taken."
                yield from [Notice("change_refused", said)] if others else []
            elif draft.type == "document:conflicted":
                touched = ", ".join(dict.fromkeys((*draft.data["log"], *draft.data["file"])))
                won = draft.data["won"]
                yield Notice("change_conflicted", f"{one.name}: {touched} changed in the log, too; the {won} wins.")

    def vanished(self, work: Work, one: Instance, memo: Any) -> Taken:
        name = memo["document"] if self.rests and memo else self.key(one)
        if not work.state("document", name).status:
            return Taken()
        reason = f"{one.path} was deleted"
        if self.spec.missing == "reset" and not self._is_in_a_stage(work, name):
            work.do("document", name, ResetDocument(leaves=self.initial_leaves(), reason=reason))
        else:
            work.do("document", name, RestoreDocument(reason=reason))
        return Taken()


# --- the format: JSON, or YAML for names that end with `.yml` or `.yaml` ----------------------------------------------


class JsonFormat:
    """See `moot.core.strict_json`."""

    name = "json"
    shows_its_end = True  # a file that was cut off is not valid

    def parse(self, data: bytes) -> object:
        """Raises `Torn`."""
        return strict_json.load(data)

    def write(self, content: Mapping[str, Any]) -> bytes:
        return strict_json.dump(content)


class YamlFormat(JsonFormat):
    """See `moot.core.strict_yaml`. It is loaded only to read or to write a file."""

    name = "yaml"
    shows_its_end = False

    def __init__(self, order: Mapping[str, Sequence[str]], quoted: Sequence[str]) -> None:
        self._order, self._quoted = order, quoted

    def parse(self, data: bytes) -> object:
        from moot.core import strict_yaml

        return strict_yaml.load_mapping(data)

    def write(self, content: Mapping[str, Any]) -> bytes:
        from moot.core import strict_yaml

        return strict_yaml.dump(content, self._order, self._quoted)


def _format_of(spec: MirrorSpec) -> JsonFormat:
    by_name = "yaml" if spec.path.endswith((".yml", ".yaml")) else "json"
    if spec.fields.get("format", by_name) == "json":
        return JsonFormat()
    return YamlFormat(spec.fields.get("order", {}), spec.fields.get("quoted", ()))


# --- the version in the first line of a YAML file, as a comment: `# moot: version 1234 of notes...metadata.payment` ---
#
# An editor keeps the line. So moot knows which version an edit is based on, even if the file was written again since
# the editor read it. A program that loads and dumps YAML drops the line; then the edit is taken to be based on the last
# version that was written to the file. The number is the position of the document's last event in the log.


class _FileLeaves(dict[str, "Any"]):
    """The leaves in a file, and the version that it names; None if it names none."""

    version: dict[str, Any] | None = None


def _stamped(body: bytes, document: str, version: int) -> bytes:
    return _START + f"{version}{_OF}{document}\n".encode() + body


def _body_of(data: bytes) -> bytes:
    """The content without the line."""
    text = data.removeprefix(_BOM)
    return text.partition(b"\n")[2] if text.startswith(_START) else text


def _version_of(data: bytes) -> dict[str, Any] | None:
    """The document and the version that the first line names."""
    start = data[:_LONGEST].removeprefix(_BOM)
    if not start.startswith(_START):
        return None
    line = start.partition(b"\n")[0].removeprefix(_START).decode("utf-8", "replace").strip()
    number, of, document = line.partition(_OF)
    if not of or not (number.isascii() and number.isdecimal()):
        return None
    return {"document": document, "version": int(number)}
