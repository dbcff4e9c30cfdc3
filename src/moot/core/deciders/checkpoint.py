"""Checkpoints: a point where work stops until a person answers.

What always holds:
- A checkpoint is answered once, by a person. A second answer is refused with the first one and its author.
- If it has options, the answer is one of them. The placeholder of a suggested command is never an answer.
- The agent that reached it, or a person, may withdraw it while it is open. After that it cannot be answered.

    reached ── resolve (a person) ──▶ resolved
       └────── withdraw (the agent that reached it, or a person) ──▶ withdrawn
"""

from __future__ import annotations

from moot.core.errors import Held, MootError, Refused, Unknown
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.principal import name_of, same_agent
from moot.core.record import Record, unreachable
from moot.core.text import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.kind import Meta
    from moot.core.principal import Actor

KINDS = ("human-verify", "decision", "human-action")  # the usual kinds; any other word is allowed
OPTION_LIMIT = 20
PLACEHOLDER = "…"  # in a suggested command


class ReachCheckpoint(Record):
    who: str
    kind: str
    question: str
    awaiting: str = ""
    options: tuple[str, ...] = ()
    task: str | None = None
    flags: tuple[str, ...] = ()


class CheckpointReached(ReachCheckpoint, Payload):
    type = "checkpoint:reached"
    said = "waits for a person ({kind}): {question}"
    asides = (("options", "options {options}"), ("awaiting", "awaiting {awaiting}"))
    words = ("question", "options")
    quiet = ("awaiting",)
    names = ("flags",)
    marks = ("who", "kind", "task")


class CheckpointResolved(Payload):
    type = "checkpoint:resolved"
    said = "answered: {answer} {text}"
    words = ("answer", "text")
    marks = ("who",)
    who: str
    answer: str
    text: str = ""


class CheckpointWithdrawn(Payload):
    type = "checkpoint:withdrawn"
    said = "withdrawn"
    words = ("reason",)
    marks = ("who",)
    who: str
    reason: str


EVENTS: dict[str, type[Payload]] = {
    cls.type: cls for cls in (CheckpointReached, CheckpointResolved, CheckpointWithdrawn)
}


class Checkpoint(Record):
    id: str
    status: str = ""  # empty (none), reached, resolved, withdrawn
    who: str = ""
    kind: str = ""
    question: str = ""
    awaiting: str = ""
    options: tuple[str, ...] = ()
    task: str | None = None
    at: str = ""
    answer: str | None = None
    text: str = ""
    resolved_by: str | None = None
    ended_at: str = ""

    @property
    def exists(self) -> bool:
        return bool(self.status)

    @property
    def open(self) -> bool:
        return self.status == "reached"


class ResolveCheckpoint(Record):
    actor: Actor
    answer: str
    text: str = ""


class WithdrawCheckpoint(Record):
    actor: Actor
    reason: str


def decide(
    state: Checkpoint, command: ReachCheckpoint | ResolveCheckpoint | WithdrawCheckpoint, _facts: object = None
) -> list[Payload]:
    match command:
        case ReachCheckpoint():
            return _reached(state, command)
        case ResolveCheckpoint():
            if not state.exists:
                raise _unknown(state)
            if not command.actor.person:
                raise Refused(
                    "people_only",
                    f"{state.id} waits for a person; {command.actor.name} is an agent.",
                    "Leave it to a person. `moot needs-me` shows it to them.",
                    checkpoint=state.id,
                )
            if not state.open:
                raise _over(state)
            who = command.actor.principal
            return [CheckpointResolved(who=who, answer=_chosen(state, command.answer), text=command.text)]
        case WithdrawCheckpoint():
            return _withdrawn(state, command)
        case _:
            unreachable(command)


