"""Effects: something done to the world because of an event, once.

What always holds:
- It is requested in the commit of the event that causes it, so neither is there without the other.
- One runner has it at a time. Another may take it only from a runner that is known to be dead, and names that one:
  whoever judged an older holding is refused.
- Its key never changes, whoever does it and how often: a receiver can tell a repeat by it.
- It is done once, and then nothing more happens to it. Only a crash between doing it and saying so repeats it.
- After so many attempts, or when it can never succeed, it is parked with the reason, until somebody retries it by hand.
- What nobody wants done any more is dropped, with the reason. That is final.
- An effect that comes of an effect knows how deep it is in that chain; beyond `DEEPEST` it is parked at once.

    (none)   → waiting            requested
    waiting  → taken              taken, once it is due
    taken    → done               done, by its runner
    taken    → waiting, parked    failed, by its runner
    taken    → taken, parked      taken, from a runner that is dead
    waiting, parked → waiting     retried, due at once
    waiting, parked → dropped     dropped; also a taken one whose runner is dead

Times are arguments, and so is chance.
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

LONGEST_WAIT = 86_400.0  # seconds between two attempts, whatever a receiver asks for
DEEPEST = 16  # effects, each caused by the one before; what goes on beyond is taken for a circle
_SLOWEST = 3600.0  # what the back-off grows to


_AT_ONCE = 1e-9  # due since 1970, whatever the clock says: those that came first are the first


class Requested(Payload):
    type = "effect:requested"
    said = "{handler} is to handle {on} of {stream}"
    marks = ("handler", "on", "stream", "trace", "after")
    handler: str
    n: int  # the number of the causing event in this commit
    on: str  # its type
    stream: str
    trace: str | None = None  # W3C traceparent of what caused it
    after: str | None = None  # the effect during which the event came about
    depth: int = 0  # how many effects came before it in this way


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
    said = "failed, again in {wait} s"
    words = ("reason",)
    attempt: int
    reason: str
    wait: float  # seconds until it is due again
    stopped: bool = False  # its runner was, in the middle of it


class Parked(Payload):
    type = "effect:parked"
    said = "parked"
    words = ("reason",)
    attempt: int
    reason: str


class Retried(Payload):
    type = "effect:retried"
    said = "to be tried again"
    words = ("reason",)
    reason: str = ""


class Dropped(Payload):
    type = "effect:dropped"
    said = "dropped, and not to be done any more"
    words = ("reason",)
    reason: str


EVENTS: dict[str, type[Payload]] = {
    cls.type: cls for cls in (Requested, EffectTaken, Done, Failed, Parked, Retried, Dropped)
}


class Effect(Record):
    """`attempt` counts all takings; `tries` those since it was requested, or retried by hand."""

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
    due: float = 0.0  # seconds since 1970: not before
    reason: str = ""  # why it failed last, is parked, or was dropped
    detail: str = ""  # what came of it
    at: str = ""
    trace: str | None = None
    after: str | None = None
    depth: int = 0

    @property
    def ended(self) -> bool:
        """Whether nothing can happen to it any more."""
        return self.status in ("done", "dropped")

    @property
    def key(self) -> str:
        """By which a receiver tells a repeat from something new."""
        return self.id


class RequestEffect(Record):
    """`chain`: the effects that led to it, the one that caused it last, in words."""

    handler: str
    n: int
    on: str
    stream: str
    after: str | None = None
    depth: int = 0
    chain: str = ""


class TakeEffect(Record):
    """`over`: the runner and the attempt that are known to be dead."""

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
    """`jitter` is a number from 0 to 1, drawn by chance; `after` what the receiver asks to wait at least."""

    runner: str
    attempt: int
    reason: str
    limit: int
    backoff: float
    jitter: float
    after: float = 0.0
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
            if command.stopped:  # that says nothing about the effect: no attempt is used up by it
                return [Failed(attempt=command.attempt, reason=command.reason, wait=0.0, stopped=True)]
            if command.hopeless or state.tries >= command.limit:
                return [Parked(attempt=command.attempt, reason=command.reason)]
            wait = min(max(back_off(command.backoff, state.tries, command.jitter), command.after), LONGEST_WAIT)
            return [Failed(attempt=command.attempt, reason=command.reason, wait=round(wait, 3))]
        case RetryEffect():
            return _retry(_known(state), command)
        case DropEffect():
            return _drop(_known(state), command)
        case _:
            unreachable(command)


def back_off(first: float, tries: int, jitter: float) -> float:
    """How long to wait after so many tries: twice as long each time, and by chance a part of it less, at most half."""
    whole = min(first * 2.0 ** min(tries - 1, 32), max(first, _SLOWEST))
    return whole * (1.0 - 0.5 * jitter)


def _request(state: Effect, command: RequestEffect) -> list[Payload]:
    if state.status:
        raise Refused("effect_exists", f"The id {state.id} is taken.", "Do it again.", effect=state.id)
    fields = {name: value for name, value in command.__dict__.items() if name != "chain"}
    found: list[Payload] = [Requested(**fields)]
    if command.depth > DEEPEST:
        reason = f"{command.depth} effects, each caused by the one before: {command.chain}"
        found.append(Parked(attempt=0, reason=reason))
    return found


def _take(state: Effect, command: TakeEffect) -> list[Payload]:
    if state.ended or state.status == "parked":
        raise _ended(state)
    if state.status == "waiting" and command.now < state.due:
        remedy = f"Wait, or let it be tried at once: `{command_line('effects retry', state.id)}`."
        raise Refused("effect_not_due", f"{state.id} is not due yet.", remedy, effect=state.id)
    if state.status == "taken":
        if command.over != (state.runner, state.attempt):
            raise _held(state)
        if state.tries >= command.limit:
            reason = f"its runner died {state.tries} times while doing it" if state.tries > 1 else "its runner died"
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
        "Leave it to its runner; `moot effects` shows where it stands.",
        effect=state.id,
        runner=state.runner,
    )


def _ended(state: Effect) -> Refused:
    if state.status == "parked":
        remedy = f"`{command_line('effects retry', state.id)}` lets it be tried again."
    else:
        remedy = "There is nothing left to do."
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
                trace=event.trace,
                after=event.after,
                depth=event.depth,
            )
        case EffectTaken():
            tries = state.tries + 1
            return state.replace(
                status="taken", runner=event.runner, ttl=event.ttl, attempt=event.attempt, tries=tries, at=at
            )
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
    check="moot.core.integrity.import_checks:effect",
)
