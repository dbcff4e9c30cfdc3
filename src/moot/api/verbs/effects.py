"""handle, effects: what is done because of events, and where it stands."""

from __future__ import annotations

from itertools import islice

from moot.api.answer import Answer, Notice, Table
from moot.api.catalogue import KEY, Param, Verb
from moot.core.deciders.effect import RetryEffect
from moot.core.errors import Refused, Unknown
from moot.core.record import Record
from moot.core.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.session import Session
    from moot.core.event import Event
    from moot.core.handler import Handler
    from moot.engine.attempts import Performed
    from moot.engine.consent import Consent
    from moot.engine.running import Runner
    from moot.engine.work import Work

_WIDTH = 160


class Handled(Record):
    """What was performed, and how many of it came to what."""

    effects: tuple[Performed, ...]
    counts: dict[str, int]


class Allowed(Record):
    """A handler, in full, and whether it may be performed on this machine now."""

    handler: str
    does: str
    content: str
    allowed: bool


class Standing(Record):
    """An effect that is not done. `state`: waiting, failed, taken, parked, not allowed, no handler."""

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


def handle(session: Session, drain: bool, limit: int | None, allow: tuple[str, ...], forbid: tuple[str, ...]) -> Answer:
    handlers = handlers_of(session)
    if allow or forbid:
        return _permit(session, handlers, allow, forbid)
    if not handlers:
        raise Refused(
            "no_handlers",
            "moot.toml has no handlers, so there is nothing to perform.",
            "Write one: [[handlers]] with name, on and run (or url, python, message); docs/how-to/handle-events.md.",
        )
    runner = _runner(session)
    if not drain and limit is None:
        return Answer(result=[], say=(f"Performing effects as {runner.name}, until interrupted.",), more=_on(runner))
    found: list[Performed] = []
    notices: list[Notice] = []
    for answer in _on(runner, drain=drain, limit=limit):
        notices += answer.warnings
        if answer.result is not None:
            found.append(answer.result)
    counts = {word: n for word in _OUTCOMES if (n := sum(one.outcome == word for one in found))}
    said = ", ".join(f"{number} {word}" for word, number in counts.items()) or "Nothing was due"
    lines = (*(_line(one) for one in found if one.outcome != "done"), f"{said}.")
    return Answer(result=Handled(effects=tuple(found), counts=counts), say=lines, warnings=tuple(notices))


_OUTCOMES = ("done", "failed", "parked", "lost")


def _on(runner: Runner, *, drain: bool = False, limit: int | None = None) -> Iterator[Answer]:
    from moot.engine.attempts import Hint

    with _interruptible():
        for found in runner.perform(drain=drain, limit=limit):
            if isinstance(found, Hint):
                yield Answer(result=None, warnings=(Notice(found.code, found.message),))
            else:
                yield Answer(result=found, say=(_line(found),))


def _line(found: Performed) -> str:
    told = f": {found.detail}" if found.detail else ""
    return one_line(f"{found.id} {found.outcome} {found.handler} on {found.on}, attempt {found.attempt}{told}", _WIDTH)


