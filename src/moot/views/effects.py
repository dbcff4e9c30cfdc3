"""Queries for open effects, as needed by the runners."""

from __future__ import annotations

from moot.core.deciders.effect import Effect
from moot.core.json_codec import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.views.store import Store


def due(store: Store, handler: str, now: float, limit: int) -> list[str]:
    """The ids of effects that are due now, the longest due first."""
    return [row[0] for row in store.rows("due_effects", handler, now, limit)]


def next_due(store: Store, handler: str) -> float | None:
    """When the next waiting effect is due, in seconds since 1970."""
    due: float | None = store.value("next_effect", handler)
    return due


def taken(store: Store, handler: str) -> list[Effect]:
    return [Effect.of(loads(state)) for _, state in store.rows("taken_effects", handler)]


def counts(store: Store) -> list[tuple[str, str, int]]:
    """The open effects: handler, status, count."""
    return [(handler, status, number) for handler, status, number in store.rows("effect_counts")]


def open_effects(store: Store) -> int:
    """The number of effects that are waiting or being performed."""
    return sum(number for _, status, number in counts(store) if status != "parked")


def effects(store: Store, handler: str | None, status: str | None) -> Iterator[Effect]:
    """The open effects, read lazily."""
    for _, state in store.rows("effects", handler, status):
        yield Effect.of(loads(state))


def all_effects(store: Store) -> list[Effect]:
    """Every effect, also those that are over, the newest first."""
    found = [Effect.of(loads(state)) for _, _, state in store.rows("entities", "effect/", "effect0")]
    return sorted(found, key=lambda one: -one.event)
