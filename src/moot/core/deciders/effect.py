"""Effects: side effects outside the log, each caused by an event and performed once.

What always holds:
- An effect is requested in the commit of the event that causes it, so neither exists without the other.
- One runner has it at a time. Another runner may take it only from a runner that is known to be dead, and must name
  that runner and its attempt. If the effect has been taken again since, the take is refused.
- Its key never changes, so a receiver can recognize a repeat.
- It is done once and then ends. Only a crash between performing it and recording that repeats it.
- After the last attempt, or when it can never succeed, it is parked with the reason until somebody retries it by hand.
- An effect that is no longer wanted is dropped with a reason. That is final.
- An effect caused by another effect (`after`) records its depth in that chain. Beyond `DEEPEST` it is parked at once; a
  pack may set a lower limit.

    (none)   → waiting            requested
    waiting  → taken              taken, once it is due
    taken    → done               done, by its runner
    taken    → waiting, parked    failed, by its runner
    taken    → taken, parked      taken, from a dead runner
    waiting, parked → waiting     retried, due at once
    waiting, parked → dropped     dropped; also from `taken`, if the runner is dead

Times and random numbers are arguments.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.record import Record, unreachable
from moot.core.text import command_line
from moot.core.timestamps import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.kind import Meta

DEEPEST = 16  # effects, each caused by the one before; a longer chain is treated as a loop
_SLOWEST = 3600.0  # seconds: upper bound of the back-off


_AT_ONCE = 1e-9  # times the position: due since 1970 whatever the clock says, oldest first


class Requested(Payload):
    type = "effect:requested"
    said = "requested {handler} for {on} of {stream}"
    marks = ("handler", "on", "stream", "after")
    handler: str
    n: int  # the number of the causing event in this commit
    on: str  # its type
    stream: str
    after: str | None = None  # the effect that caused the event
    depth: int = 0  # number of effects before it in the chain


class EffectTaken(Payload):
    type = "effect:taken"
    said = "{runner} performs it"
    asides = (("attempt", "attempt {attempt}"), ("over", "in place of {over}, which is dead"))
    marks = ("runner", "over")
    runner: str
    attempt: int
    ttl: float  # seconds of silence after which the runner counts as dead
    over: str | None = None  # the dead runner that had it


class Done(Payload):
    type = "effect:done"
    said = "done: {detail}"
    quiet = ("detail",)
    attempt: int
    detail: str = ""


class Failed(Payload):
    type = "effect:failed"
    said = "failed, next attempt in {wait} s"
    words = ("reason",)
    attempt: int
    reason: str
    wait: float  # seconds until it is due again
    stopped: bool = False  # the runner was stopped in the middle of it


class Parked(Payload):
    type = "effect:parked"
    said = "parked"
    words = ("reason",)
    attempt: int
    reason: str


class Retried(Payload):
    type = "effect:retried"
    said = "will be retried"
    words = ("reason",)
    reason: str = ""


class Dropped(Payload):
    type = "effect:dropped"
    said = "dropped"
    words = ("reason",)
    reason: str


EVENTS: dict[str, type[Payload]] = {
    cls.type: cls for cls in (Requested, EffectTaken, Done, Failed, Parked, Retried, Dropped)
}


class Effect(Record):
    """`attempt` counts all attempts; `tries` counts those since the request or the last retry by hand."""

    id: str
    status: str = ""  # empty (none), waiting, taken, done, parked, dropped
    handler: str = ""
    on: str = ""
    stream: str = ""
    event: int = 0  # the position of the causing event
    cause: str = ""  # its id
    attempt: int = 0
    tries: int = 0
    runner: str | None = None
    ttl: float = 0.0
    due: float = 0.0  # seconds since 1970; not performed earlier
    reason: str = ""  # of the last failure, the parking or the drop
    detail: str = ""  # the result
    at: str = ""
    after: str | None = None
    depth: int = 0

    @property
    def ended(self) -> bool:
        """Whether it is final: done or dropped."""
        return self.status in ("done", "dropped")

    @property
    def key(self) -> str:
        """The idempotency key for the receiver."""
        return self.id


class RequestEffect(Record):
    """`chain` names the effects that led to it, the direct cause last."""

    handler: str
    n: int
    on: str
    stream: str
    after: str | None = None
    depth: int = 0
    chain: str = ""
    deepest: int = DEEPEST


class TakeEffect(Record):
    """`over`: a runner that is known to be dead, and its attempt."""

    runner: str
    now: float
    ttl: float
    limit: int
    over: tuple[str, int] | None = None


class FinishEffect(Record):
    runner: str
    attempt: int
    detail: str = ""


class FailEffect(Record):
    """`jitter` is a random number from 0 to 1. A `hopeless` effect is parked without another attempt."""

    runner: str
    attempt: int
    reason: str
    limit: int
    backoff: float
    jitter: float
    hopeless: bool = False
    stopped: bool = False


class RetryEffect(Record):
    reason: str = ""


class DropEffect(Record):
    """`over`: as for `TakeEffect`."""

    reason: str
    over: tuple[str, int] | None = None


Command = RequestEffect | TakeEffect | FinishEffect | FailEffect | RetryEffect | DropEffect


def decide(state: Effect, command: Command, _facts: object = None) -> list[Payload]:
    match command:
        case RequestEffect():
            return _request(state, command)
        case TakeEffect():
            return _take(_known(state), command)
        case FinishEffect():
            _check_runner(state, command.runner, command.attempt)
            return [Done(attempt=command.attempt, detail=command.detail)]
        case FailEffect():
            _check_runner(state, command.runner, command.attempt)
            if command.stopped:  # not the effect's fault: this does not use up an attempt
                return [Failed(attempt=command.attempt, reason=command.reason, wait=0.0, stopped=True)]
            if command.hopeless or state.tries >= command.limit:
                return [Parked(attempt=command.attempt, reason=command.reason)]
            wait = back_off(command.backoff, state.tries, command.jitter)
            return [Failed(attempt=command.attempt, reason=command.reason, wait=round(wait, 3))]
        case RetryEffect():
            return _retry(_known(state), command)
        case DropEffect():
            return _drop(_known(state), command)
        case _:
            unreachable(command)


def back_off(first: float, tries: int, jitter: float) -> float:
    """Seconds to wait after this many tries. The wait doubles each time; the jitter takes off up to half of it."""
    whole = min(first * 2.0 ** min(tries - 1, 32), max(first, _SLOWEST))
    return whole * (1.0 - 0.5 * jitter)


def _request(state: Effect, command: RequestEffect) -> list[Payload]:
    if state.status:
        raise Refused("effect_exists", f"The id {state.id} is already used.", "Try again.", effect=state.id)
    fields = {name: value for name, value in command.__dict__.items() if name not in ("chain", "deepest")}
    found: list[Payload] = [Requested(**fields)]
    if command.depth > command.deepest:
        reason = f"{command.depth} effects, each caused by the one before: {command.chain}"
        found.append(Parked(attempt=0, reason=reason))
    return found


def _take(state: Effect, command: TakeEffect) -> list[Payload]:
    if state.ended or state.status == "parked":
        raise _ended(state)
    if state.status == "waiting" and command.now < state.due:
        remedy = f"Wait, or retry it now: `{command_line('effects retry', state.id)}`."
        raise Refused("effect_not_due", f"{state.id} is not due yet.", remedy, effect=state.id)
    if state.status == "taken":
        if command.over != (state.runner, state.attempt):
            raise _held(state)
        if state.tries >= command.limit:
            reason = f"its runner died {state.tries} times" if state.tries > 1 else "its runner died"
            return [Parked(attempt=state.attempt, reason=reason)]
    over = state.runner if state.status == "taken" else None
    return [EffectTaken(runner=command.runner, attempt=state.attempt + 1, ttl=command.ttl, over=over)]


def _retry(state: Effect, command: RetryEffect) -> list[Payload]:
    if state.ended:
        raise _ended(state)
    if state.status == "taken":
        raise _held(state)
    return [Retried(reason=command.reason)]


def _drop(state: Effect, command: DropEffect) -> list[Payload]:
    if state.ended:
        raise _ended(state)
    if state.status == "taken" and command.over != (state.runner, state.attempt):
        raise _held(state)
    return [Dropped(reason=command.reason)]


def _known(state: Effect) -> Effect:
    if not state.status:
        raise Unknown(
            "unknown_effect", f"There is no effect {state.id!r}.", "`moot effects` lists them.", effect=state.id
        )
    return state


def _check_runner(state: Effect, runner: str, attempt: int) -> None:
    if state.status != "taken" or (state.runner, state.attempt) != (runner, attempt):
        raise _held(state)


def _held(state: Effect) -> Held:
    whose = f"{state.runner} has it (attempt {state.attempt})" if state.status == "taken" else f"it is {state.status}"
    return Held(
        "effect_held",
        f"{state.id} is not yours: {whose}.",
        "Leave it to its runner. `moot effects` shows its status.",
        effect=state.id,
        runner=state.runner,
    )


def _ended(state: Effect) -> Refused:
    if state.status == "parked":
        remedy = f"`{command_line('effects retry', state.id)}` retries it."
    else:
        remedy = "Nothing is left to do."
    return Refused("effect_ended", f"{state.id} is {state.status}.", remedy, effect=state.id)


def evolve(state: Effect, event: Payload, meta: Meta) -> Effect:
    at, at_once = meta.at, meta.position * _AT_ONCE
    match event:
        case Requested():
            return Effect(
                id=state.id,
                status="waiting",
                handler=event.handler,
                on=event.on,
                stream=event.stream,
                event=meta.position - meta.n + event.n,
                cause=f"{meta.commit}.{event.n}",
                due=at_once,
                at=at,
                after=event.after,
                depth=event.depth,
            )
        case EffectTaken():
            tries = state.tries + 1
            taken = {"runner": event.runner, "ttl": event.ttl, "attempt": event.attempt}
            return state.replace(status="taken", tries=tries, at=at, **taken)
        case Done():
            return state.replace(status="done", runner=None, detail=event.detail, reason="", at=at)
        case Failed():
            due = at_once if event.stopped else (parse(at) or 0.0) + event.wait
            tries = state.tries - int(event.stopped)
            return state.replace(status="waiting", runner=None, reason=event.reason, due=due, tries=tries, at=at)
        case Parked():
            return state.replace(status="parked", runner=None, reason=event.reason, at=at)
        case Retried():
            return state.replace(status="waiting", runner=None, tries=0, due=at_once, at=at)
        case Dropped():
            return state.replace(status="dropped", runner=None, reason=event.reason, at=at)
        case _:
            raise TypeError(f"not an event of an effect: {event!r}")


KIND = Kind(
    name="effect",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Effect,
    columns=lambda state: {"open": not state.ended, "handler": state.handler, "status": state.status, "due": state.due},
    made_by="A handler in moot.toml, and `moot handle`,",
)
