"""The events, the state and the commands of a task. The rules are in `moot.core.deciders.task`.

The verb of a move determines the type of its event: see `TYPES`. A verb that only a pack defines gives `task:moved`.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.payload import SILENCE, Payload
from moot.core.record import Record
from moot.core.text import REASON, command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.core.lifecycle import Lifecycle
    from moot.core.principal import Actor

PRIORITIES = ("critical", "high", "medium", "low")

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
OTHER = "task:moved"  # for verbs that only a pack defines
_PHRASES = {"working": "is being worked on", "review": "is in review", "failed": "has failed"}


def is_in(state: str) -> str:
    """A task's state as the predicate of a sentence: `is open`, `is in review`, `has failed`."""
    return _PHRASES.get(state) or f"is {state}"


def by_verb(verb: str, task: str, options: str = "") -> str:
    """The command that moves a task by this verb. A verb that only a pack defines has no command of its own."""
    if verb in TYPES:
        return command_line(f"task {verb}", task, options=options)
    return command_line("task move", task, verb, options=options)


def check_title(title: str) -> None:
    if not title.strip():
        raise Refused("no_title", "A task needs a title.", "Give it one: `moot task add 'Write the parser'`.")


def check_priority(priority: str) -> None:
    if priority not in PRIORITIES:
        raise Refused("bad_priority", f"{priority!r} is not a valid priority.", f"Use one of {', '.join(PRIORITIES)}.")


def verdicts(life: Lifecycle, task: Task) -> dict[str, str]:
    """The verbs that judge a task in review, each with its command."""
    edges = {edge.verb: edge for edge in life.verdicts(task.state)}
    return {verb: by_verb(verb, task.id, REASON if "reason" in edge.needs else "") for verb, edge in edges.items()}


# --- events ------------------------------------------------------------------------------------------------


class Added(Payload):
    type = "task:added"
    said = "added “{title}”"
    words = ("title", "body", "extra", "reason")
    names = ("flags",)
    marks = ("state", "phase", "lifecycle", "creator", "priority", "needs", "waits", "origin")
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
    origin: str | None = None  # where in which plan it came from: see `moot.core.task.plan`
    reason: str | None = None  # why it was rejected before it was added
    flags: tuple[str, ...] = ()


class Moved(Payload):
    """A move along an edge. The verb determines the event's type."""

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
    receipt: str | None = None  # of the check that the edge requires

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


class Unflagged(Payload):
    """What the flag was about is over."""

    type = "task:unflagged"
    said = "no longer flagged"
    words = ("reason",)
    reason: str


class Blocked(Payload):
    type = "task:blocked"
    said = "waits for {on}"
    marks = ("on",)
    on: tuple[str, ...]


class Readied(Payload):
    """A dependency is done, or was removed. The task can be claimed once `waits` is empty."""

    type = "task:readied"
    said = "no longer waits for {done}"
    asides = (("waits", "still for {waits}"),)
    marks = ("done", "waits")
    done: str
    waits: tuple[str, ...] = ()


class Described(Payload):
    """Fields that a pack keeps on the task were set or changed."""

    type = "task:described"
    said = "now has {extra}"
    words = ("extra",)
    extra: dict[str, Any]


class Edited(Payload):
    """Only the fields that changed."""

    type = "task:edited"
    said = "edited"
    asides = (
        ("title", "title “{title}”"),
        ("body", "a new body"),
        ("priority", "priority {priority}"),
        ("ttl", "ttl {ttl} s"),
    )
    words = ("title", "body")
    marks = ("who", "priority")
    who: str
    title: str | None = None
    body: str | None = None
    priority: str | None = None
    ttl: float | None = None


class Noted(Payload):
    """A comment. The state of the task keeps only the number of comments."""

    type = "task:noted"
    said = "noted: {text}"
    words = ("text",)
    marks = ("who",)
    who: str
    text: str


class Assigned(Payload):
    """Only this agent can claim the task next."""

    type = "task:assigned"
    said = "assigned to {to}"
    marks = ("who", "to")
    who: str
    to: str  # the name of an agent, without an incarnation


