"""The runner of handlers: takes effects that are due, performs them in parallel, and records their outcomes.

Only the caller's thread uses the log. It takes effects and appends outcomes, many in one commit. Each effect runs in
its own thread, so a slow one does not block others. The number of parallel effects per handler is limited. A message
is sent in the commit that ends its effect, so it is sent exactly once.

A runner counts as dead for an effect if nobody holds the lock of the effect, or if the runner was silent for longer
than its lease. Locks and silence are measured on this machine, where the log is.

A command may write into files that moot takes in (`moot.mirrors`). Who wrote an entry is not known, only which effects
were being performed. So the runner has the files taken in before it takes an effect, and again before it ends one.

`moot.core.deciders.effect` and the consent on this machine (`moot.runs.consent`) decide what may be performed.
"""

from __future__ import annotations

import json
import os
import threading  # noqa: TID253 (this module itself is loaded on demand)
from queue import Empty, SimpleQueue

from moot.core.deciders.effect import Done, FailEffect, FinishEffect, Parked, TakeEffect
from moot.core.errors import Held, MootError, Refused, Unavailable, Unknown
from moot.core.integrity.redaction import is_redacted
from moot.core.record import Record
from moot.core.task.leases import has_lapsed
from moot.core.text import command_line
from moot.place import locks
from moot.runs import commands
from moot.views import effects as view
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from moot.core.deciders.effect import Effect
    from moot.core.event import Event
    from moot.core.handler import Handler
    from moot.engine.engine import Engine, Outcome
    from moot.engine.presence import Presence
    from moot.engine.unit_of_work import Work
    from moot.place.processes import Ran
    from moot.runs.consent import Consent, PinnedHandler

_PLACES = 32  # parallel effects of all handlers
_TICK = 0.1  # seconds between reads of the log while an effect is performed
_ROUND = 2.0  # seconds between presence stamps, and between reads of settings and consent
_INSPECTION = 0.5  # seconds between searches for abandoned effects
_GRACE = 30.0  # seconds of silence beyond the timeout, after which a runner counts as dead
_PAUSE = 1.0
_PATIENCE = 10.0  # seconds to wait for running effects when the runner stops, and for a torn file before one ends
_KEPT = 2000  # bytes of output, the last ones
_NOT_OURS = (Held, Refused, Unknown)  # another runner took it, or a restored backup does not contain it


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


class Result(Record):
    """The result of an attempt. `hopeless`: retrying is pointless. `stopped`: the runner was stopped."""

    ok: bool
    detail: str = ""
    hopeless: bool = False
    stopped: bool = False


_REDACTED = Result(ok=False, detail="its event was redacted", hopeless=True)


class Attempt:
    """An effect that a runner takes. `over`: the dead runner that held it, and the number of its attempt."""

    def __init__(self, effect: Effect, handler: Handler, hold: locks.Lock, over: tuple[str, int] | None = None) -> None:
        self.effect = effect
        self.handler = handler
        self.over = over
        self.jitter = int.from_bytes(os.urandom(4)) / (1 << 32)  # for the pause after a failure
        self.result: Result | None = None
        self.pinned: PinnedHandler | None = None  # the allowed content that is performed
        self.hold = hold

    def performed(self, outcome: str, detail: str) -> Performed:
        effect = self.effect
        return Performed(effect.id, effect.handler, effect.on, outcome, effect.attempt, detail)

    def recorded(self, outcome: Outcome) -> Performed:
        """The result as recorded in the log."""
        stream = f"effect/{self.effect.id}"
        last = next(event for event in reversed(outcome.events) if event.stream == stream)
        word = {Done.type: "done", Parked.type: "parked"}.get(last.type, "failed")
        return self.performed(word, str(last.data.get("detail") or last.data.get("reason") or ""))


