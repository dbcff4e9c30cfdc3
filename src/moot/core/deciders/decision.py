"""Decisions: what was decided, why, and what it affects.

What always holds:
- A decision is made once and never changed. It can be superseded once, by another decision.
- Its successor must be standing, that is, not superseded itself.
- It affects names (of tasks or plans; `*` matches any part) and paths of the repository.

`moot.core.reactions.decisions` notifies the agents that it affects.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.principal import name_of
from moot.core.record import Record, unreachable
from moot.core.text import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.kind import Meta

AFFECTS_LIMIT = 50  # names, and the same number of paths


class MakeDecision(Record):
    maker: str
    title: str
    rationale: str = ""
    affects: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    fold: bool = False  # paths are compared without regard to case
    task: str | None = None
    replaces: str | None = None
    flags: tuple[str, ...] = ()


class DecisionMade(MakeDecision, Payload):
    type = "decision:made"
    said = "decided “{title}”"
    asides = (("replaces", "in place of {replaces}"), ("affects", "affects {affects}"), ("paths", "paths {paths}"))
    words = ("title", "rationale")
    names = ("paths", "flags")
    marks = ("maker", "affects", "task", "replaces")


class DecisionSuperseded(Payload):
    type = "decision:superseded"
    said = "superseded by {by}"
    words = ("reason",)
    marks = ("by", "who")
    by: str
    who: str
    reason: str = ""


EVENTS: dict[str, type[Payload]] = {cls.type: cls for cls in (DecisionMade, DecisionSuperseded)}


class Decision(Record):
    id: str
    status: str = ""  # empty (none), standing, superseded
    maker: str = ""
    title: str = ""
    rationale: str = ""
    affects: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    fold: bool = False
    task: str | None = None
    replaces: str | None = None
    superseded_by: str | None = None
    at: str = ""

    @property
    def exists(self) -> bool:
        return bool(self.status)

    @property
    def open(self) -> bool:
        """Whether it is standing, that is, not superseded."""
        return self.status == "standing"


class SupersedeDecision(Record):
    by: str  # another decision that is standing; the caller has checked that
    who: str
    reason: str = ""


def decide(state: Decision, command: MakeDecision | SupersedeDecision, _facts: object = None) -> list[Payload]:
    match command:
        case MakeDecision():
            if state.exists:
                raise Held(
                    "decision_exists",
                    f"The id {state.id} is already used: {state.title}",
                    "Omit the id, or choose another.",
                    decision=state.id,
                )
            if not command.title.strip():
                raise Refused("empty_decision", "The decision is empty.", "State in a sentence what was decided.")
            if max(len(command.affects), len(command.paths)) > AFFECTS_LIMIT:
                raise Refused(
                    "affects_too_much",
                    f"A decision can affect at most {AFFECTS_LIMIT} names and {AFFECTS_LIMIT} paths.",
                    "Use wider patterns: --affects '02-*', --path 'src/**'.",
                )
            return [DecisionMade(**command.__dict__)]
        case SupersedeDecision():
            return _superseded(state, command)
        case _:
            unreachable(command)


def _superseded(state: Decision, command: SupersedeDecision) -> list[Payload]:
    if not state.exists:
        raise unknown(state.id)
    if command.by == state.id:
        raise Refused("own_successor", f"{state.id} cannot supersede itself.", "Name another decision.")
    if state.superseded_by is not None:
        raise Held(
            "decision_superseded",
            f"{state.id} was already superseded by {state.superseded_by}.",
            f"Supersede that one instead: `{command_line('decision supersede', state.superseded_by)} …`.",
            decision=state.id,
            by=state.superseded_by,
        )
    return [DecisionSuperseded(by=command.by, who=command.who, reason=command.reason)]


def unknown(decision: str) -> Unknown:
    return Unknown(
        "unknown_decision",
        f"There is no decision {decision!r}.",
        "`moot decisions` lists the standing decisions.",
        decision=decision,
    )


def standing(state: Decision) -> Decision:
    """The decision. Raises unless it can supersede another."""
    if not state.exists:
        raise unknown(state.id)
    if not state.open:
        raise Refused(
            "decision_not_standing",
            f"{state.id} by {name_of(state.maker)} was superseded by {state.superseded_by}.",
            f"Name {state.superseded_by}.",
            decision=state.id,
            by=state.superseded_by,
        )
    return state


def names(patterns: tuple[str, ...], name: str) -> bool:
    """Whether one of the patterns matches the name. `*` matches any part of it; case does not matter."""
    return any(_fits(pattern.lower(), name.lower()) for pattern in patterns)


def _fits(pattern: str, name: str) -> bool:
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == name
    if not name.startswith(first):
        return False
    at = len(first)
    for part in rest[:-1]:
        found = name.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(name) - len(rest[-1]) >= at and name.endswith(rest[-1])


def evolve(state: Decision, event: Payload, meta: Meta) -> Decision:
    match event:
        case DecisionMade():
            fields = {name: value for name, value in event.__dict__.items() if name != "flags"}
            return Decision(id=state.id, status="standing", at=meta.at, **fields)
        case DecisionSuperseded():
            return state.replace(status="superseded", superseded_by=event.by)
        case _:
            raise TypeError(f"not an event of a decision: {event!r}")


KIND = Kind(
    name="decision",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Decision,
    columns=lambda state: {"open": state.open, "task": state.task, "title": state.title, "state": state.status},
    plural="decisions",
    made_by="`moot decide`",
)
