"""The form `status`: `status.json`, what the driver and the agents are doing. All of it follows from the log.

An agent may say in its own entry what it is doing: a status word that the protocol knows is its reported status, until
the log shows something newer about it. Any other word is held. What the driver has set cannot be changed in the file.
Keys that the pack does not know are kept in the same document (`moot.packs.orchestrator.statuses`).
"""

from __future__ import annotations

import os

from moot.api.protocol.form import Form, Malformed, Rendering, Taken
from moot.core.principal import role
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec, Packs
    from moot.api.protocol.form import Instance
    from moot.core.event import Event
    from moot.core.schema import Defect
    from moot.engine.unit_of_work import Work
    from moot.packs.orchestrator.status_edits import StatusNews
    from moot.views.store import Store

MAILBOXES = ("mailbox/@team-lead", "mailbox/@developer")


class StatusContent(Record):
    """The parsed content of the file."""

    content: dict[str, Any]
    data: bytes


class StatusForm(Form):
    """See the module."""

    fields: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "agents": {"type": "object", "additionalProperties": {"type": "string"}},
            "words": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["agents", "words"],
        "additionalProperties": False,
    }

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        super().__init__(spec, packs)
        self.agents: Mapping[str, str] = spec.fields["agents"]  # the key of each role's entry
        self.words: tuple[str, ...] = tuple(spec.fields["words"])
        self.speakers = tuple(role(name) for name in self.agents.values())
        self.document = f"{spec.pack}.-.{spec.name}"  # the same in every worktree
        self.kinds = tuple(kind.name for pack in packs.packs if pack.name == spec.pack for kind in pack.messages)

    def follows(self, event: Event) -> bool:
        if event.type == "message:sent":
            return event.data.get("kind") in self.kinds
        stream = event.stream
        return stream.startswith("task/") or stream in MAILBOXES or stream == f"document/{self.document}"

    def render(self, store: Store, one: Instance) -> Rendering:  # noqa: ARG002 (the same in every worktree)
        from moot.packs.orchestrator.statuses import rendered

        return rendered(self, store)

    def read(self, data: bytes) -> StatusContent:
        from moot.api.protocol import strict_json

        content = strict_json.load(data)
        if not isinstance(content, dict):
            raise Malformed("the file is not an object")
        return StatusContent(content=content, data=data)

    def vet(self, data: bytes) -> list[Defect]:
        if unread := super().vet(data):
            return unread
        from moot.packs.orchestrator.status_edits import defects_of

        return defects_of(self, self.read(data).content)

    def authors(self, content: Any) -> tuple[str, ...]:  # noqa: ARG002
        return self.speakers

    def observe(self, call: Call, one: Instance, content: StatusContent, memo: Any, author: str) -> StatusNews | None:  # noqa: ARG002
        from moot.packs.orchestrator.status_edits import compared

        return compared(self, call, content, memo, author)

    def take(self, work: Work, one: Instance, content: StatusContent, memo: Any, facts: StatusNews) -> Taken:  # noqa: ARG002
        from moot.packs.orchestrator.status_edits import take

        return take(self, work, one, content, facts)

    def is_due(self, call: Call) -> bool:
        """Whether a driver was killed, so that the file still shows it as running."""
        if not os.path.lexists(os.path.join(call.place.state, "drivers", f"{self.spec.pack}.running")):
            return False
        from moot.packs.orchestrator.driver_status import has_died

        return has_died(call)

    def do_due(self, work: Work, one: Instance) -> Taken:  # noqa: ARG002
        from moot.packs.orchestrator.driver_status import record_end

        return record_end(work)
