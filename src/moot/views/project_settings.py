"""Folding which rules were in force, and reading it. Loaded by the first that needs it."""

from __future__ import annotations

from moot.core.deciders import settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.core.event import Event
    from moot.core.payload import Payload
    from moot.views.store import Store

EVENTS: dict[str, dict[str, type[Payload]]] = {settings.STREAM: settings.EVENTS}


def _settings(store: Store, event: Event, _key: str, known: type[Payload]) -> None:
    after = settings.evolve(load(store)[0], known.of(event.data))
    store.put(event.stream, event.position, after)
    store.note_rules(settings.text(after.values))


FOLDS: dict[str, Callable[[Store, Event, str, type[Payload]], None]] = {settings.STREAM: _settings}


def load(store: Store) -> tuple[settings.Rules, int]:
    return store.state(settings.STREAM, settings.Rules) or (settings.Rules(), 0)
