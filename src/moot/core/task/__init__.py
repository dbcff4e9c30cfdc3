"""What a task is: its events, its state, and the commands that change it. The rules are in the decider.

The type of an event follows from the verb whose edge was taken: `TYPES`, and `task:moved` for a verb of a pack's own.
"""

from __future__ import annotations

from moot.core.payload import SILENCE, Payload
from moot.core.record import Record
from moot.core.text import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.core.principal import Actor

PRIORITIES = ("high", "medium", "low")

TYPES = {
    "claim": "task:started",
    "release": "task:released",
    "submit": "task:submitted",
    "approve": "task:approved",
    "reject": "task:rejected",
    "reopen": "task:reopened",
    "complete": "task:completed",
    "fail": "task:failed",
    "cancel": "task:cancelled",
    "lapse": "task:lapsed",
}
OTHER = "task:moved"  # by a verb that only a pack knows


def by_verb(verb: str, task: str, options: str = "") -> str:
    """The command that moves a task by this verb. One that only a pack knows has no command of its own."""
    if verb in TYPES:
        return command_line(f"task {verb}", task, options=options)
    return command_line("task move", task, verb, options=options)


# --- what happened -----------------------------------------------------------------------------------------


class Added(Payload):
    type = "task:added"
    said = "added “{title}”"
    words = ("title", "body", "extra")
    marks = ("state", "phase", "lifecycle", "creator", "priority", "needs", "waits", "trace")
    title: str
    state: str
    phase: str
    lifecycle: str
    creator: str
    body: str = ""
    priority: str = "medium"
    review: bool = True
    ttl: float = 0.0
    needs: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    extra: dict[str, Any] = {}  # noqa: RUF012 (a record's default is never changed)
    trace: str | None = None  # W3C traceparent of what added it


class Moved(Payload):
    """Every edge that was taken. The event's type follows from the verb."""

    said = "{source} → {target}"
    asides = (("attempt", "attempt {attempt}"), SILENCE, ("report", "report {report}"))
    words = ("reason",)
    names = ("flags", "receipt")
    marks = ("verb", "source", "target", "phase", "holder", "author", "role", "report")
    verb: str
    source: str
    target: str
    phase: str
    attempt: int
    holder: str | None = None
    author: str | None = None
    role: str | None = None
    reason: str | None = None
    report: str | None = None
    silent_for: float | None = None
    ttl: float | None = None
    flags: tuple[str, ...] = ()
    receipt: str | None = None  # of the check that the edge rests on

    @property
    def type(self) -> str:  # type: ignore[override]
        return TYPES.get(self.verb, OTHER)


class Flagged(Payload):
    type = "task:flagged"
    said = "flagged"
    asides = (SILENCE,)
    words = ("reason",)
    reason: str
    silent_for: float | None = None
    ttl: float | None = None


class Blocked(Payload):
    type = "task:blocked"
    said = "waits for {on}"
    marks = ("on",)
    on: tuple[str, ...]


class Readied(Payload):
    """What it waited for is done, or it waits for it no more. With nothing left in `waits` it can be claimed."""

    type = "task:readied"
    said = "waits no more for {done}"
    asides = (("waits", "still for {waits}"),)
    marks = ("done", "waits")
    done: str
    waits: tuple[str, ...] = ()


class Amended(Payload):
    """A later report for the attempt that is in review."""

    type = "task:amended"
    said = "a later report: {report}"
    marks = ("report",)
    report: str


class Described(Payload):
    """Fields that a pack keeps on the task, set or changed."""

    type = "task:described"
    said = "now has {extra}"
    words = ("extra",)
    extra: dict[str, Any]


EVENTS: dict[str, type[Payload]] = {
    **{cls.type: cls for cls in (Added, Flagged, Blocked, Readied, Amended, Described)},
    **dict.fromkeys((*TYPES.values(), OTHER), Moved),
}


# --- what is --------------------------------------------------------------------------------------------------


class Step(Record):
    """One edge that was taken, as the task remembers it."""

    verb: str
    target: str
    attempt: int
    by: str
    at: str
    reason: str | None = None


class Task(Record):
    id: str
    title: str = ""
    state: str = ""  # empty: no such task yet
    phase: str = ""
    lifecycle: str = "core"
    creator: str = ""
    body: str = ""
    priority: str = "medium"
    review: bool = True
    ttl: float = 0.0
    attempt: int = 1
    needs: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    holder: str | None = None
    token: int = 0
    author: str | None = None
    report: str | None = None
    receipt: str | None = None
    flagged: str | None = None
    since: str = ""
    last_by: str = ""
    setbacks: tuple[Step, ...] = ()  # every step that carried a reason, oldest first
    extra: dict[str, Any] = {}  # noqa: RUF012
    trace: str | None = None

    @property
    def exists(self) -> bool:
        return bool(self.state)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Task:
        task = super().of(data)
        return task.replace(setbacks=tuple(Step.of(step) for step in data.get("setbacks", ())))


# --- what is wanted -------------------------------------------------------------------------------------------


class AddTask(Record):
    title: str
    creator: str
    body: str = ""
    priority: str = "medium"
    review: bool = True
    ttl: float = 0.0
    needs: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    extra: dict[str, Any] = {}  # noqa: RUF012
    lifecycle: str = "core"


class MoveTask(Record):
    verb: str
    actor: Actor
    reason: str | None = None
    token: int | None = None
    report: str | None = None
    judged: str | None = None  # the report that a verdict is about
    override: bool = False
    flags: tuple[str, ...] = ()
    receipt: str | None = None  # one that was looked at, and proves what it should
    owner: str | None = None  # the principal who is to have it, where the edge gives it to an owner


class LapseTask(Record):
    """The holder was silent for longer than it may be, was replaced by a newer incarnation, or left."""

    silent_for: float
    ttl: float
    reason: str
    failed: bool = True  # an attempt was used up; not when the holder took its leave


class BlockTask(Record):
    on: tuple[str, ...]


class ReadyTask(Record):
    done: str


class AmendTask(Record):
    report: str


class DescribeTask(Record):
    extra: dict[str, Any]


Command = AddTask | MoveTask | LapseTask | BlockTask | ReadyTask | AmendTask | DescribeTask
