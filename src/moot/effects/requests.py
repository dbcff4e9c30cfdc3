"""Requesting effects: what the handlers want done because of a commit, in that same commit.

A commit that is made while an effect is performed, by what performs it (`MOOT_EFFECT_KEY`), goes on with its chain: the
decider ends a chain that has become too long, so a handler that causes its own event does not run for ever.

Loaded only where moot.toml has handlers. What fits is `moot.core.handler`'s to say.
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

_LETTERS = 10  # of the random part of an id: a million of them, and one chance in two thousand that two are the same


def handlers_of(settings: Iterable[Mapping[str, Any]]) -> tuple[Handler, ...]:
    return tuple(Handler.of(fields) for fields in settings)


class Requests:
    """What the engine calls when a commit was decided and is about to be appended. `during`: an effect, by its key."""

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
    """What a request says of the effect that it comes of. That one is looked at, and may change meanwhile."""
    cause = states.state(store, "effect", during)[0] if during else None
    if cause is None or not cause.status:
        return {}
    depth, one = cause.depth + 1, cause
    names: list[str] = []
    while depth > DEEPEST and len(names) <= DEEPEST and one.status:
        names.append(f"{one.handler} on {one.on} ({one.id})")
        one = states.state(store, "effect", one.after or "")[0]
    return {"after": cause.id, "depth": depth, "chain": " → ".join(reversed(names))}
