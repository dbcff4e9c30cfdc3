"""The form `feed-list`: one list of a pack's feed, such as its decisions, as a list in an object.

The rows follow from the entries of the feed (`feed:listed`). A row that an agent adds by hand becomes an event, as if
it had been emitted. Known rows are matched by content and count; one with an id is known however often it is there. The
`fields` of the mirror:

    author    the role that writes to the file
    entries   the key of the list in the file
    list      the name of the list
    event     the type of the event that an added row becomes
    key       the key of a row's id
    derived   keys of a row that the event does not have, each with the key that it stands for, or ""
"""

from __future__ import annotations

from moot.core.deciders.feed import fingerprint
from moot.core.errors import Refused
from moot.core.schema.phrases import shown
from moot.mirrors.forms.feed import FeedForm
from moot.views import feeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.protocol import MessageType, MirrorSpec, Packs
    from moot.api.protocol.form import Instance
    from moot.core.deciders.feed import Feed
    from moot.core.errors import MootError
    from moot.views.store import Store

_NAME = {"type": "string", "minLength": 1}


def row_print(mirror: str, row: Mapping[str, Any]) -> str:
    """The fingerprint of a row in this file. Other files of the feed have other fingerprints."""
    return f"{mirror}:{fingerprint(row)}"


class FeedListForm(FeedForm):
    """See the module."""

    fields: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            **dict.fromkeys(("author", "entries", "list", "event", "key"), _NAME),
            "derived": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["author", "entries", "list", "event"],
        "additionalProperties": False,
    }

    @classmethod
    def misfits(cls, fields: Mapping[str, Any], roles: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
        if fields["author"] not in roles:
            yield ("author",), f"there is no role {fields['author']!r}; known: {', '.join(roles) or 'none'}"

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        super().__init__(spec, packs)
        self._rows, self._event = spec.fields["list"], spec.fields["event"]
        self._key: str | None = spec.fields.get("key")
        self._derived: Mapping[str, str] = spec.fields.get("derived", {})

    def _text(self, store: Store, state: Feed, one: Instance) -> bytes:  # noqa: ARG002
        return feeds.list_text(store, self._feed, self._rows).encode()

    def _texts(self, store: Store, one: Instance) -> Iterator[tuple[int, str]]:  # noqa: ARG002
        return iter(())

    def kind_of(self, entry: Mapping[str, Any]) -> str:  # noqa: ARG002
        return str(self._event)

    def spec_of(self, entry: Any) -> MessageType | MootError:
        spec = self.packs.binding(self._event)
        if isinstance(entry, dict) and spec is not None:
            return spec
        return Refused(
            "unknown_type",
            f"An entry is not a row of this list: expected an object, found {shown(entry)}.",
            "Correct it.",
        )

    def said(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """The row as an event: a derived key gives its value to the key that it stands for, if that is missing."""
        own = {key: value for key, value in entry.items() if key not in self._derived}
        meant = {key: entry[name] for name, key in self._derived.items() if key and name in entry}
        return {**meant, **own}

    def number_of(self, entry: Mapping[str, Any]) -> int | None:  # noqa: ARG002
        return None

    def copied(self, entry: Any, known: Sequence[int], used: set[int]) -> int | None:  # noqa: ARG002
        return known[0] if known and self._key in entry else None

    def _print(self, entry: Mapping[str, Any]) -> str:
        return row_print(self.spec.name, entry)