class Handlers:
    """The handlers, and which of them can run here: `ready`, those that a person allowed."""

    def __init__(self, read: Callable[[], tuple[Handler, ...]], consent: Consent) -> None:
        self._read = read
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
        self.ready = [handler for handler in self._known if self.granted(handler) is not None]
        for handler in self._known:
            if handler not in self.ready:
                yield from self._once("not_allowed", handler.content, self._unallowed(handler))

    def granted(self, handler: Handler) -> PinnedHandler | None:
        """What the handler would do now, if exactly that is allowed; otherwise None."""
        return self._consent.granted(handler)

    def _unallowed(self, handler: Handler) -> str:
        trouble = self._consent.pinned(handler).trouble
        if trouble is not None:
            return f"{handler.name} waits: {trouble}."
        waiting = f"{handler.name} waits: {self._consent.lack(handler)}. It would {handler.what}."
        return f"{waiting} To inspect and allow it, run `{command_line('allow', handler.name)}`"

    def _once(self, code: str, about: str, message: str) -> Iterator[Hint]:
        if (code, about) not in self._hinted:
            self._hinted.add((code, about))
            yield Hint(code, message)


class RunnerSetup(Record):
    """The configuration of a runner: principal, state directory, handlers, and how to send messages."""

    state: str
    env: Mapping[str, str]
    by: Callable[[Work], str]
    handlers: Handlers
    deliver: Callable[[Work, Handler, Event], None]
    shown: Callable[[Handler, Event], Mapping[str, Any]]  # the event as the handler gets it
    alive: Callable[[], None]  # called every `_ROUND`
    absorb: Callable[[], frozenset[str]] = frozenset  # takes in files; returns what cannot be taken in now


