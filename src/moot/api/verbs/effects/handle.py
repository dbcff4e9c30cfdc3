"""handle: performing what the handlers in moot.toml want done because of events, and who may let them."""

from __future__ import annotations

from moot.api.answer import Answer, Notice
from moot.api.catalogue import Param, Verb
from moot.api.verbs.effects import allow as allowing
from moot.core.errors import Refused, Usage
from moot.core.record import Record
from moot.core.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.core.handler import Handler
    from moot.effects.attempts import Performed
    from moot.effects.running import Runner
    from moot.engine.unit_of_work import Work

_WIDTH = 160
_FAILED = 6  # as for everything that was awaited and failed


class Handled(Record):
    """What was performed, and how many of it came to what."""

    effects: tuple[Performed, ...]
    counts: dict[str, int]


def handle(call: Call, drain: bool, limit: int | None, allow: tuple[str, ...], forbid: tuple[str, ...]) -> Answer:
    if limit is not None and limit < 1:
        raise Usage("bad_arguments", f"--limit is {limit}: nothing would be performed.", "Give at least 1.")
    if (allow or forbid) and (drain or limit is not None):
        raise Usage(
            "bad_arguments",
            "--allow and --forbid perform nothing, so --drain and --limit do not go with them.",
            "Allow it first, then run `moot handle --drain`.",
        )
    handlers = allowing.handlers_of(call)
    if allow or forbid:
        return _permit(call, handlers, allow, forbid)
    if not handlers:
        raise Refused(
            "no_handlers",
            "moot.toml has no handlers, so there is nothing to perform.",
            "Write one: [[handlers]] with name, on and run (or url, python, message); docs/how-to/handle-events.md.",
        )
    runner = _runner(call)
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
    from moot.effects.attempts import Hint

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


def _runner(call: Call) -> Runner:
    from moot import settings
    from moot.effects.attempts import Roster
    from moot.effects.requests import handlers_of as made
    from moot.effects.running import Runner, RunnerSetup

    env = dict(call.env)
    setup = RunnerSetup(
        state=call.place.state,
        root=allowing.root_of(call),
        env=env,
        by=lambda work: call.actor(work).principal,
        roster=Roster(lambda: made(settings.load(call.place).handlers), allowing.consent_of(call), env),
        deliver=lambda work, handler, event: _deliver(call, work, handler, event),
        alive=call.stamp,
    )
    return Runner(call.engine, call.presence, setup)


def _deliver(call: Call, work: Work, handler: Handler, event: Event) -> None:
    """Send the message of a handler, in its name."""
    from moot.core import addresses
    from moot.core.deciders.message import SendMessage
    from moot.core.handler import filled
    from moot.core.principal import Actor

    wanted = handler.message or {}
    text = filled(wanted["text"], event.full())
    command = SendMessage(
        kind="note",
        sender=handler.principal,
        to=addresses.resolve(work, call.packs.shared_roles, (wanted["to"],), Actor(principal=handler.principal)),
        wants="nothing",
        size=len(text.encode()),
        limit=call.settings.message_limit,
        text=text,
        task=event.stream.partition("/")[2] if event.stream.startswith("task/") else None,
    )
    work.do("message", work.new_message(), command)


def _permit(call: Call, handlers: tuple[Handler, ...], allow: tuple[str, ...], forbid: tuple[str, ...]) -> Answer:
    """As `moot allow` does. Naming a handler here counts as a yes where nobody can be asked."""
    wanted, unwanted = allowing.named(handlers, allow), allowing.named(handlers, forbid)
    answers = []
    if wanted:
        answers.append(allowing.permit(call, wanted, yes=call.ask is None))
    if unwanted:
        answers.append(allowing.forbid(call, unwanted))
    found = [one for answer in answers for one in answer.result]
    return Answer(result=found, say=tuple(line for answer in answers for line in answer.say))


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
        examples=("moot handle", "moot handle --drain"),
        detail=(
            "An effect is requested in the commit of the event that causes it, performed by one runner, tried again "
            "with growing pauses when it fails, and parked after its attempts. Only a crash repeats one, with the same "
            "key (MOOT_EFFECT_KEY, webhook-id). Handlers come from the repository: each is performed only after this "
            "machine's person allowed its exact content once (`moot allow`). Several may handle at the same time. "
            "With --drain or --limit, code 6 says that one failed or was parked."
        ),
    ),
)
