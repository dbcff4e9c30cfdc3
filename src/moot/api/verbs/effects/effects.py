"""effects, effects retry, effects drop: list unfinished effects, retry them or drop them."""

from __future__ import annotations

from itertools import islice

from moot.api.answer import Answer, Table, warn_of_more
from moot.api.catalogue import KEY, Param, Verb
from moot.api.verbs.effects.allow import consent_of, handlers_of
from moot.core.deciders.effect import DropEffect, RetryEffect
from moot.core.record import Record
from moot.core.text import age, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.deciders.effect import Effect
    from moot.engine.unit_of_work import Work

STATES = ("waiting", "failed", "taken", "parked", "not-allowed", "no-handler")
_WIDTH = 160


class KnownEffect(Record):
    """An effect. `state`: one of `STATES`, or done or dropped. `event`: the position of the event that caused it."""

    id: str
    state: str
    handler: str
    on: str
    stream: str
    event: int
    attempt: int
    due_in: float
    runner: str | None
    reason: str
    since: str
    detail: str = ""  # the result


def effects(call: Call, handler: str | None, state: str | None, all: bool, limit: int) -> Answer:  # noqa: A002
    from moot.views import effects as view

    known = {one.name: one for one in handlers_of(call)}
    consent, now = consent_of(call), call.clock.wall_seconds()
    allowed = {name: consent.allows(one) for name, one in known.items()}

    def state_of(effect: Effect) -> str:
        if effect.status != "waiting":
            return effect.status
        if effect.handler not in known:
            return "no-handler"
        return "not-allowed" if not allowed[effect.handler] else "failed" if effect.reason else "waiting"

    status = None if state is None else state if state in ("taken", "parked") else "waiting"
    store = call.engine.read()
    known_ones = view.all_effects(store) if all else view.effects(store, handler, status)
    matching = (e for e in known_ones if state in (None, state_of(e)) and handler in (None, e.handler))
    found = [
        KnownEffect(
            id=one.id,
            state=state_of(one),
            handler=one.handler,
            on=one.on,
            stream=one.stream,
            event=one.event,
            attempt=one.attempt,
            due_in=round(max(0.0, one.due - now), 3) if one.status == "waiting" else 0.0,
            runner=one.runner,
            reason=one.reason,
            since=one.at,
            detail=one.detail,
        )
        for one in islice(matching, limit)
    ]
    warn_of_more(call, limit, sum(1 for _ in matching), "effect")
    total = len(found) if all else sum(n for name, _, n in view.counts(store) if handler in (None, name))
    rows = tuple(
        (s.id, s.state, s.handler, s.on, str(s.attempt), _due(s), one_line(s.reason or s.detail, 60)) for s in found
    )
    lines = [one_line(" ".join(filter(None, row)), _WIDTH) for row in rows] or ["No effect waits, runs or is parked."]
    if found and not known:
        call.warn("no_handlers", "moot.toml has no handlers any more, so these effects will not run.")
    title = f"Effects ({len(found)} of {total})" if len(found) < total else "Effects"
    table = Table(("effect", "state", "handler", "on", "attempt", "due", "result"), rows, title=title)
    return Answer(result=found, say=tuple(lines), table=table if rows else None)


def _due(effect: KnownEffect) -> str:
    return f"in {age(effect.due_in)}" if effect.due_in > 0 else ""


def retry(call: Call, ids: tuple[str, ...], reason: str | None) -> Answer:
    named = list(dict.fromkeys(ids))

    def act(work: Work) -> None:
        for name in named:
            work.do("effect", name, RetryEffect(reason=reason or ""))

    call.commit(act)
    return Answer(result={"retried": named}, say=(f"due now: {', '.join(named)}",))


def drop(call: Call, ids: tuple[str, ...], reason: str) -> Answer:
    from moot.place import locks
    from moot.views import states

    named = tuple(dict.fromkeys(ids))
    store, held = call.engine.read(), []
    dead: dict[str, tuple[str, int]] = {}  # effects whose runner has died: the runner and the attempt

    def act(work: Work) -> None:
        call.actor(work)
        for name in named:
            work.do("effect", name, DropEffect(reason=reason, over=dead.get(name)))

    try:
        for effect in (states.state(store, "effect", name)[0] for name in named):
            if effect.status == "taken" and effect.runner:
                path = locks.path_of(call.place.state, locks.EFFECTS, effect.id)
                lock = locks.take(path, call.caller.agent or call.login)
                if lock is not None:  # its lock is free
                    held.append(lock)
                    dead[effect.id] = effect.runner, effect.attempt
        call.commit(act)
    finally:
        for lock in held:
            lock.release()
    return Answer(result={"dropped": list(named)}, say=(f"dropped: {', '.join(named)}",))


VERBS = (
    Verb(
        "effects",
        "List effects that are waiting, running or parked; or all of them, with their results.",
        effects,
        kind="look",
        params=(
            Param("handler", "Only effects of this handler.", limit=200),
            Param("state", "Only effects in this state.", choices=STATES),
            Param("all", "Also those that are done or dropped, the newest first.", type="flag"),
            Param("limit", "Maximum number of effects.", type="int", default=100),
        ),
        examples=("moot effects", "moot effects --state parked"),
        detail="`moot explain e-…` shows the history of an effect, even after it is done.",
        writes=False,
    ),
    Verb(
        "effects retry",
        "Retry parked effects, and run waiting ones now.",
        retry,
        kind="own",
        params=(
            Param("ids", "The ids of the effects.", positional=True, many=True, required=True),
            Param("reason", "Why it will succeed now."),
            KEY,
        ),
        examples=("moot effects retry e-4k2xw9a7c0",),
    ),
    Verb(
        "effects drop",
        "Drop effects permanently: parked ones, waiting ones, those without a handler.",
        drop,
        kind="own",
        params=(
            Param("ids", "The ids of the effects.", positional=True, many=True, required=True),
            Param("reason", "Why it is not needed.", required=True),
            KEY,
        ),
        examples=("moot effects drop e-4k2xw9a7c0 --reason 'That server is gone'",),
        detail="A running effect cannot be dropped. `moot explain e-…` still shows its history.",
    ),
)