def _reached(state: Checkpoint, command: ReachCheckpoint) -> list[Payload]:
    if state.exists:
        raise Refused(
            "checkpoint_exists",
            f"The id {state.id} is already used.",
            "Omit the id, or choose another.",
            checkpoint=state.id,
        )
    if not command.question.strip():
        raise Refused("empty_question", "The question is empty.", "State what the person should decide or do.")
    options = tuple(option.strip() for option in command.options)
    if len(options) > OPTION_LIMIT or "" in options or len({o.casefold() for o in options}) < len(options):
        raise Refused(
            "bad_options",
            "There are too many options, or some are empty or identical.",
            f"Give at most {OPTION_LIMIT} different options, none of them empty.",
        )
    return [CheckpointReached(**{**command.__dict__, "options": options})]


def _withdrawn(state: Checkpoint, command: WithdrawCheckpoint) -> list[Payload]:
    if not state.exists:
        raise _unknown(state)
    if not command.actor.person and not same_agent(command.actor.principal, state.who):
        raise Refused(
            "not_yours",
            f"{state.id} is {name_of(state.who)}'s checkpoint.",
            f"Leave it to {name_of(state.who)}, or to a person.",
            checkpoint=state.id,
        )
    if not state.open:
        raise _over(state)
    if not command.reason.strip():
        raise Refused("reason_missing", "`withdraw` requires a reason.", "Give one: `--reason '…'`.")
    return [CheckpointWithdrawn(who=command.actor.principal, reason=command.reason)]


def _chosen(state: Checkpoint, answer: str) -> str:
    """The answer, or the option that it names by text or number."""
    given = answer.strip()
    if not given:
        raise Refused("empty_answer", "The answer is empty.", "Write an answer.", checkpoint=state.id)
    if given == PLACEHOLDER:
        raise Refused(
            "placeholder_answer",
            f"{PLACEHOLDER!r} stands for the answer in the command that moot suggests.",
            "Write your answer in its place, such as approved, rejected, or a sentence.",
            checkpoint=state.id,
        )
    if not state.options:
        return answer
    for option in state.options:
        if option.casefold() == given.casefold():
            return option
    if given.isascii() and given.isdigit() and len(given) < 4 and 0 < int(given) <= len(state.options):
        return state.options[int(given) - 1]
    numbered = "; ".join(f"{number} {option}" for number, option in enumerate(state.options, 1))
    raise Refused(
        "not_an_option",
        f"{given[:80]!r} is not an option of {state.id}.",
        f"Choose one by its text or number: {numbered}. Use --text to add a comment.",
        checkpoint=state.id,
        options=list(state.options),
    )


def _unknown(state: Checkpoint) -> Unknown:
    return Unknown(
        "unknown_checkpoint",
        f"There is no checkpoint {state.id!r}.",
        "`moot checkpoints` lists the open ones.",
        checkpoint=state.id,
    )


def _over(state: Checkpoint) -> MootError:
    if state.status == "withdrawn":
        return Refused(
            "checkpoint_withdrawn",
            f"{state.id} was withdrawn: {state.text}",
            "No answer is needed.",
            checkpoint=state.id,
        )
    return Held(
        "checkpoint_resolved",
        f"{state.id} was answered by {state.resolved_by}: {state.answer}",
        f"Only the first answer counts. To add something: `{command_line('send', name_of(state.who))} '…'`.",
        checkpoint=state.id,
        by=state.resolved_by,
        answer=state.answer,
        at=state.ended_at,
    )


def evolve(state: Checkpoint, event: Payload, meta: Meta) -> Checkpoint:
    match event:
        case CheckpointReached():
            fields = {name: value for name, value in event.__dict__.items() if name != "flags"}
            return Checkpoint(id=state.id, status="reached", at=meta.at, **fields)
        case CheckpointResolved():
            return state.replace(
                status="resolved", answer=event.answer, text=event.text, resolved_by=event.who, ended_at=meta.at
            )
        case CheckpointWithdrawn():
            return state.replace(status="withdrawn", text=event.reason, resolved_by=event.who, ended_at=meta.at)
        case _:
            raise TypeError(f"not an event of a checkpoint: {event!r}")


KIND = Kind(
    name="checkpoint",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Checkpoint,
    columns=lambda state: {"open": state.open, "task": state.task, "title": state.question, "state": state.status},
    plural="checkpoints",
    made_by="`moot checkpoint`",
)