class Runner:
    """A runner: `perform` takes and performs effects."""

    def __init__(self, engine: Engine, presence: Presence, setup: RunnerSetup) -> None:
        self._engine = engine
        self._clock = engine.clock
        self._presence = presence
        self._setup = setup
        self._id = f"runner-{self._clock.token(8)}", os.getpid()
        self.name = "{}#{}".format(*self._id)
        self._attempts: dict[str, Attempt] = {}
        self._ended: SimpleQueue[Attempt] = SimpleQueue()
        self._unrecorded: list[Attempt] = []  # ended, but not yet in the log
        self._cancel = threading.Event()
        self._refreshed = self._inspected = float("-inf")
        self._inspects = True  # whether this round searches for abandoned effects
        self._obstacles: frozenset[str] = frozenset()  # to taking in files, from before the running effects
        self._settling: float | None = None  # since when ended effects wait for files to be taken in

    def perform(self, *, drain: bool, limit: int | None) -> Iterator[Performed | Hint]:
        """Perform effects until interrupted, until none is due (`drain`), or until `limit` have ended."""
        running = locks.share_runners(self._setup.state)
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
                elif self._inspects:
                    return
                else:
                    self._inspected = float("-inf")  # one more round, to find abandoned effects
        finally:
            self._stop()
            running.release()
            self._presence.forget(*self._id)

    # --- taking ------------------------------------------------------------------------------------------------------

    def _take_due(self, most: int) -> list[Performed]:
        """Take effects that are due, as far as there is room. Returns those that ended at once: sent or parked."""
        now = self._clock.monotonic()
        self._inspects = now - self._inspected > _INSPECTION
        if self._inspects:
            self._inspected = now
        self._engine.read()
        found: list[Performed] = []
        held: list[Attempt] = []
        wanted: list[Attempt] = []
        try:
            for handler in self._setup.handlers.ready:
                busy = len(self._attempts) + len(wanted)
                mine = sum(attempt.handler.name == handler.name for attempt in self._attempts.values())
                free = max(_PLACES - busy, 1 - mine)  # each handler can always run one
                room = min(handler.at_once - mine, free, most - busy - len(found))
                if room > 0:
                    attempts = self._found(handler, room)
                    held += attempts
                    if handler.kind == "message":
                        found += filter(None, map(self._send, attempts))
                    else:
                        wanted += attempts
            return found + self._take(wanted)
        finally:
            for attempt in held:
                if self._attempts.get(attempt.effect.id) is not attempt:
                    attempt.hold.release()

    def _found(self, handler: Handler, room: int) -> list[Attempt]:
        """Up to `room` effects that are due or abandoned, each with its lock."""
        store, found = self._engine.store, list[Attempt]()
        for effect in view.taken(store, handler.name) if self._inspects else ():
            if len(found) < room and effect.runner is not None and (hold := self._hold(effect)) is not None:
                found.append(Attempt(effect, handler, hold, (effect.runner, effect.attempt)))
        for name in view.due(store, handler.name, self._clock.wall_seconds(), room - len(found)):
            effect = states.state(store, "effect", name)[0]
            if (hold := locks.take(self._path(name), self.name)) is not None:  # else another is about to take it
                found.append(Attempt(effect, handler, hold))
        return found

    def _hold(self, effect: Effect) -> locks.Lock | None:
        """The lock of an effect that a runner has taken, if that runner is dead."""
        runner, path = str(effect.runner), self._path(effect.id)
        hold = locks.take(path, self.name)
        if hold is None and runner != self.name and has_lapsed(self._presence.silence_of(runner), effect.ttl):
            hold = locks.take_over(path, self.name, runner)
        return hold

    def _path(self, effect: str) -> str:
        return locks.path_of(self._setup.state, locks.EFFECTS, effect)

    def _take(self, wanted: list[Attempt]) -> list[Performed]:
        """Take them all in one commit, except those that another runner took first, and start them."""
        allowed = [attempt for attempt in wanted if self._is_still_allowed(attempt)]
        if not allowed:
            return []
        obstacles = self._setup.absorb()
        if not self._attempts:
            self._obstacles = obstacles
        mine: dict[str, Effect] = {}

        def act(work: Work) -> None:
            mine.clear()
            for attempt in allowed:
                name = attempt.effect.id
                try:
                    work.do("effect", name, self._taking(attempt, work.now))
                except _NOT_OURS:
                    continue
                mine[name] = work.state("effect", name)

        self._engine.commit(self._setup.by, act)
        given_up = []
        for attempt in allowed:
            attempt.effect = mine.get(attempt.effect.id, attempt.effect)
            if attempt.effect.runner == self.name and (event := self._trigger(attempt.effect)) is not None:
                self._start(attempt, event)
            elif attempt.effect.status == "parked":
                given_up.append(attempt.performed("parked", attempt.effect.reason))
        return given_up

    def _is_still_allowed(self, attempt: Attempt) -> bool:
        """Read the handler and its files again, and compare with the consent. Exactly this content is performed."""
        attempt.pinned = self._setup.handlers.granted(attempt.handler)
        if attempt.pinned is None:
            self._refreshed = float("-inf")  # check all handlers again, and report those that wait
        return attempt.pinned is not None

    def _taking(self, attempt: Attempt, now: float) -> TakeEffect:
        handler = attempt.handler
        ttl = handler.timeout + _GRACE
        return TakeEffect(runner=self.name, now=now, ttl=ttl, limit=handler.attempts, over=attempt.over)

    def _start(self, attempt: Attempt, event: Event) -> None:
        shown = self._setup.shown(attempt.handler, event)
        self._attempts[attempt.effect.id] = attempt

        def work() -> None:
            try:
                attempt.result = perform(attempt, shown, self._setup.env, self._cancel.is_set)
            except Exception as error:  # a thread has no caller, so the error becomes the outcome
                attempt.result = Result(ok=False, detail=f"moot itself failed: {type(error).__name__}: {error}")
            self._ended.put(attempt)

        if is_redacted(event.data):
            attempt.result = _REDACTED
            self._ended.put(attempt)
        else:
            threading.Thread(target=work, daemon=True).start()

    def _trigger(self, effect: Effect) -> Event | None:
        """The event that triggered the effect; None if a restored backup ends before it."""
        return next(iter(self._engine.log.read(max(0, effect.event - 1), 1)), None)

    # --- messages ----------------------------------------------------------------------------------------------------

    def _send(self, attempt: Attempt) -> Performed | None:
        """Send a message, in the commit that ends its effect. None if the effect is no longer this runner's."""
        name, event, why = attempt.effect.id, self._trigger(attempt.effect), ""

        def act(work: Work) -> None:
            assert event is not None, "a restored backup contains it"
            work.via = f"handler {attempt.handler.name}"
            work.do("effect", name, self._taking(attempt, work.now))
            attempt.effect = work.state("effect", name)
            if attempt.effect.status != "taken":
                return
            result = _REDACTED if is_redacted(event.data) else Result(ok=not why, detail=why)
            if result.ok:
                self._setup.deliver(work, attempt.handler, event)
            work.do("effect", name, self._outcome(attempt, result))

        while event is not None:
            try:
                return attempt.recorded(self._engine.commit(self._setup.by, act))
            except MootError as error:
                own = error.details.get("effect") == name
                if own and isinstance(error, _NOT_OURS):
                    break
                if own or why or isinstance(error, Unavailable):
                    raise
                why = f"{error.message} {error.remedy}"
        return None

    # --- ending ------------------------------------------------------------------------------------------------------

    def _record_ended(self) -> list[Performed]:
        """Append the outcomes of the attempts that have ended, in one commit, once the files are taken in."""
        while self._collect(0):
            pass
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
            attempt.hold.release()
        return [
            attempt.performed("lost", "another runner has taken it, with the same key")
            if attempt.effect.id in lost
            else attempt.recorded(outcome)
            for attempt in ended
        ]

    def _collect(self, patience: float) -> bool:
        """Wait for an attempt to end. Whether one did."""
        try:
            self._unrecorded.append(self._ended.get(timeout=patience))
        except Empty:
            return False
        return True

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
            self._collect(left)
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
        self._presence.stamp(*self._id)
        self._setup.alive()
        yield from self._setup.handlers.refresh()

    def _wait(self, head: int) -> None:
        if self._attempts:
            self._collect(_TICK)
            return
        store, now = self._engine.store, self._clock.wall_seconds()
        known = [due for one in self._setup.handlers.ready if (due := view.next_due(store, one.name)) is not None]
        wait = min([_ROUND, *(max(0.02, due - now) for due in known)])
        for _ in self._engine.log.follow(head, timeout=wait):
            break


