"""handle: run the handlers of moot.toml for the events that request them."""

from __future__ import annotations

from moot.api.answer import Answer, Notice
from moot.api.catalogue import Param, Verb
from moot.api.verbs.effects import allow as allowing
from moot.core.errors import Refused, Unavailable, Usage
from moot.core.record import Record
from moot.core.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.core.handler import Handler
    from moot.engine.unit_of_work import Work
    from moot.runs.effects import Performed, Runner

_WIDTH = 160
_FAILED = 6  # the exit code if an effect failed
_OUTCOMES = ("done", "failed", "parked", "lost")


class Handled(Record):
    """The performed effects, and how many had each outcome."""

    effects: tuple[Performed, ...]
    counts: dict[str, int]


def handle(call: Call, drain: bool, limit: int | None) -> Answer:
    if limit is not None and limit < 1:
        raise Usage("bad_arguments", f"--limit must be at least 1, got {limit}.", "Use 1 or more.")
    if not allowing.handlers_of(call):
        raise Refused(
            "no_handlers",
            "moot.toml has no handlers.",
            "Add one: [[handlers]] with name, on and run (or message); see docs/how-to/handle-events.md.",
        )
    runner = _runner(call)
    if not drain and limit is None:
        said = f"Performing effects as {runner.name}, until interrupted."
        return Answer(result=[], say=(said,), more=_performed(runner))
    found: list[Performed] = []
    notices: list[Notice] = []
    for answer in _performed(runner, drain=drain, limit=limit):
        notices += answer.warnings
        if answer.result is not None:
            found.append(answer.result)
    counts = {word: n for word in _OUTCOMES if (n := sum(one.outcome == word for one in found))}
    said = ", ".join(f"{number} {word}" for word, number in counts.items()) or "Nothing was due"
    lines = (*(_line(one) for one in found if one.outcome != "done"), f"{said}.")
    code = _FAILED if counts.keys() & {"failed", "parked"} else 0
    result = Handled(effects=tuple(found), counts=counts)
    return Answer(result=result, say=lines, warnings=tuple(notices), code=code)


def _performed(runner: Runner, *, drain: bool = False, limit: int | None = None) -> Iterator[Answer]:
    from moot.place.processes import interruptible
    from moot.runs.effects import Hint

    with interruptible():
        for found in runner.perform(drain=drain, limit=limit):
            if isinstance(found, Hint):
                yield Answer(result=None, warnings=(Notice(found.code, found.message),))
            else:
                yield Answer(result=found, say=(_line(found),))


def _line(found: Performed) -> str:
    detail = f": {found.detail}" if found.detail else ""
    return one_line(
        f"{found.id} {found.outcome} {found.handler} on {found.on}, attempt {found.attempt}{detail}", _WIDTH
    )


def _runner(call: Call) -> Runner:
    from moot.api.protocol.pack_effects import event_for
    from moot.place import settings
    from moot.runs.effects import Handlers, Runner, RunnerSetup

    env = dict(call.env)
    setup = RunnerSetup(
        state=call.place.state,
        env=env,
        by=lambda work: call.actor(work).principal,
        handlers=Handlers(lambda: allowing.handlers_of(call, settings.load(call.place)), allowing.consent_of(call)),
        deliver=lambda work, handler, event: _deliver(call, work, handler, event),
        shown=lambda handler, event: event_for(call, handler, event),
        alive=call.stamp,
        absorb=lambda: _absorbed(call),
    )
    return Runner(call.engine, call.presence, setup)


def _absorbed(call: Call) -> frozenset[str]:
    """Sync the files of packs. Returns why some cannot be taken in now."""
    try:
        told = call.mirrors.sync(call) if call.mirrors is not None else ()
    except Unavailable as error:
        return frozenset((error.message,))
    return frozenset(notice.message for notice in told if notice.code == "mirror_pending")


def _deliver(call: Call, work: Work, handler: Handler, event: Event) -> None:
    """Send a handler's message in the handler's name."""
    from moot.core import addresses
    from moot.core.deciders.message import SendMessage
    from moot.core.handler import filled
    from moot.core.principal import Actor

    wanted = handler.message or {}
    text = filled(wanted["text"], _for_text(call, handler, event))
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


def _for_text(call: Call, handler: Handler, event: Event) -> dict[str, Any]:
    """The event for the text of a message. Of an event of a pack, `type` and `data` are the pack's."""
    found = event.full()
    if not handler.pack:
        return found
    from moot.api.protocol.pack_effects import event_for

    shown = event_for(call, handler, event)
    return {**found, "type": shown.get("type", event.type), "data": dict(shown)}


VERBS = (
    Verb(
        "handle",
        "Run the handlers in moot.toml for the events that request them.",
        handle,
        kind="local-exec",
        anybody=True,
        params=(
            Param("drain", "Stop when nothing is due. Default: run until interrupted.", type="flag"),
            Param("limit", "Stop after this many effects.", type="int"),
        ),
        examples=("moot handle", "moot handle --drain"),
        detail=(
            "An effect is requested in the commit of the event that causes it, and one runner performs it. If it "
            "fails, it is retried with growing pauses; when its attempts are used up, it is parked. Only a crash "
            "can repeat an effect, with the same key (MOOT_EFFECT_KEY). Handlers come "
            "from the repository, so each one runs only after a person has allowed its exact content on this machine "
            "(`moot allow`). Several runners can work at the same time. With --drain or --limit, exit code 6 means "
            "that an effect failed or was parked."
        ),
    ),
)
