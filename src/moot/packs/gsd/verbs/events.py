"""gsd events: the history of the blackboard, filtered, and new events as they come."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.core import timestamps
from moot.core.deciders.feed import Posted
from moot.core.errors import Usage
from moot.core.record import Record
from moot.core.text import one_line
from moot.engine.clock import local
from moot.packs.gsd.ids import phase_name, phase_of, plan_of
from moot.time_travel import moment
from moot.views import feeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.packs.gsd.ids import Phase, PlanId
    from moot.views.feeds import FeedEntry

_FEED = "gsd"
_PLANS = ("plan", "createdBy", "modifiedBy", "madeBy")
_PATHS = ("path", "artifact")


class BoardEvent(Record):
    """An event as the file shows it, how it came in, and what was done about it.

    `via` is the surface, or `file PATH`. `cause`: the number of the event that it follows from.
    """

    number: int
    event: dict[str, Any]
    at: str
    by: str
    via: str | None
    flags: tuple[str, ...]
    cause: int
    position: int


class EventFilter(Record):
    """An event must fit all of these; an empty one fits everything. `types` and `path` may end with `*`."""

    types: tuple[str, ...] = ()
    phase: Phase | None = None
    plan: PlanId | None = None
    task: int | None = None
    agent: str | None = None
    path: str | None = None
    since: float | None = None  # of the arrival, in seconds since 1970
    until: float | None = None

    def fits(self, event: Mapping[str, Any], at: float) -> bool:
        """Whether an event that arrived at this time is among them."""
        return (
            (not self.types or any(_like(str(event.get("type", "")), pattern) for pattern in self.types))
            and (self.phase is None or any(plan.phase == self.phase for plan in _plans_of(event)))
            and (self.plan is None or self.plan in _plans_of(event))
            and (self.task is None or event.get("task") == self.task)
            and (self.agent is None or event.get("agent") == self.agent)
            and (self.path is None or any(_like(str(event.get(key, "")), self.path) for key in _PATHS))
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
        )


def events(
    call: Call,
    type: tuple[str, ...],  # noqa: A002
    phase: str | None,
    plan: str | None,
    task: int | None,
    by: str | None,
    path: str | None,
    since: str | None,
    until: str | None,
    after: int | None,
    limit: int,
    all: bool,  # noqa: A002
    follow: bool,
) -> Answer:
    wanted = _filter_of(
        type,
        phase,
        plan,
        task=task,
        agent=by,
        path=path,
        since=_moment(call, "--since", since),
        until=_moment(call, "--until", until),
    )
    if isinstance(wanted, str):
        raise Usage("bad_arguments", f"{wanted}.", "`moot gsd events --help` shows the usage.")
    store = call.engine.read()
    head = store.cursor()
    found = _read(call, wanted, after, None if all else limit)
    shown = [_of_log(call.engine.log.read(entry.position - 1, 1)[0]) for entry in found]
    more = _following(call, head, wanted) if follow else None
    if not follow and not all and len(shown) == limit:
        call.warn("more", f"At most {limit} events are shown: use --after NUMBER, a higher --limit, or --all.")
    return Answer(result=shown, say=tuple(line for one in shown for line in _lines(one)), more=more)


def _plans_of(event: Mapping[str, Any]) -> list[PlanId]:
    """The plans that an event is of, or about."""
    return [plan for text in _texts(event) if (plan := plan_of(text)) is not None]


def _filter_of(
    types: tuple[str, ...] = (), phase: str | None = None, plan: str | None = None, **more: Any
) -> EventFilter | str:
    """The filter, or what is wrong with the words that describe it."""
    if phase is not None and phase_of(phase) is None:
        return f"{phase!r} is not a phase such as 01 or 05.2"
    if plan is not None and plan_of(plan) is None:
        return f"{plan!r} is not a plan such as 01-02"
    return EventFilter(
        types=types,
        phase=None if phase is None else phase_of(phase),
        plan=None if plan is None else plan_of(plan),
        **more,
    )


def _texts(event: Mapping[str, Any]) -> Iterator[Any]:
    yield from (event[key] for key in _PLANS if key in event)
    required = event.get("requiredBy")
    if isinstance(required, (list, tuple)):
        yield from required


def _like(word: str, pattern: str) -> bool:
    return word == pattern or (pattern.endswith("*") and word.startswith(pattern[:-1]))


def _read(call: Call, wanted: EventFilter, after: int | None, limit: int | None) -> list[FeedEntry]:
    """The first events after a number; without one, the last ones."""
    store = call.engine.store
    entries = feeds.entries(store, _FEED, _keys(wanted), after=after or 0, since=wanted.since, until=wanted.until)
    fitting = (entry for entry in entries if wanted.fits(entry.event, entry.at))
    if limit is None:
        return list(fitting)
    if after is not None:
        from itertools import islice

        return list(islice(fitting, limit))
    from collections import deque

    return list(deque(fitting, maxlen=limit))


def _keys(wanted: EventFilter) -> list[tuple[str, str]]:
    """What the views find without reading every event."""
    known = {
        "type": wanted.types[0] if len(wanted.types) == 1 and not wanted.types[0].endswith("*") else None,
        "phase": None if wanted.phase is None else phase_name(wanted.phase),
        "plan": None if wanted.plan is None else wanted.plan.name,
        "agent": wanted.agent,
        "path": None if wanted.path is None or wanted.path.endswith("*") else wanted.path,
    }
    return [(key, value) for key, value in known.items() if value is not None]


def _following(call: Call, after: int, wanted: EventFilter) -> Iterator[Answer]:
    """New events, each once and in order, until interrupted. A failure is reported once, and retried."""
    from moot.api.following import follow

    trouble = None
    for heard in follow(call, after, (Posted.type,), (f"feed/{_FEED}",)):
        for event in heard.events:
            if wanted.fits(event.data["event"], timestamps.parse(event.at) or 0.0):
                one = _of_log(event)
                yield Answer(result=one, say=tuple(_lines(one)))
        if heard.trouble is not None and heard.trouble != trouble:
            yield Answer(result=None, warnings=heard.warnings)
        trouble = heard.trouble if not heard.events else trouble


def _of_log(event: Event) -> BoardEvent:
    posted = Posted.of(event.data)
    return BoardEvent(
        number=posted.number,
        event=posted.shown,
        at=event.at,
        by=event.by,
        via=event.via,
        flags=posted.flags,
        cause=posted.cause,
        position=event.position,
    )


def _lines(one: BoardEvent) -> Iterator[str]:
    rest = {key: value for key, value in one.event.items() if key not in ("type", "timestamp", "id", "eventId")}
    about = " ".join(f"{key}={_value(value)}" for key, value in rest.items())
    via = one.via if one.via and one.via.startswith(("file", "handler")) else ""
    yield one_line(f"#{one.number} {local(one.at)[11:19]} {one.event.get('type', '')} {about}", 400)
    told = [*(f"via {via}" for _ in (1,) if via), *(f"follows from #{one.cause}" for _ in (1,) if one.cause)]
    if told:
        yield f"  {one_line('; '.join(told), 400)}"
    yield from (f"  ! {one_line(flag, 300)}" for flag in one.flags)


def _value(value: Any) -> str:
    from moot.core.json_codec import dumps

    return value if isinstance(value, str) and value and " " not in value else dumps(value)


def _moment(call: Call, option: str, text: str | None) -> float | None:
    if text is None:
        return None
    found = moment(text, call.clock.wall_seconds())
    if found is None:
        raise Usage(
            "bad_arguments", f"{option}: {text!r} is not a time.", "Give a date, a date with a time, or an age: 2h."
        )
    return found


EVENTS = Verb(
    "gsd events",
    "List the events of the blackboard, also those that have left the file; or follow them.",
    events,
    kind="look",
    params=(
        Param("type", "Only events of this type; task:* matches all events of tasks (repeatable).", many=True),
        Param("phase", "Only events of plans of this phase."),
        Param("plan", "Only events of this plan, or about it."),
        Param("task", "Only events of the task with this number.", type="int"),
        Param("by", "Only events of agents with this name."),
        Param("path", "Only events about this path; src/* matches all paths that begin so."),
        Param("since", "Only events that arrived at this time or later: a date, a date with a time, or an age (2h)."),
        Param("until", "Only events that arrived before this time."),
        Param("after", "Begin after the event with this number. Default: the last events.", type="int"),
        Param("limit", "Maximum number of events.", type="int", default=50),
        Param("all", "No maximum.", type="flag"),
        Param("follow", "Keep running and print new events as they arrive.", type="flag"),
    ),
    examples=(
        "moot gsd events --type 'task:*' --phase 01",
        "moot gsd events --after 42 --follow --json",
        "moot gsd events --all --json",
    ),
    detail=(
        "Each event comes with its number, when and how it came in, and what is odd about it. To resume a "
        "subscription, give the number of the last event that you have seen as --after: each later event is delivered "
        "once, in order. With --json and --follow, each event is one line."
    ),
    writes=False,
)
