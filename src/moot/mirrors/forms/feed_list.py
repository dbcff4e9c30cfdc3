"""The form `feed-list`: one list of a pack's feed, such as its decisions, as a list in an object.

The rows follow from the entries of the feed (`feed:listed`). A row that an agent adds or edits by hand is held. The
`fields` of the mirror:

    author    the role that writes to the file
    entries   the key of the list in the file
    list      the name of the list
    event     the type of the event to emit instead of adding a row
"""

from __future__ import annotations

from moot.api.protocol.form import Form
from moot.core.errors import Refused
from moot.mirrors.forms.feed import FeedForm
from moot.views import feeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.protocol import MirrorSpec, Packs
    from moot.api.protocol.form import Instance
    from moot.core.deciders.feed import Feed
    from moot.core.schema import Defect
    from moot.mirrors.forms.feed import FeedContent
    from moot.views.store import Store

_NAME = {"type": "string", "minLength": 1}


class FeedListForm(FeedForm):
    """See the module."""

    fields: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": dict.fromkeys(("author", "entries", "list", "event"), _NAME),
        "required": ["author", "entries", "list", "event"],
        "additionalProperties": False,
    }

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        super().__init__(spec, packs)
        self._rows, self._event = spec.fields["list"], spec.fields["event"]

    def _text(self, store: Store, state: Feed, one: Instance) -> bytes:  # noqa: ARG002
        return feeds.list_text(store, self._feed, self._rows).encode()

    def _texts(self, store: Store, one: Instance) -> Iterator[tuple[int, str]]:  # noqa: ARG002
        return iter(())

    def _compared(self, store: Store, content: FeedContent, one: Instance) -> list[tuple[int, Any]]:  # noqa: ARG002
        known = list(feeds.rows(store, self._feed, self._rows).values())
        return [(place, entry) for place, entry in enumerate(content.entries) if entry not in known]

    def _adopted(self, entries: Sequence[Any], last: int) -> dict[int, int]:  # noqa: ARG002
        return {}

    def spec_of(self, entry: Any) -> Refused:  # noqa: ARG002
        return Refused(
            "written_by_moot",
            f"{self.spec.path} is written by moot: an entry that is added or changed by hand is not taken.",
            f"Emit {self._event} instead.",
        )

    def vet(self, data: bytes) -> list[Defect]:
        return Form.vet(self, data)
