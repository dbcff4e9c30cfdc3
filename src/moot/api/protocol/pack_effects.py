"""What a pack lets happen outside the log: handlers that its own configuration names.

A pack with code names its `PackEffects` in `Protocol.effects`. Its effects are effects of moot like those of
`[[handlers]]`: requested in the commit of the event, performed by one runner, retried, parked, and only after a person
allowed them. Its handlers get the event in the form of the pack.
"""

from __future__ import annotations

from moot.core.handler import Handler, handlers_of
from moot.core.pack_code import PackCode
from moot.runs.requests import EffectRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from moot.api.answer import Notice
    from moot.api.call import Call
    from moot.api.protocol import Packs, Protocol
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.place.settings import Settings

__all__ = ["EffectRequest", "Handler", "PackEffects"]


class PackEffects:
    """The base class. A subclass overrides all three."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol

    def requests(self, work: Work) -> Iterable[EffectRequest]:  # noqa: ARG002
        """The effects that the events of a commit request. Pure."""
        return ()

    def handlers(self, call: Call, registered: Mapping[str, Mapping[str, Any]]) -> Iterable[Handler]:  # noqa: ARG002
        """The handlers that exist now. `registered`: the fields in `[pack.NAME.handlers]`, by name."""
        return ()

    def shown(self, event: Event) -> Mapping[str, Any]:
        """An event as its handlers get it."""
        return {"id": event.id, **event.full()}

    def notices(self, call: Call, events: Sequence[Event]) -> Iterable[Notice]:  # noqa: ARG002
        """Warnings about handlers of these events, which were just stored."""
        return ()


def asking(packs: Packs) -> tuple[Callable[[Work], Iterable[EffectRequest]], ...]:
    """For each pack that has effects, the function that requests them."""

    def ask(protocol: Protocol) -> Callable[[Work], Iterable[EffectRequest]]:
        def asked(work: Work) -> list[EffectRequest]:
            with PackCode(protocol.pack.name, "effects"):
                return list(_effects(protocol).requests(work))

        return asked

    return tuple(map(ask, packs.having("effects")))


def all_handlers(call: Call, settings: Settings) -> tuple[Handler, ...]:
    """The handlers of moot.toml, and those that packs name."""
    found = list(handlers_of(settings.handlers))
    for protocol in call.packs.having("effects"):
        name = protocol.pack.name
        registered = settings.pack_settings.get(name, {}).get("handlers", {})
        with PackCode(name, "effects"):
            found += _effects(protocol).handlers(call, registered)
    return tuple(found)


def event_for(call: Call, handler: Handler, event: Event) -> Mapping[str, Any]:
    """The event as a handler gets it."""
    for protocol in call.packs.having("effects"):
        if protocol.pack.name == handler.pack:
            with PackCode(handler.pack, "effects"):
                return _effects(protocol).shown(event)
    return {"id": event.id, **event.full()}


def notices(call: Call, events: Sequence[Event]) -> list[Notice]:
    """The warnings of packs about handlers of these events."""
    found: list[Notice] = []
    for protocol in call.packs.having("effects"):
        with PackCode(protocol.pack.name, "effects"):
            found += _effects(protocol).notices(call, events)
    return found


def _effects(protocol: Protocol) -> PackEffects:
    known = protocol.__dict__.get("_effects")
    if known is None:
        module, _, attribute = protocol.effects.partition(":")
        known = protocol.__dict__["_effects"] = getattr(__import__(module, fromlist=[attribute]), attribute)(protocol)
    found: PackEffects = known
    return found
