"""Attempts at effects, their results, and the handlers that this machine can run."""

from __future__ import annotations

import os

from moot.core.deciders.effect import Done, Parked
from moot.core.errors import MootError
from moot.core.record import Record
from moot.core.text import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moot.core.deciders.effect import Effect
    from moot.core.handler import Handler
    from moot.effects.commands import Result
    from moot.effects.consent import Consent
    from moot.effects.pinned import PinnedHandler
    from moot.engine.engine import Outcome
    from moot.engine.runners import EffectLock


class Performed(Record):
    """The result of one attempt: done, failed (it will be retried), parked, or lost to another runner."""

    id: str
    handler: str
    on: str
    outcome: str
    attempt: int
    detail: str = ""


class Hint(Record):
    """A notice for the user of a runner."""

    code: str
    message: str


class Attempt:
    """An effect that a runner takes. `over`: the dead runner that held it, and the number of its attempt."""

    def __init__(
        self, effect: Effect, handler: Handler, hold: EffectLock | None = None, over: tuple[str, int] | None = None
    ) -> None:
        self.effect = effect
        self.handler = handler
        self.hold = hold
        self.over = over
        self.jitter = int.from_bytes(os.urandom(4)) / (1 << 32)  # for the pause after a failure
        self.result: Result | None = None
        self.pinned: PinnedHandler | None = None  # the allowed content that is performed

    def release(self) -> None:
        if self.hold is not None:
            self.hold.release()
            self.hold = None

    def performed(self, outcome: str, detail: str) -> Performed:
        effect = self.effect
        return Performed(
            id=effect.id,
            handler=effect.handler,
            on=effect.on,
            outcome=outcome,
            attempt=effect.attempt,
            detail=detail,
        )

    def recorded(self, outcome: Outcome) -> Performed:
        """The result as recorded in the log."""
        stream = f"effect/{self.effect.id}"
        last = next(event for event in reversed(outcome.events) if event.stream == stream)
        word = {Done.type: "done", Parked.type: "parked"}.get(last.type, "failed")
        return self.performed(word, str(last.data.get("detail") or last.data.get("reason") or ""))


class RunnableHandlers:
    """The handlers, and which of them can run here: those that a person allowed."""

    def __init__(self, handlers: Callable[[], tuple[Handler, ...]], consent: Consent) -> None:
        self._read = handlers
        self._consent = consent
        self._known: tuple[Handler, ...] = ()
        self._hinted: set[tuple[str, str]] = set()
        self.ready: list[Handler] = []

    def refresh(self) -> Iterator[Hint]:
        """Read the settings and the consent again. Yields each obstacle once."""
        try:
            self._known = self._read()
        except MootError as error:
            if not self._known:
                raise
            yield from self._once(error.code, "", f"{error.message} The previous handlers stay in use.")
        ready = []
        for handler in self._known:
            if self.granted(handler) is not None:
                ready.append(handler)
            else:
                yield from self._once("not_allowed", handler.content, self._unallowed(handler))
        self.ready = ready

    def granted(self, handler: Handler) -> PinnedHandler | None:
        """What the handler would do now, if exactly that is allowed; otherwise None."""
        return self._consent.granted(handler)

    def _unallowed(self, handler: Handler) -> str:
        trouble = self._consent.pinned(handler).trouble
        if trouble is not None:
            return f"{handler.name} waits: {trouble}."
        waiting = f"{handler.name} waits: nobody allowed it on this machine. It would {handler.what}."
        return f"{waiting} To inspect and allow it, run `{command_line('allow', handler.name)}`"

    def _once(self, code: str, about: str, message: str) -> Iterator[Hint]:
        if (code, about) not in self._hinted:
            self._hinted.add((code, about))
            yield Hint(code, message)
