"""The form `board`: an object whose keys show lists of a pack's feed, beside keys that agents put there themselves.

moot keeps the listed keys. All others belong to the agents: they are a document (`moot.core.deciders.document`), so
that changes of different keys never get lost. A key that is missing in the file is written again: an agent with an old
copy does not know it. The `fields` of the mirror:

    author    the role that writes to the file
    lists     the keys that moot keeps, each with the name of a list and its shape: `list`, `table` (an object by key),
              or `value` (the first row, or null); with `most`, a list shows only so many of its newest rows
    order     the order of the keys; others follow
    initial   keys of the agents that a new file has
    output    true: there are no other keys, and moot only writes the file
"""

from __future__ import annotations

from moot.api.protocol.form import Malformed, Rendering, Taken
from moot.core import flat_json
from moot.core.json_codec import dumps
from moot.core.kind import kind_of
from moot.core.record import Record
from moot.mirrors.forms.document import DocumentForm
from moot.views import feeds, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec, Packs
    from moot.api.protocol.form import Instance
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.mirrors.forms.document import DocumentNews
    from moot.views.store import Store

_NAME = {"type": "string", "minLength": 1}
_SHAPES = ("list", "table", "value")
_REMEMBERED = 8  # renderings


class BoardContent(Record):
    """The keys of the agents as leaves, and a fingerprint of each key that moot keeps."""

    leaves: dict[str, Any]
    kept: dict[str, str]


class BoardForm(DocumentForm):
    """See the module."""

    fields: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "author": _NAME,
            "lists": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": {
                        "list": _NAME,
                        "as": {"enum": list(_SHAPES)},
                        "most": {"type": "integer", "minimum": 1},
                    },
                    "required": ["list", "as"],
                    "additionalProperties": False,
                },
            },
            "order": {"type": "array", "items": _NAME},
            "initial": {"type": "object"},
            "output": {"type": "boolean"},
        },
        "required": ["author", "lists"],
        "additionalProperties": False,
    }
    durable = False  # everything in it is in the log
    notes_deletions = False  # it is written again, and nothing else

    @classmethod
    def misfits(cls, fields: Mapping[str, Any], roles: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
        if fields["author"] not in roles:
            yield ("author",), f"there is no role {fields['author']!r}; known: {', '.join(roles) or 'none'}"
        for key in fields.get("initial", {}):
            if key in fields["lists"]:
                yield ("initial", key), f"moot keeps {key}: see `lists`"

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        super().__init__(spec, packs)
        self._lists: Mapping[str, Mapping[str, Any]] = spec.fields["lists"]
        self._initial = spec.fields.get("initial", {})
        self._order: Sequence[str] = spec.fields.get("order", ())
        self._output = bool(spec.fields.get("output"))

    def follows(self, event: Event) -> bool:
        if event.type == "feed:listed":
            return event.stream == f"feed/{self.spec.pack}" and event.data["list"] in self._names
        return not self._output and super().follows(event)

    @property
    def _names(self) -> set[str]:
        return {one["list"] for one in self._lists.values()}

    # --- from the log to the file ------------------------------------------------------------------------------------

    def render(self, store: Store, one: Instance) -> Rendering:
        leaves = self._leaves(store, one)
        texts = {key: self._listed(store, **how) for key, how in self._lists.items()}
        kept = {} if self._output else {key: _digest(text) for key, text in texts.items()}
        texts |= {key: feeds.shown(value, "  ") for key, value in flat_json.unflatten(leaves, {}).items()}
        ordered = dict.fromkeys((*(key for key in self._order if key in texts), *texts))
        body = ",\n  ".join(f"{dumps(key)}: {texts[key]}" for key in ordered)
        return Rendering(data=f"{{\n  {body}\n}}\n".encode(), memo=[{"leaves": leaves, "kept": kept}])

    def remember(self, before: Any, memo: Any) -> Any:
        """The last renderings, the newest first: a slow writer may have read an older one."""
        earlier = before if isinstance(before, (list, tuple)) else ()
        return [*memo, *(one for one in earlier if one not in memo)][:_REMEMBERED]

    def _leaves(self, store: Store, one: Instance) -> dict[str, Any]:
        state, _ = states.state(store, kind_of("document"), self.key(one))
        return state.leaves if state.status else flat_json.flatten(self._initial or {}, {})

    def _listed(self, store: Store, **how: Any) -> str:
        """A key that moot keeps, indented for its place."""
        feed, name = self.spec.pack, how["list"]
        match how["as"]:
            case "list":
                text = feeds.list_text(store, feed, name, how.get("most"))
                return f"[\n{feeds.PLACE}{text}\n  ]" if text else "[]"
            case "table":
                text = feeds.table_text(store, feed, name)
                return f"{{\n{feeds.PLACE}{text}\n  }}" if text else "{}"
            case _:
                found = next(iter(feeds.rows(store, feed, name).values()), None)
                return feeds.shown(found, "  ")

    # --- from the file to the log ------------------------------------------------------------------------------------

    def read(self, data: bytes) -> Any:
        content = self.parse(data)
        if not isinstance(content, dict):
            raise Malformed("the file is not an object")
        kept = {key: _digest(feeds.shown(content[key], "  ")) for key in self._lists if key in content}
        others = {key: value for key, value in content.items() if key not in self._lists}
        return BoardContent(leaves=flat_json.flatten(others, {}), kept=kept)

    def authors(self, content: Any) -> tuple[str, ...]:
        return () if self._output else super().authors(content)

    def observe(self, call: Call, one: Instance, content: Any, memo: Any, author: str) -> DocumentNews | None:
        copies = list(memo) if isinstance(memo, (list, tuple)) else []
        base = next((copy for copy in copies if copy["kept"] == content.kept), None)
        if base is None and copies:
            base = copies[0]
            for key, digest in content.kept.items():
                if base["kept"].get(key) != digest:
                    call.warn("change_refused", f"{one.name}: moot keeps {key}; the change in the file was not taken.")
        known = self._leaves(call.engine.store, one)
        there = {_top(at) for at in content.leaves}
        missing = {at: value for at, value in known.items() if _top(at) not in there}
        leaves = {**content.leaves, **missing}
        if missing and content.leaves:
            names = ", ".join(dict.fromkeys(_top(at) for at in missing))
            call.warn("key_restored", f"{one.name}: {names} was missing and is back. To clear a key, set it to null.")
        if not flat_json.difference(known, leaves).pointers:
            return None
        return super().observe(call, one, leaves, base["leaves"] if base else None, author)

    def take(self, work: Work, one: Instance, content: Any, memo: Any, facts: DocumentNews) -> Taken:
        return super().take(work, one, content.leaves, memo, facts)


def _top(at: str) -> str:
    """The first name of a pointer."""
    return at.split("/", 2)[1]


def _digest(text: str) -> str:
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

    return blake2b(text.encode(), digest_size=12).hexdigest()
