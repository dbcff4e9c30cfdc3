"""handle: performing what the handlers in moot.toml want done because of events, and who may let them."""

from __future__ import annotations

from moot.api.answer import Answer, Notice
from moot.api.catalogue import Param, Verb
from moot.core.errors import Refused, Unknown, Usage
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
_FAILED = 6  # as for everything that was awaited and failed


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


def handle(session: Session, drain: bool, limit: int | None, allow: tuple[str, ...], forbid: tuple[str, ...]) -> Answer:
    if limit is not None and limit < 1:
        raise Usage("bad_arguments", f"--limit is {limit}: nothing would be performed.", "Give at least 1.")
    if (allow or forbid) and (drain or limit is not None):
        raise Usage(
            "bad_arguments",
            "--allow and --forbid perform nothing, so --drain and --limit do not go with them.",
            "Allow it first, then run `moot handle --drain`.",
        )
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
    code = _FAILED if counts.keys() & {"failed", "parked"} else 0
    result = Handled(effects=tuple(found), counts=counts)
    return Answer(result=result, say=lines, warnings=tuple(notices), code=code)


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
        root=_root(session),
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


def _root(session: Session) -> str:
    """Where commands run, whichever worktree one stands in."""
    return session.place.main_root or session.place.root


def consent_of(session: Session) -> Consent:
    from moot.engine.consent import Consent

    return Consent(session.env, session.identity(), session.place.state, _root(session))


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


VERBS = (
    Verb(
        "handle",
        "Perform what the handlers in moot.toml want done because of events.",
        handle,
        kind="local-exec",
        anybody=True,
        params=(
            Param("drain", "Stop when nothing is due; without it, go on until interrupted.", type="flag"),
            Param("limit", "Stop after so many.", type="int"),
            Param(
                "allow",
                "Let a handler run on this machine; nothing is performed now (repeat for more).",
                many=True,
                person=True,
            ),
            Param("forbid", "Take that back (repeat for more).", many=True, person=True),
        ),
        examples=("moot handle --allow deploy", "moot handle", "moot handle --drain"),
        detail=(
            "An effect is requested in the commit of the event that causes it, performed by one runner, tried again "
            "with growing pauses when it fails, and parked after its attempts. Only a crash repeats one, with the same "
            "key (MOOT_EFFECT_KEY, webhook-id). Commands, addresses and functions come from the repository: each runs "
            "only after this machine's person allowed its exact content once. Several may handle at the same time. "
            "With --drain or --limit, code 6 says that one failed or was parked."
        ),
    ),
)
