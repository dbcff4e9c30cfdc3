"""Requests the effects that a commit triggers, in that same commit: by handlers of moot.toml, and by packs.

A handler that commits while it performs an effect (`MOOT_EFFECT_KEY`) continues the chain of that effect. The decider
ends a chain that is too long, so a handler that triggers itself does not run forever.

Loaded only if moot.toml has handlers, or a pack may name some. `moot.core.handler` decides which events match a handler
of moot.toml; a pack decides for its own.
"""

from __future__ import annotations

from moot.core.deciders.effect import DEEPEST, RequestEffect
from moot.core.handler import Handler, requested
from moot.core.record import Record
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

_LETTERS = 10  # of the random part of an id: among a million ids, a collision has a chance of 1 in 2,000


def handlers_of(settings: Iterable[Mapping[str, Any]]) -> tuple[Handler, ...]:
    return tuple(Handler.of(fields) for fields in settings)


class EffectRequest(Record):
    """What a pack asks for: a handler, for the event with this number in the commit. `on`: its type for the pack.

    Requests for one event are started in their order.
    """

    handler: str
    n: int
    on: str
    deepest: int = DEEPEST


class Requests:
    """Called by the engine before it appends a commit. `during`: the key of the effect that is being performed.

    `asked`: functions of packs that decide which effects the events of a commit request.
    """

    def __init__(
        self,
        handlers: tuple[Handler, ...],
        during: str | None = None,
        asked: Sequence[Callable[[Work], Iterable[EffectRequest]]] = (),
    ) -> None:
        self.handlers = handlers
        self._during = during
        self._asked = asked

    def __call__(self, work: Work, by: str) -> None:
        drafts = tuple(work.drafts)
        for handler, n, draft in requested(drafts, by, self.handlers):
            self._request(work, RequestEffect(handler=handler.name, n=n, on=draft.type, stream=draft.stream))
        for ask in self._asked:
            before: dict[int, str] = {}  # the last request for each event
            for one in list(ask(work)):
                command = RequestEffect(
                    handler=one.handler,
                    n=one.n,
                    on=one.on,
                    stream=drafts[one.n].stream,
                    behind=before.get(one.n),
                    deepest=one.deepest,
                )
                before[one.n] = self._request(work, command)

    def _request(self, work: Work, command: RequestEffect) -> str:
        name = f"e-{work.token(_LETTERS)}"
        if self._during:
            command = command.replace(**_chained(work.store, self._during, command.deepest))
        work.do("effect", name, command)
        return name


def _chained(store: Store, during: str, deepest: int) -> dict[str, Any]:
    """The fields of a request that refer to the effect that caused it. That effect is only read, not a condition."""
    cause = states.state(store, "effect", during)[0]
    if not cause.status:
        return {}
    depth, one = cause.depth + 1, cause
    names: list[str] = []
    while depth > deepest and len(names) <= deepest and one.status:
        names.append(f"{one.handler} on {one.on} ({one.id})")
        one = states.state(store, "effect", one.after or "")[0]
    return {"after": cause.id, "depth": depth, "chain": " → ".join(reversed(names))}
