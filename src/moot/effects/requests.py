"""Requests the effects that a commit triggers, in that same commit.

A handler that commits while it performs an effect (`MOOT_EFFECT_KEY`) continues the chain of that effect. The decider
ends a chain that is too long, so a handler that triggers itself does not run forever.

Loaded only if moot.toml has handlers. `moot.core.handler` decides which events match.
"""

from __future__ import annotations

from moot.core.deciders.effect import DEEPEST, RequestEffect
from moot.core.handler import Handler, requested
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

_LETTERS = 10  # of the random part of an id: among a million ids, a collision has a chance of 1 in 2,000


def handlers_of(settings: Iterable[Mapping[str, Any]]) -> tuple[Handler, ...]:
    return tuple(Handler.of(fields) for fields in settings)


class Requests:
    """Called by the engine before it appends a commit. `during`: the key of the effect that is being performed."""

    def __init__(self, handlers: tuple[Handler, ...], during: str | None = None) -> None:
        self.handlers = handlers
        self._during = during

    def __call__(self, work: Work, by: str) -> None:
        more: dict[str, Any] | None = None
        for handler, n, draft in requested(tuple(work.drafts), by, self.handlers):
            more = _chained(work.store, self._during) if more is None else more
            command = RequestEffect(handler=handler.name, n=n, on=draft.type, stream=draft.stream, **more)
            work.do("effect", f"e-{work.token(_LETTERS)}", command)


def _chained(store: Store, during: str | None) -> dict[str, Any]:
    """The fields of a request that refer to the effect that caused it. That effect is only read, not a condition."""
    cause = states.state(store, "effect", during)[0] if during else None
    if cause is None or not cause.status:
        return {}
    depth, one = cause.depth + 1, cause
    names: list[str] = []
    while depth > DEEPEST and len(names) <= DEEPEST and one.status:
        names.append(f"{one.handler} on {one.on} ({one.id})")
        one = states.state(store, "effect", one.after or "")[0]
    return {"after": cause.id, "depth": depth, "chain": " → ".join(reversed(names))}
