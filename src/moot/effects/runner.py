"""The runner: takes effects that are due, performs them in parallel, and records their outcomes.

Only the caller's thread uses the log. It takes effects and appends outcomes, many in one commit. Each effect runs in
its own thread, so a slow one does not block others. The number of parallel effects per handler is limited. A message
is sent in the commit that ends its effect, so it is sent exactly once.

A command may write into files that moot takes in (`moot.mirrors`). Who wrote an entry is not known, only which effects
were being performed. So the runner has the files taken in before it takes an effect, and again before it ends one.

`moot.core.deciders.effect` and the consent on this machine (`moot.effects.consent`) decide what may be performed.
"""

from __future__ import annotations

import threading  # noqa: TID253 (this module itself is loaded on demand)
from queue import Empty, SimpleQueue

from moot.core.deciders.effect import FailEffect, FinishEffect
from moot.core.errors import Held, MootError, Refused, Unavailable, Unknown
from moot.core.integrity.redaction import is_redacted
from moot.core.record import Record
from moot.effects.attempts import Attempt, Hint, Performed
from moot.effects.commands import EffectInput, Result, run
from moot.effects.due_effects import DueEffects
from moot.engine import runners
from moot.views import effects as view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from moot.core.deciders.effect import Effect
    from moot.core.event import Event
    from moot.core.handler import Handler
    from moot.effects.attempts import RunnableHandlers
    from moot.engine.engine import Engine
    from moot.engine.presence import Presence
    from moot.engine.unit_of_work import Work

_PLACES = 32  # parallel effects of all handlers
_TICK = 0.1  # seconds between reads of the log while an effect is performed
_ROUND = 2.0  # seconds between presence stamps, and between reads of settings and consent
_PAUSE = 1.0
_PATIENCE = 10.0  # seconds to wait for running effects when the runner stops, and for a torn file before one ends
_NOT_OURS = (Held, Refused, Unknown)  # another runner took it, or a restored backup does not contain it
_REDACTED = Result(ok=False, detail="its event was redacted", hopeless=True)


class RunnerSetup(Record):
    """The configuration of a runner: principal, state directory, handlers, and how to send messages."""

    state: str
    env: Mapping[str, str]
    by: Callable[[Work], str]
    handlers: RunnableHandlers
    deliver: Callable[[Work, Handler, Event], None]
    shown: Callable[[Handler, Event], Mapping[str, Any]]  # the event as the handler gets it
    alive: Callable[[], None]  # called every `_ROUND`
    absorb: Callable[[], frozenset[str]] = frozenset  # takes in files; returns what cannot be taken in now


