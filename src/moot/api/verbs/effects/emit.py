"""emit: append custom events."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.core.deciders.custom_event import Emit
from moot.core.deciders.feed import Posted
from moot.core.deciders.message import known
from moot.core.errors import Usage
from moot.core.json_codec import dumps
from moot.core.kind import protected
from moot.core.record import Record
from moot.core.text import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work


class Emission(Record):
    """The appended event. `caused`: the number of effects it requests.

    `number` and `flags`: of its entry, if a pack has put it into its feed.
    """

    id: str
    type: str
    stream: str
    position: int
    thread: str | None = None
    caused: int = 0
    repeated: bool = False
    number: int | None = None
    flags: tuple[str, ...] = ()


def emit(call: Call, type: str, data: Any, stream: str | None, thread: str | None) -> Answer:  # noqa: A002
    if data is not None and not isinstance(data, dict):
        raise Usage("bad_json", "--data must be a JSON object.", 'For example: --data \'{"branch": "main"}\'.')
    bound = call.packs.binding(type)
    if bound is not None and bound.name == "*" and stream is not None:
        bound = None
    if bound is not None and stream is not None:
        raise Usage(
            "bad_arguments", f"{type} belongs to the pack {bound.pack}, which chooses the stream.", "Omit --stream."
        )
    saying = call.packs.saying(call, bound, data or {}, kind=type) if bound else None
    topic = (stream or type.partition(":")[0]).removeprefix("topic/")
    command = Emit(
        type=type,
        topic=topic,
        data=data or {},
        size=len(dumps(data or {}).encode()),
        limit=call.settings.message_limit,
        owned=protected(),
    )

    number: str | int | None = None

    def act(work: Work) -> None:
        nonlocal number
        sender = call.actor(work)
        root = known(work.message(thread)).thread if thread is not None else None
        if saying is None:
            work.do("topic", command.topic, command, thread=root)
            return
        number = call.packs.hear(work, saying.replace(sender=sender, thread=root))

    outcome = call.commit(act)
    if bound is not None and (posted := _posted(outcome, bound.pack, type)) is not None:
        return _entry(call, outcome, posted)
    if not outcome.events and isinstance(number, int):
        return Answer(result={"number": number, "type": type}, say=(f"#{number} stays as it is",))
    return _answer(outcome, type, bound.pack if bound else None)


def _posted(outcome: Outcome, pack: str, kind: str) -> Event | None:
    """The event that put the emitted one into the pack's feed."""
    own = (
        e for e in outcome.events if e.type == Posted.type and e.stream == f"feed/{pack}" and not e.data.get("cause")
    )
    return next((e for e in own if kind in e.data.get("keys", {}).get("type", ())), None)


def _entry(call: Call, outcome: Outcome, event: Event) -> Answer:
    """The answer for an entry of a feed: its number, and a warning for each flag."""
    flags = tuple(event.data.get("flags", ()))
    for flag in flags:
        call.warn("flagged", flag)
    kind = event.data["keys"]["type"][0]
    caused = sum(e.type == "effect:requested" for e in outcome.events)
    emitted = Emission(
        id=event.id,
        type=kind,
        stream=event.stream,
        position=event.position,
        thread=event.thread,
        caused=caused,
        repeated=outcome.repeated,
        number=event.data["number"],
        flags=flags,
    )
    again = " (repeated with the same key)" if outcome.repeated else ""
    effects = f"; {counted(caused, 'effect')} requested" if caused else ""
    return Answer(result=emitted, say=(f"#{emitted.number} {kind}{effects}{again}",))


def _answer(outcome: Outcome, kind: str, pack: str | None) -> Answer:
    if not outcome.events:
        return Answer(result=None, say=(f"{kind} changed nothing",))
    event = outcome.events[0]
    emitted = Emission(
        id=event.id,
        type=event.type,
        stream=event.stream,
        position=event.position,
        thread=event.thread,
        caused=sum(e.type == "effect:requested" for e in outcome.events),
        repeated=outcome.repeated,
    )
    again = " (repeated with the same key)" if outcome.repeated else ""
    meant = f" as {event.type}" if pack is not None else ""
    effects = f"; {counted(emitted.caused, 'effect')} requested" if emitted.caused else ""
    return Answer(result=emitted, say=(f"#{event.position} {kind}{meant} in {event.stream}{effects}{again}",))


VERBS = (
    Verb(
        "emit",
        "Append a custom event that others can wait for, follow or handle.",
        emit,
        kind="speak",
        params=(
            Param("type", "noun:participle in lower case.", positional=True, required=True),
            Param("data", "A JSON object: inline, @FILE, or - for standard input.", type="json"),
            Param("stream", "The stream, below topic/. Default: the noun."),
            Param("thread", "Any message of the thread that this belongs to."),
            KEY,
        ),
        examples=(
            'moot emit build:finished --data \'{"branch": "main", "ok": true}\'',
            "moot emit cache:warmed --stream nightly",
        ),
        detail=(
            "The event itself changes nothing else. `moot wait --type build:finished` waits for it, `moot log --stream "
            "topic/build` shows it, and a handler in moot.toml can react to it (`moot help handle`). moot's own event "
            "types (about tasks, messages, files, …) cannot be emitted. A type that an active pack binds runs that "
            "pack's command."
        ),
    ),
)
