"""Finds the effects that a runner may take: those that are due, and those that a dead runner abandoned.

A runner counts as dead for an effect if nobody holds the lock of the effect, or if the runner was silent for longer
than its lease. Locks and silence are measured on this machine, where the log is.
"""

from __future__ import annotations

import os

from moot.core.deciders.effect import TakeEffect
from moot.core.task.leases import has_lapsed
from moot.effects.attempts import Attempt
from moot.engine import runners
from moot.views import effects as view
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.deciders.effect import Effect
    from moot.core.handler import Handler
    from moot.engine.engine import Engine
    from moot.engine.presence import Presence

_GRACE = 30.0  # seconds of silence beyond the timeout, after which a runner counts as dead
_INSPECTION = 0.5  # seconds between searches for abandoned effects


class DueEffects:
    """The effects that one runner may take. Also the runner's name and its presence.

    `ready`: the handlers that it can run now.
    """

    ready: frozenset[str] = frozenset()

    def __init__(self, engine: Engine, presence: Presence, state: str) -> None:
        self._engine = engine
        self._clock = engine.clock
        self._presence = presence
        self._state = state
        self._call, self._pid = f"runner-{self._clock.token(8)}", os.getpid()
        self.name = f"{self._call}#{self._pid}"
        self._inspected = float("-inf")
        self.inspects = True  # whether this round searches for abandoned effects

    def begin(self, *, inspect: bool = False) -> None:
        """Begin a round. `inspect`: search for abandoned effects in any case."""
        now = self._clock.monotonic()
        self.inspects = inspect or now - self._inspected > _INSPECTION
        if self.inspects:
            self._inspected = now

    def stamp(self) -> None:
        self._presence.stamp(self._call, self._pid)

    def forget(self) -> None:
        self._presence.forget(self._call, self._pid)

    def command(self, attempt: Attempt, now: float) -> TakeEffect:
        handler = attempt.handler
        return TakeEffect(
            runner=self.name,
            now=now,
            ttl=handler.timeout + _GRACE,
            limit=handler.attempts,
            over=attempt.over,
        )

    def found(self, handler: Handler, room: int) -> list[Attempt]:
        """Up to `room` effects, each with its lock. The caller releases those that it does not take."""
        abandoned = self._abandoned(handler, room) if self.inspects else []
        return abandoned + self._due(handler, room - len(abandoned))

    def _due(self, handler: Handler, room: int) -> list[Attempt]:
        store, found = self._engine.store, []
        for name in view.due(store, handler.name, self._clock.wall_seconds(), max(0, room)):
            effect = states.state(store, "effect", name)[0]
            hold = runners.lock_effect(self._state, name, self.name)
            if hold is not None:  # else another runner is about to take it
                found.append(Attempt(effect, handler, hold))
        return found

    def _is_silent(self, effect: Effect) -> bool:
        return has_lapsed(self._presence.silence_of(effect.runner or ""), effect.ttl)

    def _abandoned(self, handler: Handler, room: int) -> list[Attempt]:
        found: list[Attempt] = []
        for effect in view.taken(self._engine.store, handler.name):
            if len(found) >= room:
                break
            if effect.runner is None:
                continue
            hold = runners.lock_effect(self._state, effect.id, self.name)
            if hold is None and effect.runner != self.name and self._is_silent(effect):
                hold = runners.take_over(self._state, effect.id, self.name, effect.runner)
            if hold is not None:
                found.append(Attempt(effect, handler, hold, (effect.runner, effect.attempt)))
        return found
