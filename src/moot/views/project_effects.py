"""Folding effects and free events into rows, and reading effects from them. Loaded by the first that needs it."""

from __future__ import annotations

from moot.core.compact import loads
from moot.core.deciders import effect, topic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moot.core.event import Event
    from moot.core.payload import Payload
    from moot.views.store import Store

EVENTS: dict[str, dict[str, type[Payload]]] = {"effect": effect.EVENTS, "topic": topic.EVENTS}


def _effect(store: Store, event: Event, key: str, known: type[Payload]) -> None:
    state, _ = load(store, key)
    payload = known.of(event.data)
    after = effect.evolve(state, payload, position=event.position, n=event.n, commit=event.commit, at=event.at)
    store.put(event.stream, event.position, after)
    if after.ended:
        store.run("end_effect", key)
    else:
        store.run("put_effect", key, after.handler, after.status, after.due)


def _topic(store: Store, event: Event, _key: str, _known: type[Payload]) -> None:
    store.run("put_entity", event.stream, event.position, "{}")


FOLDS: dict[str, Callable[[Store, Event, str, type[Payload]], None]] = {"effect": _effect, "topic": _topic}


def load(store: Store, name: str) -> tuple[effect.Effect, int]:
    return store.state(effect.stream(name), effect.Effect) or (effect.Effect(id=name), 0)


def version(store: Store, stream: str) -> int:
    row = store.row("entity", stream)
    return int(row[0]) if row else 0


def due(store: Store, handler: str, now: float, limit: int) -> list[str]:
    """What may be done now, the longest due first."""
    return [row[0] for row in store.rows("due_effects", handler, now, limit)]


def next_due(store: Store, handler: str) -> float | None:
    """When the next one is due that waits, in seconds since 1970."""
    row = store.row("next_effect", handler)
    return None if row is None or row[0] is None else float(row[0])


def taken(store: Store, handler: str) -> list[effect.Effect]:
    return [effect.Effect.of(loads(state)) for _, state in store.rows("taken_effects", handler)]


def counts(store: Store) -> list[tuple[str, str, int]]:
    """Of what is not done: handler, status, how many."""
    return [(handler, status, number) for handler, status, number in store.rows("effect_counts")]


def open_effects(store: Store) -> int:
    """How many will be performed, or are being."""
    return sum(number for _, status, number in counts(store) if status != "parked")


def effects(store: Store, handler: str | None, status: str | None) -> Iterator[effect.Effect]:
    """Those that are not done, read as one asks for them."""
    for _, state in store.rows("effects", handler, status):
        yield effect.Effect.of(loads(state))
