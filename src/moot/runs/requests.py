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
    from collections.abc import Callable, Iterable, Sequence

    from moot.core.deciders.effect import Effect
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

_LETTERS = 10  # of the random part of an id: among a million ids, a collision has a chance of 1 in 2,000


class EffectRequest(Record):
    """What a pack asks for: a handler, for the event with this number in the commit. `on`: its type for the pack."""

    handler: str
    n: int
    on: str
    deepest: int = DEEPEST


class Requests:
    """Called by the engine before it appends a commit. `after`: the key of the effect whose handler makes this call.

    `asked`: functions of packs that decide which effects the events of a commit request.
    """

    def __init__(
        self,
        handlers: tuple[Handler, ...],
        after: str | None = None,
        asked: Sequence[Callable[[Work], Iterable[EffectRequest]]] = (),
    ) -> None:
        self.handlers = handlers
        self._after = after
        self._asked = asked

    def __call__(self, work: Work, by: str) -> None:
        drafts = tuple(work.drafts)
        for handler, n, draft in requested(drafts, by, self.handlers):
            self._request(work, RequestEffect(handler=handler.name, n=n, on=draft.type, stream=draft.stream))
        for ask in self._asked:
            for one in list(ask(work)):
                stream = drafts[one.n].stream
                command = RequestEffect(handler=one.handler, n=one.n, on=one.on, stream=stream, deepest=one.deepest)
                self._request(work, command)

    def _request(self, work: Work, command: RequestEffect) -> None:
        name = f"e-{work.token(_LETTERS)}"
        if self._after and states.state(work.store, "effect", self._after)[0].status:
            command = command.replace(after=self._after)
        work.do("effect", name, _chained(work.store, command))


def _chained(store: Store, command: RequestEffect) -> RequestEffect:
    """The request with its depth in the chain. The effects before it are only read, they are not conditions."""
    cause = _before(store, command)
    if cause is None:
        return command
    one: RequestEffect | Effect = command
    depth, names = cause.depth + 1, list[str]()
    while depth > command.deepest >= len(names) and (before := _before(store, one)) is not None:
        names.append(f"{before.handler} on {before.on} ({before.id})")
        one = before
    return command.replace(depth=depth, chain=" → ".join(reversed(names)))


def _before(store: Store, one: RequestEffect | Effect) -> Effect | None:
    """The effect that it follows in a chain."""
    found: Effect | None = states.state(store, "effect", one.after)[0] if one.after else None
    return found if found is not None and found.status else None