class Unassigned(Payload):
    type = "task:unassigned"
    said = "no longer assigned to {to}"
    asides = (SILENCE,)
    words = ("reason",)
    marks = ("who", "to")
    who: str
    to: str
    reason: str | None = None
    silent_for: float | None = None
    ttl: float | None = None


EVENTS: dict[str, type[Payload]] = {
    **{cls.type: cls for cls in (Added, Flagged, Unflagged, Blocked, Readied, Described)},
    **{cls.type: cls for cls in (Edited, Noted, Assigned, Unassigned)},
    **dict.fromkeys((*TYPES.values(), OTHER), Moved),
}


# --- state ----------------------------------------------------------------------------------------------------


class Step(Record):
    """One past move of the task."""

    verb: str
    target: str
    attempt: int
    by: str
    at: str
    reason: str | None = None
    report: str | None = None  # that it judged


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
    added_at: str = ""
    changed_at: str = ""  # its last move or edit, or new report; later than every earlier one, whatever the clock says
    active_at: str = ""  # its last event, except flags
    last_by: str = ""
    setbacks: tuple[Step, ...] = ()  # the steps that sent it back or stopped it, oldest first
    verdict: Step | None = None  # the step that ended its last review; None again once it is submitted
    extra: dict[str, Any] = {}  # noqa: RUF012
    assigned: str | None = None  # the agent that alone can claim it next
    assigner: str | None = None
    notes: int = 0
    origin: str | None = None

    @property
    def exists(self) -> bool:
        return bool(self.state)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Task:
        task, verdict = super().of(data), data.get("verdict")
        if not verdict and not task.setbacks:
            return task
        setbacks = tuple(Step.of(step) for step in data.get("setbacks", ()))
        return task.replace(setbacks=setbacks, verdict=Step.of(verdict) if verdict else None)


# --- commands -------------------------------------------------------------------------------------------------


class AddTask(Record):
    """`state`: the one that a file of its protocol gives it; "": the first one. `reason`: of its last rejection."""

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
    origin: str | None = None
    state: str = ""
    reason: str | None = None
    flags: tuple[str, ...] = ()


class MoveTask(Record):
    verb: str
    actor: Actor
    reason: str | None = None
    token: int | None = None
    report: str | None = None
    judged: str | None = None  # the report that a verdict is about
    override: bool = False
    recorded: bool = False  # a file of the protocol records it: it has happened, whatever the edge needs
    flags: tuple[str, ...] = ()
    receipt: str | None = None  # one that the caller has found valid
    owner: str | None = None  # the new holder, if the edge assigns the task to an owner


class LapseTask(Record):
    """The holder was silent for longer than the ttl, was replaced by a newer incarnation, or left."""

    silent_for: float
    ttl: float
    reason: str
    failed: bool = True  # an attempt was used up; False if the holder left


class FlagTask(Record):
    """Mark a task that somebody should look at, once. Only a move or `UnflagTask` removes the mark."""

    reason: str
    silent_for: float | None = None
    ttl: float | None = None


class UnflagTask(Record):
    reason: str


class BlockTask(Record):
    on: tuple[str, ...]


class ReadyTask(Record):
    done: str


class DescribeTask(Record):
    extra: dict[str, Any]


class EditTask(Record):
    """None: unchanged."""

    actor: Actor
    title: str | None = None
    body: str | None = None
    priority: str | None = None
    ttl: float | None = None


class NoteTask(Record):
    actor: Actor
    text: str


class AssignTask(Record):
    """`to`: the name of an agent; None: nobody. `gone`: that it has left, as the predicate of a sentence."""

    actor: Actor
    to: str | None
    roles: tuple[str, ...] = ()
    gone: str = ""


class LapseAssignment(Record):
    """The assigned agent was silent for longer than the ttl, or left."""

    actor: Actor
    reason: str
    silent_for: float | None = None
    ttl: float | None = None


Change = EditTask | NoteTask | AssignTask | LapseAssignment | FlagTask | UnflagTask
Command = AddTask | MoveTask | LapseTask | BlockTask | ReadyTask | DescribeTask | Change
