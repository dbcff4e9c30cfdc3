"""The form `status`: `status.json`, what the driver and the agents are doing. All of it follows from the log.

Nothing that the protocol defines is taken from the file. Keys that it does not know are kept in a document of the log,
which also has what the driver said (`moot.packs.orchestrator.driver_status`).
"""

from __future__ import annotations

import os

from moot.api.protocol.form import Form, Malformed, Rendering, Taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec, Packs
    from moot.api.protocol.form import Instance
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

MAILBOXES = ("mailbox/@team-lead", "mailbox/@developer")
_OF_AGENTS = ("status", "currentTask", "lastActivity")  # the keys of an agent's entry
_OF_DRIVER = ("/orchestrator", "/orchestrator/running", "/orchestrator/pid", "/orchestrator/startedAt")


class StatusForm(Form):
    """See the module."""

    fields: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"agents": {"type": "object", "additionalProperties": {"type": "string"}}},
        "required": ["agents"],
        "additionalProperties": False,
    }

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        super().__init__(spec, packs)
        self.agents: Mapping[str, str] = spec.fields["agents"]  # the key of each role's entry
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

    def read(self, data: bytes) -> dict[str, Any]:
        from moot.core import strict_json

        content = strict_json.load(data)
        if not isinstance(content, dict):
            raise Malformed("the file is not an object")
        return content

    def observe(
        self,
        call: Call,
        one: Instance,  # noqa: ARG002
        content: dict[str, Any],
        memo: Any,  # noqa: ARG002
        author: str,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """The keys of others that are new or changed."""
        from moot.core import flat_json
        from moot.views import states

        own = {f"/{key}/{name}" for key in self.agents for name in _OF_AGENTS} | {f"/{key}" for key in self.agents}
        known = states.state(call.engine.store, "document", self.document)[0].leaves
        found = {
            at: value
            for at, value in flat_json.flatten(content, {}).items()
            if at not in own and at not in _OF_DRIVER and at.split("/")[1] != "lastCycle"
        }
        return {at: v for at, v in found.items() if at not in known or not flat_json.same(known[at], v)} or None

    def take(self, work: Work, one: Instance, content: Any, memo: Any, facts: dict[str, Any]) -> Taken:  # noqa: ARG002
        from moot.packs.orchestrator.driver_status import change

        change(work, facts)
        return Taken()

    def is_due(self, call: Call) -> bool:
        """Whether a driver was killed, so that the file still shows it as running."""
        if not os.path.lexists(os.path.join(call.place.state, "drivers", f"{self.spec.pack}.running")):
            return False
        from moot.packs.orchestrator.driver_status import has_died

        return has_died(call)

    def do_due(self, work: Work, one: Instance) -> Taken:  # noqa: ARG002
        from moot.packs.orchestrator.driver_status import record_end

        return record_end(work)
