"""Custom handlers: `custom:notify` in `.planning/config.json` runs `[pack.gsd.handlers.notify]` of moot.toml.

It gets the event of the blackboard on standard input. Custom handlers are effects of moot, and run only after a person
allowed them on the machine. `moot effects` and `moot allow` show them as `gsd/notify`.
"""

from __future__ import annotations

from moot.api.protocol.pack_effects import EffectRequest, Handler, PackEffects
from moot.core.deciders.feed import Posted
from moot.packs.gsd.handlers import CUSTOM, PACK
from moot.packs.gsd.sources import known_handlers
from moot.views import effects as view
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work

DEEPEST = 10  # events, each emitted by a handler of the one before
TIMEOUT = 30.0
STREAM = f"feed/{PACK}"


class GsdEffects(PackEffects):
    """See the module."""

    def requests(self, work: Work) -> Iterator[EffectRequest]:
        for n, draft in enumerate(work.drafts):
            if draft.type == Posted.type and draft.stream == STREAM:
                kind = str(draft.data["event"].get("type", ""))
                for name in draft.data.get("handled", ()):
                    if name.startswith(CUSTOM):
                        handler = f"{PACK}/{name.removeprefix(CUSTOM)}"
                        yield EffectRequest(handler=handler, n=n, on=kind, deepest=DEEPEST)

    def handlers(self, call: Call, registered: Mapping[str, Mapping[str, Any]]) -> Iterator[Handler]:
        store = call.engine.read()
        named = (name for names in known_handlers(store).values() for name in names)
        waiting = (name.removeprefix(f"{PACK}/") for name, _, _ in view.counts(store) if name.startswith(f"{PACK}/"))
        for name in dict.fromkeys((*named, *waiting)):
            if name in registered and "wrong" not in registered[name]:
                usual = {"name": f"{PACK}/{name}", "on": (), "pack": PACK, "timeout": TIMEOUT}
                yield Handler.of({**usual, **registered[name]})

    def shown(self, event: Event) -> Mapping[str, Any]:
        return Posted.of(event.data).shown


def cause_of(call: Call) -> int:
    """The number of the event whose handler makes this call; 0 if the caller is not a handler."""
    key = call.env.get("MOOT_EFFECT_KEY")
    effect = states.state(call.engine.read(), "effect", key)[0] if key else None
    if effect is None or not effect.status or effect.stream != STREAM:
        return 0
    event = next(iter(call.engine.log.read(max(0, effect.event - 1), 1)), None)
    return int(event.data.get("number", 0)) if event is not None and event.type == Posted.type else 0