def perform(attempt: Attempt, event: Mapping[str, Any], env: Mapping[str, str], cancel: Callable[[], bool]) -> Result:
    """Run the command of an effect. It gets the event as JSON, and the key of the effect."""
    effect = attempt.effect
    given = commands.CommandInput(
        brief=json.dumps(event),
        env=env,
        own={"MOOT_EFFECT_KEY": effect.key, "MOOT_EFFECT_ATTEMPT": str(effect.attempt)},
        hold=(attempt.hold.file,),
        cancel=cancel,
        keep=_KEPT,
        apart=False,
        leave=True,
    )
    assert attempt.pinned is not None, "nothing is run that was not looked at"
    try:
        return _result(commands.run(attempt.pinned, given), attempt.handler.timeout)
    except commands.CannotStart as error:
        return Result(ok=False, detail=str(error))


def _result(ran: Ran, timeout: float) -> Result:
    said = ran.output.tail.decode(errors="replace")
    if ran.timed_out:
        why = f"not done within {timeout:g} s"
    elif ran.cancelled:
        why = "its runner was stopped"
    elif ran.signal:
        why = f"killed by signal {ran.signal}"
    elif ran.code == 0:
        return Result(ok=True, detail=said.strip())
    else:
        why = f"exit code {ran.code}"
    # Add the last line of output: programs usually report the error there.
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
    return Result(ok=False, detail=f"{why}: {last}" if last else why, stopped=ran.cancelled)