class Runner:
    """A runner: `perform` takes and performs effects."""

    def __init__(self, engine: Engine, presence: Presence, setup: RunnerSetup) -> None:
        self._engine = engine
        self._clock = engine.clock
        self._setup = setup
        self._due_effects = DueEffects(engine, presence, setup.state)
        self.name = self._due_effects.name
        self._attempts: dict[str, Attempt] = {}
        self._ended: SimpleQueue[Attempt] = SimpleQueue()
        self._unrecorded: list[Attempt] = []  # ended, but not yet in the log
        self._cancel = threading.Event()
        self._refreshed = float("-inf")
        self._last_round = False
        self._obstacles: frozenset[str] = frozenset()  # to taking in files, from before the running effects
        self._settling: float | None = None  # since when ended effects wait for files to be taken in

    def perform(self, *, drain: bool, limit: int | None) -> Iterator[Performed | Hint]:
        """Perform effects until interrupted, until none is due (`drain`), or until `limit` have ended."""
        running = runners.Running(self._setup.state)
        left = 1 << 62 if limit is None else limit
        trouble = None
        try:
            while left > 0:
                try:
                    yield from self._refresh()
                    head = self._engine.log.head()  # first: `follow` reports everything after it
                    found = [*self._record_ended(), *self._take_due(left)]
                    trouble = None
                except Unavailable as error:
                    if drain or error.code == "log_version":
                        raise
                    if trouble != error.code:
                        yield Hint(error.code, f"{error.message} Trying again. {error.remedy}")
                    trouble = error.code
                    self._cancel.wait(_PAUSE)
                    continue
                yield from found
                left -= len(found)
                if found:
                    continue
                if not drain or self._attempts:
                    self._wait(head)
                elif self._due_effects.inspects:
                    return
                else:
                    self._last_round = True  # one more round, to find abandoned effects
        finally:
            self._stop()
            running.close()
            self._due_effects.forget()

    # --- taking ------------------------------------------------------------------------------------------------------

    def _take_due(self, most: int) -> list[Performed]:
        """Take effects that are due, as far as there is room. Returns those that ended at once: sent or parked."""
        self._due_effects.begin(inspect=self._last_round)
        self._due_effects.ready = frozenset(handler.name for handler in self._setup.handlers.ready)
        self._engine.read()
        found: list[Performed] = []
        wanted: list[Attempt] = []
        try:
            for handler in self._setup.handlers.ready:
                busy = len(self._attempts) + len(wanted)
                mine = sum(attempt.handler.name == handler.name for attempt in self._attempts.values())
                free = max(_PLACES - busy, 1 - mine)  # each handler can always run one
                room = min(handler.at_once - mine, free, most - busy - len(found))
                if room > 0:
                    attempts = self._due_effects.found(handler, room)
                    if handler.kind == "message":
                        found += self._send_messages(attempts)
                    else:
                        wanted += attempts
            return found + (self._take(wanted) if wanted else [])
        except BaseException:
            for attempt in wanted:
                if attempt.effect.id not in self._attempts:
                    attempt.release()
            raise

    def _take(self, wanted: list[Attempt]) -> list[Performed]:
        """Take them all in one commit, except those that another runner took first, and start them."""
        wanted = [attempt for attempt in wanted if self._still_allowed(attempt)]
        if not wanted:
            return []
        obstacles = self._setup.absorb()
        if not self._attempts:
            self._obstacles = obstacles
        mine: dict[str, Effect] = {}

        def act(work: Work) -> None:
            mine.clear()
            for attempt in wanted:
                name = attempt.effect.id
                try:
                    work.do("effect", name, self._due_effects.command(attempt, work.now))
                except _NOT_OURS:
                    continue
                mine[name] = work.state("effect", name)

        self._engine.commit(self._setup.by, act)
        given_up = []
        for attempt in wanted:
            attempt.effect = mine.get(attempt.effect.id, attempt.effect)
            if attempt.effect.runner == self.name and (event := self._trigger(attempt.effect)) is not None:
                self._start(attempt, event)
                continue
            attempt.release()
            if attempt.effect.status == "parked":
                given_up.append(attempt.performed("parked", attempt.effect.reason))
        return given_up

    def _still_allowed(self, attempt: Attempt) -> bool:
        """Read the handler and its files again, and compare with the consent. Exactly this content is performed."""
        attempt.pinned = self._setup.handlers.granted(attempt.handler)
        if attempt.pinned is None:
            attempt.release()
            self._refreshed = float("-inf")  # check all handlers again, and report those that wait
        return attempt.pinned is not None

    def _start(self, attempt: Attempt, event: Event) -> None:
        effect = attempt.effect
        job = EffectInput(
            handler=attempt.handler,
            event=self._setup.shown(attempt.handler, event),
            key=effect.key,
            attempt=effect.attempt,
            env=self._setup.env,
            cancel=self._cancel,
            pinned=attempt.pinned,
            hold=attempt.hold.file if attempt.hold else None,
        )

        def work() -> None:
            try:
                attempt.result = run(job)
            except Exception as error:  # a thread has no caller, so the error becomes the outcome
                attempt.result = Result(ok=False, detail=f"moot itself failed: {type(error).__name__}: {error}")
            self._ended.put(attempt)

        self._attempts[effect.id] = attempt
        if is_redacted(event.data):
            attempt.result = _REDACTED
            self._ended.put(attempt)
            return
        threading.Thread(target=work, daemon=True).start()

    def _trigger(self, effect: Effect) -> Event | None:
        """The event that triggered the effect; None if a restored backup ends before it."""
        return next(iter(self._engine.log.read(max(0, effect.event - 1), 1)), None)

    # --- messages ----------------------------------------------------------------------------------------------------

    def _send_messages(self, attempts: list[Attempt]) -> list[Performed]:
        """Send these messages, each in the commit that ends its effect."""
        found = []
        try:
            for attempt in attempts:
                event = self._trigger(attempt.effect)
                if event is None:
                    continue
                try:
                    found.append(self._send(attempt, event))
                except _NOT_OURS as error:
                    if error.details.get("effect") != attempt.effect.id:
                        raise
        finally:
            for attempt in attempts:
                attempt.release()
        return found

    def _send(self, attempt: Attempt, event: Event) -> Performed:
        name = attempt.effect.id
        why: MootError | None = None

        def act(work: Work) -> None:
            work.via = f"handler {attempt.handler.name}"
            work.do("effect", name, self._due_effects.command(attempt, work.now))
            attempt.effect = work.state("effect", name)
            if attempt.effect.status != "taken":
                return
            if is_redacted(event.data):
                work.do("effect", name, self._outcome(attempt, _REDACTED))
            elif why is None:
                self._setup.deliver(work, attempt.handler, event)
                work.do("effect", name, FinishEffect(runner=self.name, attempt=attempt.effect.attempt))
            else:
                work.do("effect", name, self._outcome(attempt, Result(ok=False, detail=f"{why.message} {why.remedy}")))

        try:
            return attempt.recorded(self._engine.commit(self._setup.by, act))
        except Unavailable:
            raise
        except MootError as error:
            if error.details.get("effect") == name:
                raise
            why = error
        return attempt.recorded(self._engine.commit(self._setup.by, act))

    # --- ending ------------------------------------------------------------------------------------------------------

    def _record_ended(self) -> list[Performed]:
        """Append the outcomes of the attempts that have ended, in one commit, once the files are taken in."""
        while not self._ended.empty():
            self._unrecorded.append(self._ended.get())
        if not self._unrecorded or not self._is_settled():
            return []
        lost: set[str] = set()

        def act(work: Work) -> None:
            lost.clear()
            for attempt in self._unrecorded:
                assert attempt.result is not None, "it has ended"
                try:
                    work.do("effect", attempt.effect.id, self._outcome(attempt, attempt.result))
                except (Held, Unknown):  # another runner considered this one dead, or a backup was restored
                    lost.add(attempt.effect.id)

        outcome = self._engine.commit(self._setup.by, act)
        ended, self._unrecorded = self._unrecorded, []
        for attempt in ended:
            del self._attempts[attempt.effect.id]
            attempt.release()
        return [
            attempt.performed("lost", "another runner has taken it, with the same key")
            if attempt.effect.id in lost
            else attempt.recorded(outcome)
            for attempt in ended
        ]

    def _is_settled(self) -> bool:
        """Take in the files that ended effects may have written. False while one is torn, for some seconds at most."""
        found, now = self._setup.absorb(), self._clock.monotonic()
        since = now if self._settling is None else self._settling
        if found <= self._obstacles or now - since >= _PATIENCE or self._cancel.is_set():
            self._obstacles, self._settling = found, None
            return True
        self._settling = since
        return False

    def _outcome(self, attempt: Attempt, result: Result) -> FinishEffect | FailEffect:
        if result.ok:
            return FinishEffect(runner=self.name, attempt=attempt.effect.attempt, detail=result.detail)
        return FailEffect(
            runner=self.name,
            attempt=attempt.effect.attempt,
            reason=result.detail,
            limit=attempt.handler.attempts,
            backoff=attempt.handler.backoff,
            jitter=attempt.jitter,
            hopeless=result.hopeless,
            stopped=result.stopped,
        )

    def _stop(self) -> None:
        """Stop the running effects and record their outcomes. The next runner repeats those that were not recorded."""
        self._cancel.set()
        end = self._clock.monotonic() + _PATIENCE
        while len(self._unrecorded) < len(self._attempts) and (left := end - self._clock.monotonic()) > 0:
            try:
                self._unrecorded.append(self._ended.get(timeout=left))
            except Empty:
                break
        try:
            self._record_ended()
        except Unavailable:
            return  # the system releases the locks when this process ends

    # --- waiting -----------------------------------------------------------------------------------------------------

    def _refresh(self) -> Iterator[Hint]:
        """Stamp presence, and read settings and consent, whose changes no event announces."""
        now = self._clock.monotonic()
        if now - self._refreshed < _ROUND:
            return
        self._refreshed = now
        self._due_effects.stamp()
        self._setup.alive()
        yield from self._setup.handlers.refresh()

    def _wait(self, head: int) -> None:
        if self._attempts:
            try:
                self._unrecorded.append(self._ended.get(timeout=_TICK))
            except Empty:
                pass
            return
        store, now = self._engine.store, self._clock.wall_seconds()
        known = [due for one in self._setup.handlers.ready if (due := view.next_due(store, one.name)) is not None]
        wait = min([_ROUND, *(max(0.02, due - now) for due in known)])
        for _ in self._engine.log.follow(head, timeout=wait):
            break
