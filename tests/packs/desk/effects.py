"""Handlers of the help desk: those named in `at_opening` hear of each opening, in that order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from moot.api.answer import Notice
from moot.api.protocol.pack_effects import EffectRequest, Handler, PackEffects

if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work


class DeskEffects(PackEffects):
    """See the module."""

    def requests(self, work: Work) -> Iterator[EffectRequest]:
        for n, draft in enumerate(work.drafts):
            if draft.type == "desk:opened":
                for name in self.protocol.settings["at_opening"]:
                    yield EffectRequest(handler=f"desk/{name}", n=n, on="opening", deepest=2)

    def handlers(self, call: Call, registered: Mapping[str, Mapping[str, Any]]) -> Iterator[Handler]:  # noqa: ARG002
        for name, fields in registered.items():
            yield Handler.of({"name": f"desk/{name}", "on": (), "pack": "desk", **fields})

    def shown(self, event: Event) -> Mapping[str, Any]:
        return {"type": "opening", **event.data}

    def notices(self, call: Call, events: Sequence[Event]) -> Iterator[Notice]:
        if any(event.type == "desk:opened" for event in events):
            known = call.settings.pack_settings["desk"].get("handlers", {})
            for name in self.protocol.settings["at_opening"]:
                if name not in known:
                    yield Notice("desk_handler_missing", f"There is no handler {name}.")
