"""gsd handlers: which handlers ran for events, with which result, and which are still to be retried."""

from __future__ import annotations

from moot.api.answer import Answer, Table
from moot.api.catalogue import Param, Verb
from moot.core import timestamps
from moot.core.errors import Unknown, Usage
from moot.core.record import Record
from moot.core.text import age, one_line
from moot.engine.clock import local
from moot.packs.gsd.handlers import BUILTIN, CUSTOM, PACK
from moot.views import effects as view
from moot.views import feeds, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.deciders.effect import Effect
    from moot.views.feeds import FeedEntry

_WIDTH = 160
_ENDS = ("effect:done", "effect:failed", "effect:parked")
_OVER = ("done", "dropped")


class HandlerRun(Record):
    """A handler of one event.

    `state`: done, failed (it will be retried), waiting, running, parked, dropped, not-allowed, no-handler.
    `seconds`: of all attempts together. Built-in handlers run inside the commit of the event.
    """

    handler: str
    state: str
    attempts: int = 1
    seconds: float = 0.0
    detail: str = ""
    due_in: float | None = None  # seconds until the next attempt
    effect: str | None = None


class HandledEvent(Record):
    """An event and its handlers, in the order of the configuration."""

    number: int
    type: str
    at: str
    handlers: tuple[HandlerRun, ...]


def handlers(call: Call, event: int | None, since: str | None, until: str | None, open: bool, limit: int) -> Answer:  # noqa: A002
    found = [entry for entry in _entries(call, event, since, until) if entry.handled]
    if open:
        waiting = {
            one.event for one in view.effects(call.engine.store, None, None) if one.handler.startswith(f"{PACK}/")
        }
        found = [entry for entry in found if entry.position in waiting]
    if len(found) > limit:
        call.warn("more", f"The last {limit} of {len(found)} events are shown: use a higher --limit, or --since.")
    runs = HandlerRuns(call)
    shown = [runs.of(entry) for entry in found[-limit:]]
    if open:
        shown = [one.replace(handlers=tuple(run for run in one.handlers if run.state not in _OVER)) for one in shown]
    rows = [
        (f"#{one.number}", one.type, run.handler, run.state, str(run.attempts), age(run.seconds), run.detail)
        for one in shown
        for run in one.handlers
    ]
    lines = [one_line(" ".join(filter(None, row)), _WIDTH) for row in rows] or ["No handlers."]
    table = Table(("event", "type", "handler", "state", "attempts", "took", "result"), tuple(rows), title="Handlers")
    return Answer(result=shown, say=tuple(lines), table=table if rows else None)


def _entries(call: Call, event: int | None, since: str | None, until: str | None) -> Iterator[FeedEntry]:
    store = call.engine.read()
    if event is None:
        yield from feeds.entries(
            store, PACK, since=_moment(call, "--since", since), until=_moment(call, "--until", until)
        )
        return
    found = feeds.entry(store, PACK, event)
    if found is None:
        raise Unknown("unknown_event", f"There is no event #{event}.", "`moot gsd events` lists them.", event=event)
    yield found


def _moment(call: Call, option: str, text: str | None) -> float | None:
    from moot.time_travel.moments import moment

    if text is None:
        return None
    found = moment(text, call.clock.wall_seconds())
    if found is None:
        remedy = "Give a date, a date with a time, or an age: 2h."
        raise Usage("bad_arguments", f"{option}: {text!r} is not a time.", remedy)
    return found


class HandlerRuns:
    """Looks up the handlers of events."""

    def __init__(self, call: Call) -> None:
        from moot.api.verbs.effects.allow import consent_of, handlers_of

        self._call, self._now = call, call.clock.wall_seconds()
        consent = consent_of(call)
        self._allowed = {one.name: consent.allows(one) for one in handlers_of(call) if one.pack == PACK}

    def of(self, entry: FeedEntry) -> HandledEvent:
        wanted = [name for name in entry.handled if name.startswith(CUSTOM)]
        effects = dict(self._effects(entry)) if wanted else {}
        runs = [
            self._custom(name, effects[name]) if name in effects else HandlerRun(handler=_full(name), state="done")
            for name in entry.handled
        ]
        (event,) = self._call.engine.log.read(entry.position - 1, 1)
        return HandledEvent(
            number=entry.number, type=str(entry.event.get("type", "")), at=local(event.at), handlers=tuple(runs)
        )

    def _effects(self, entry: FeedEntry) -> Iterator[tuple[str, str]]:
        """The effects that the event requested: the handlers as the file names them, each with the id of the effect."""
        log = self._call.engine.log
        (cause,) = log.read(entry.position - 1, 1)
        after = entry.position
        while events := log.read(after, 100):
            for event in events:
                if event.commit != cause.commit:
                    return
                if event.type == "effect:requested" and event.data["n"] == cause.n:
                    yield f"{CUSTOM}{event.data['handler'].partition('/')[2]}", event.stream.partition("/")[2]
            after = events[-1].position

    def _custom(self, name: str, effect: str) -> HandlerRun:
        state: Effect = states.state(self._call.engine.store, "effect", effect)[0]
        waits = state.status == "waiting"
        return HandlerRun(
            handler=name,
            state=self._state(state),
            attempts=state.attempt,
            seconds=round(self._seconds(effect), 3),
            detail=state.reason if waits or state.status == "parked" else state.detail or state.reason,
            due_in=round(max(0.0, state.due - self._now), 3) if waits else None,
            effect=effect,
        )

    def _state(self, effect: Effect) -> str:
        if effect.status == "waiting":
            if effect.handler not in self._allowed:
                return "no-handler"
            if not self._allowed[effect.handler]:
                return "not-allowed"
            return "failed" if effect.reason else "waiting"
        return "running" if effect.status == "taken" else effect.status

    def _seconds(self, effect: str) -> float:
        """How long all attempts took together."""
        total, begun = 0.0, None
        for event in self._call.engine.log.read(0, 1000, f"effect/{effect}"):
            at = timestamps.parse(event.at) or 0.0
            if event.type == "effect:taken":
                begun = at
            elif event.type in _ENDS and begun is not None:
                total, begun = total + at - begun, None
        return total if begun is None else total + self._now - begun


def _full(name: str) -> str:
    return name if ":" in name else f"{BUILTIN}{name}"


HANDLERS = Verb(
    "gsd handlers",
    "Show which handlers ran for events, with which result, and which are still to be retried.",
    handlers,
    kind="look",
    params=(
        Param("event", "The number of an event. Default: all events of the period.", type="int", positional=True),
        Param("since", "Only events that arrived at or after this time."),
        Param("until", "Only events that arrived before this time."),
        Param("open", "Only handlers that have not succeeded yet.", type="flag"),
        Param("limit", "Maximum number of events, the last ones.", type="int", default=50),
    ),
    examples=("moot gsd handlers 42", "moot gsd handlers --since '2h ago' --open"),
    detail=(
        "Built-in handlers run inside the commit of the event, so they have always succeeded. Custom handlers are "
        "effects: `moot handle` runs them, `moot allow` permits them, `moot effects retry` runs a parked one again."
    ),
    writes=False,
)
