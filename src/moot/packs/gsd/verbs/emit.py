"""gsd emit: put events on the blackboard."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.api.protocol import Packs
from moot.core.deciders.feed import Posted
from moot.core.record import Record
from moot.core.text import one_line
from moot.packs.gsd.typed_events import events_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import Saying
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work

_PACK = "gsd"
_TYPES = (
    *("task:started", "task:completed", "task:failed", "artifact:created", "artifact:modified", "file:claimed"),
    *("file:released", "dependency:satisfied", "decision:made", "checkpoint:reached"),
)


class EmittedEvent(Record):
    """An event as the file shows it. `cause`: the number of the event that it follows from; 0 if it was emitted."""

    number: int
    type: str
    flags: tuple[str, ...]
    event: dict[str, Any]
    cause: int = 0


class EmittedEvents(Record):
    """What was emitted, and what followed from it in the same commit.

    `number` and `flags` are those of the last event that was emitted. `number` is None if it stored nothing new, such
    as a claim by its holder, which only renews it.
    """

    number: int | None
    flags: tuple[str, ...]
    events: tuple[EmittedEvent, ...]
    position: int
    repeated: bool = False


def emit(call: Call, event: str, fields: tuple[str, ...]) -> Answer:
    sayings = [_saying(call, data) for data in events_of(event, fields)]

    def act(work: Work) -> None:
        sender = call.actor(work)
        for saying in sayings:
            call.packs.hear(work, saying.replace(sender=sender))

    outcome = call.commit(act)
    found = tuple(_emitted(one) for one in outcome.events if one.type == Posted.type and one.stream == f"feed/{_PACK}")
    numbers = {one.number for one in found}
    own = [one for one in found if one.cause not in numbers]
    result = EmittedEvents(
        number=own[-1].number if own else None,
        flags=own[-1].flags if own else (),
        events=found,
        position=outcome.last,
        repeated=outcome.repeated,
    )
    again = (" (repeated with the same key)",) if outcome.repeated else ()
    return Answer(result=result, say=(*(line for one in found for line in _lines(one)), *again) or ("renewed",))


def _saying(call: Call, data: dict[str, Any]) -> Saying:
    pack = next(pack for pack in call.packs.packs if pack.name == _PACK)
    kind = data.get("type")
    kind = kind if isinstance(kind, str) else ""
    spec = Packs((pack,)).binding(kind)
    assert spec is not None, "the pack binds every type"
    return call.packs.saying(call, spec, data, kind=kind)


def _emitted(event: Event) -> EmittedEvent:
    posted = Posted.of(event.data)
    return EmittedEvent(
        number=posted.number,
        type=posted.event.get("type", ""),
        flags=posted.flags,
        event=posted.shown,
        cause=posted.cause,
    )


def _lines(one: EmittedEvent) -> list[str]:
    about = [str(one.event[key]) for key in ("plan", "task", "path", "artifact") if key in one.event]
    about += [one.event["id"]] if isinstance(one.event.get("id"), str) else []  # of a decision
    said = one_line(f"#{one.number} {one.type} {' '.join(about)}".rstrip(), 300)
    return [said, *(f"  ! {one_line(flag, 300)}" for flag in one.flags)]


EMIT = Verb(
    "gsd emit",
    "Put an event on the blackboard: its type and its fields, or one JSON object.",
    emit,
    kind="speak",
    anybody=True,
    params=(
        Param(
            "event",
            "The type, such as task:started. Or the whole event as a JSON object, or several in a JSON list: inline, "
            "@FILE, or - for standard input.",
            type="words",
            positional=True,
            required=True,
            suggested=_TYPES,
        ),
        Param(
            "fields",
            "KEY=VALUE. The value is plain text; nothing in it is evaluated. KEY:=JSON gives another value. Repeat "
            "provides=, changes=, affects=, requiredBy= or options= for each item, and path= for each path of a claim.",
            type="words",
            positional=True,
            many=True,
        ),
        KEY,
    ),
    examples=(
        "moot gsd emit task:started agent=gsd-executor plan=01-02 task=1 taskName='Create User model'",
        "moot gsd emit file:claimed agent=gsd-executor plan=01-02 path=src/a.ts path=src/b.ts",
        'moot gsd emit \'{"type": "artifact:created", "path": "src/models/user.ts", "provides": ["User"]}\'',
    ),
    detail=(
        "The answer has the number of the event, flags about what is odd in it, and the events that follow from it, "
        "such as dependency:satisfied. Several events, and claims of several paths, are stored all together or not at "
        "all. An event that is not valid is refused with all its defects. Types with other first words than those of "
        "the protocol (build:passed) are yours, with any fields. A caller that does not say who it is can emit, too, "
        "as it could by writing to the file: it is then known by the plan and the agent of its event."
    ),
)