class _interruptible:  # noqa: N801 (used like a function)
    """Asked to end, a runner ends as by an interrupt: it stops what it started, and says so."""

    def __enter__(self) -> None:
        import signal
        import threading

        self._before = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                self._before[number] = signal.signal(number, signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        import signal

        for number, handler in self._before.items():
            signal.signal(number, handler)


def handlers_of(session: Session) -> tuple[Handler, ...]:
    from moot.engine.requests import handlers_of as made

    return made(session.settings.handlers)


def _runner(session: Session) -> Runner:
    from moot.engine import settings
    from moot.engine.attempts import Roster
    from moot.engine.requests import handlers_of as made
    from moot.engine.running import Runner, Setup

    env = dict(session.env)
    setup = Setup(
        state=session.place.state,
        root=session.place.main_root or session.place.root,
        env=env,
        by=lambda work: session.actor(work).principal,
        roster=Roster(lambda: made(settings.load(session.place).handlers), consent_of(session), env),
        deliver=lambda work, handler, event: _deliver(session, work, handler, event),
        alive=session.stamp,
    )
    return Runner(session.engine, session.presence, setup)


def _deliver(session: Session, work: Work, handler: Handler, event: Event) -> None:
    """Send the message of a handler, as `moot` itself."""
    from moot.api import addresses
    from moot.core.deciders.message import SendMessage
    from moot.core.handler import MOOT, filled
    from moot.core.principal import Actor

    wanted = handler.message or {}
    text = filled(wanted["text"], event.full())
    command = SendMessage(
        kind="note",
        sender=MOOT,
        to=addresses.resolve(work, session.packs, (wanted["to"],), Actor(principal=MOOT)),
        wants="nothing",
        size=len(text.encode()),
        limit=session.settings.message_limit,
        text=text,
        task=event.stream.partition("/")[2] if event.stream.startswith("task/") else None,
    )
    work.do_message(work.new_message(), command, None)


def consent_of(session: Session) -> Consent:
    from moot.engine.consent import Consent

    return Consent(session.env, session.identity(), session.place.state)


def _permit(session: Session, handlers: tuple[Handler, ...], allow: tuple[str, ...], forbid: tuple[str, ...]) -> Answer:
    if session.caller.agent is not None:
        raise Refused(
            "person_needed",
            "What may run on this machine is for its person to say, and not for an agent.",
            "Ask the person to run it. Until then the effects wait, and nothing is lost.",
        )
    consent = consent_of(session)
    consent.give(_named(handlers, allow))
    consent.take_back(_named(handlers, forbid))
    found = [
        Allowed(handler=one.name, does=one.what, content=one.content, allowed=consent.allows(one))
        for one in (*_named(handlers, allow), *_named(handlers, forbid))
    ]
    lines = []
    for one in found:
        lines += [f"{one.handler} is {'allowed' if one.allowed else 'not allowed'} here. It would {one.does}."]
        lines += [f"  {one.content}"]
    return Answer(result=found, say=tuple(lines))


def _named(handlers: tuple[Handler, ...], names: tuple[str, ...]) -> list[Handler]:
    known = {handler.name: handler for handler in handlers}
    for name in names:
        if name not in known:
            raise Unknown(
                "unknown_handler",
                f"moot.toml has no handler {name!r}.",
                f"Known: {', '.join(known) or 'none'}.",
                handler=name,
            )
    return [known[name] for name in names]


def effects(session: Session, handler: str | None, state: str | None, limit: int) -> Answer:
    from moot.core.deciders.effect import Effect
    from moot.views import project_effects as view

    known = {one.name: one for one in handlers_of(session)}
    consent, now = consent_of(session), session.clock.wall_seconds()
    allowed = {name: consent.allows(one) for name, one in known.items()}

    def state_of(effect: Effect) -> str:
        if effect.status != "waiting":
            return effect.status
        if effect.handler not in known:
            return "no handler"
        return "not allowed" if not allowed[effect.handler] else "failed" if effect.reason else "waiting"

    status = None if state is None else state if state in ("taken", "parked") else "waiting"
    store = session.engine.read()
    found = [
        Standing(
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
        )
        for one in islice((e for e in view.effects(store, handler, status) if state in (None, state_of(e))), limit)
    ]
    total = sum(n for name, _, n in view.counts(store) if handler in (None, name))
    rows = tuple((s.id, s.state, s.handler, s.on, str(s.attempt), _due(s), one_line(s.reason, 60)) for s in found)
    lines = [one_line(" ".join(filter(None, row)), _WIDTH) for row in rows] or ["No effect waits, runs or is parked."]
    if found and not session.settings.handlers:
        session.warn("no_handlers", "moot.toml has no handlers any more; nothing performs these.")
    title = f"Effects ({len(found)} of {total})" if len(found) < total else "Effects"
    table = Table(("effect", "state", "handler", "on", "attempt", "due", "reason"), rows, title=title)
    return Answer(result=found, say=tuple(lines), table=table if rows else None)


def _due(standing: Standing) -> str:
    return f"in {standing.due_in:.0f} s" if standing.due_in > 0 else ""


def retry(session: Session, ids: tuple[str, ...], reason: str | None) -> Answer:
    def act(work: Work) -> None:
        for name in dict.fromkeys(ids):
            work.do_effect(name, RetryEffect(reason=reason or ""))

    session.commit(act)
    return Answer(result={"retried": list(dict.fromkeys(ids))}, say=(f"due now: {', '.join(dict.fromkeys(ids))}",))


VERBS = (
    Verb(
        "handle",
        "Perform what the handlers in moot.toml want done because of events.",
        handle,
        params=(
            Param("drain", "Stop when nothing is due; without it, go on until interrupted.", type="flag"),
            Param("limit", "Stop after so many.", type="int"),
            Param("allow", "Let a handler run on this machine; nothing is performed now (repeat for more).", many=True),
            Param("forbid", "Take that back (repeat for more).", many=True),
        ),
        examples=("moot handle --allow deploy", "moot handle", "moot handle --drain"),
        detail=(
            "An effect is requested in the commit of the event that causes it, performed by one runner, tried again "
            "with growing pauses when it fails, and parked after its attempts. Only a crash repeats one, with the same "
            "key (MOOT_EFFECT_KEY, webhook-id). Commands, addresses and functions come from the repository: each runs "
            "only after this machine's person allowed its exact content once. Several may handle at the same time."
        ),
    ),
    Verb(
        "effects",
        "What waits to be done because of events, is being done, or was parked.",
        effects,
        params=(
            Param("handler", "Only of this handler.", limit=200),
            Param(
                "state",
                "Only these.",
                choices=("waiting", "failed", "taken", "parked", "not allowed", "no handler"),
            ),
            Param("limit", "At most so many.", type="int", default=100),
        ),
        examples=("moot effects", "moot effects --state parked"),
        detail="`moot explain e-…` tells the whole story of one, also when it is done.",
        writes=False,
    ),
    Verb(
        "effects retry",
        "Let parked effects be tried again, and waiting ones at once.",
        retry,
        params=(
            Param("ids", "Which.", positional=True, many=True, required=True),
            Param("reason", "Why it will succeed now."),
            KEY,
        ),
        examples=("moot effects retry e-4k2xw9a7c0",),
    ),
)
