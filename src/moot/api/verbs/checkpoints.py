"""checkpoint reach, resolve, withdraw, show, checkpoints: questions that only a person can answer."""

from __future__ import annotations

from moot.api.answer import Answer, Table, warn_of_more
from moot.api.catalogue import KEY, TIMEOUT, Param, Verb
from moot.api.verbs.events import deadline_of, until
from moot.core.deciders.checkpoint import (
    KINDS,
    Checkpoint,
    CheckpointReached,
    ReachCheckpoint,
    ResolveCheckpoint,
    WithdrawCheckpoint,
)
from moot.core.deciders.message import Sent
from moot.core.errors import AwaitedFailed, Unknown
from moot.core.principal import name_of
from moot.core.text import command_line, fence, one_line
from moot.engine.clock import local
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work


def reach(
    call: Call,
    question: str,
    kind: str,
    option: tuple[str, ...],
    awaiting: str | None,
    task: str | None,
    wait: bool,
    timeout: float | None,
) -> Answer:
    identity = f"k-{call.clock.token(7)}"

    def act(work: Work) -> None:
        actor = call.actor(work)
        if task is not None:
            work.known_task(task)
        command = ReachCheckpoint(
            who=actor.principal,
            kind=one_line(kind, 60) or KINDS[0],
            question=question,
            awaiting=awaiting or "",
            options=option,
            task=task,
        )
        work.do("checkpoint", identity, command)

    outcome = call.commit(act)
    event = next(e for e in outcome.events if e.type == CheckpointReached.type)
    identity = event.stream.partition("/")[2]
    if wait:
        return _awaited(call, identity, event.position, timeout)
    state = _known(call, identity)
    said = f"{identity} waits for a person. The answer arrives as mail; `{_waits(identity)}` waits for it."
    return Answer(result=state, say=(said,) if state.open else tuple(_lines(state)))


def _waits(identity: str) -> str:
    return command_line("checkpoint show", identity, options="--wait")


def _awaited(call: Call, identity: str, position: int, timeout: float | None) -> Answer:

    def look_at(events: list[Event]) -> Answer | None:
        if events and not any(event.stream == f"checkpoint/{identity}" for event in events):
            return None
        state = _known(call, identity)
        if state.status == "withdrawn":
            raise AwaitedFailed(
                "checkpoint_withdrawn",
                f"{identity} was withdrawn by {name_of(state.resolved_by or '')}: {one_line(state.text, 200)}",
                "It will not be answered.",
                checkpoint=identity,
            )
        return None if state.open else Answer(result=state, say=tuple(_lines(state)))

    remedy = f"It stays open. Keep waiting with `{_waits(identity)}`; the answer also arrives as mail."
    deadline = deadline_of(call, timeout)
    return look_at([]) or until(call, position, deadline, look_at, lambda: f"no answer to {identity}", remedy)


def resolve(call: Call, id: str, answer: str, text: str | None) -> Answer:  # noqa: A002
    def act(work: Work) -> None:
        command = ResolveCheckpoint(actor=call.actor(work), answer=answer, text=text or "")
        work.do("checkpoint", id, command)

    outcome = call.commit(act)
    state = _known(call, id)
    told = [box for event in outcome.events if event.type == Sent.type for box in event.data["to"]]
    notified = ", ".join(told) or "no agent; none waits for it"
    return Answer(result=state, say=(f"{id} answered: {one_line(state.answer or '', 500)}; notified: {notified}",))


def withdraw(call: Call, id: str, reason: str) -> Answer:  # noqa: A002
    def act(work: Work) -> None:
        work.do("checkpoint", id, WithdrawCheckpoint(actor=call.actor(work), reason=reason))

    call.commit(act)
    return Answer(result=_known(call, id), say=(f"{id} withdrawn",))


def show(call: Call, id: str, wait: bool, timeout: float | None) -> Answer:  # noqa: A002
    head = call.engine.log.head()
    state = _known(call, id)
    if wait:
        return _awaited(call, id, head, timeout)
    return Answer(result=state, say=tuple(_lines(state)))


def _lines(state: Checkpoint) -> list[str]:
    about = f" about {state.task}" if state.task else ""
    asked = f"{name_of(state.who)}{about} asked at {local(state.at)}"
    lines = [one_line(f"{state.id} {state.kind} {state.status}: {asked}", 1000)]
    lines += fence(state.question).splitlines()
    if state.awaiting:
        lines.append(f"  awaits: {one_line(state.awaiting, 500)}")
    lines += [f"  {number} {one_line(option, 500)}" for number, option in enumerate(state.options, 1)]
    if state.answer is not None:
        lines.append(f"answered by {one_line(name_of(state.resolved_by or ''), 80)} at {local(state.ended_at)}:")
        lines += fence(state.answer).splitlines()
    if state.text:
        lines += fence(state.text).splitlines()
    return lines


def checkpoints(call: Call, all: bool, task: str | None, limit: int) -> Answer:  # noqa: A002
    found: list[Checkpoint] = [
        state
        for state in queries.things(call.engine.read(), "checkpoint", ended=all)
        if task is None or state.task == task
    ]
    warn_of_more(call, limit, len(found) - limit, "checkpoint")
    found = found[:limit]
    rows = tuple(
        (
            c.id,
            c.status,
            one_line(c.kind, 40),
            one_line(name_of(c.who), 80),
            one_line(c.task or "", 60),
            one_line(c.question, 100),
            one_line(c.answer or " | ".join(c.options), 100),
        )
        for c in found
    )
    lines = tuple(
        f"{r[0]} {r[1]} {r[2]} from {r[3]}{f' about {r[4]}' if r[4] else ''}: {r[5]}{f' [{r[6]}]' if r[6] else ''}"
        for r in rows
    )
    table = Table(("checkpoint", "state", "kind", "from", "task", "question", "answer"), rows, title="Checkpoints")
    return Answer(result=found, say=lines or ("No open checkpoints.",), table=table if rows else None)


def _known(call: Call, name: str) -> Checkpoint:
    state: Checkpoint = states.state(call.engine.read(), "checkpoint", name)[0]
    if not state.exists:
        raise Unknown(
            "unknown_checkpoint",
            f"There is no checkpoint {name!r}.",
            "`moot checkpoints` lists the open ones.",
            checkpoint=name,
        )
    return state


_ID = Param("id", "The checkpoint (k-…).", positional=True, required=True)
_WAIT = (
    Param("wait", "Wait for the answer.", type="flag"),
    Param("timeout", f"With --wait: give up after this long; the checkpoint stays open. {TIMEOUT}", type="seconds"),
)

VERBS = (
    Verb(
        "checkpoint reach",
        "Ask a person. The answer arrives as mail, or wait for it.",
        reach,
        kind="speak",
        params=(
            Param(
                "question",
                "What the person should decide or do.",
                type="words",
                positional=True,
                required=True,
                limit=65_536,
            ),
            Param("kind", "human-verify, decision, human-action, or another word.", default=KINDS[0], limit=60),
            Param(
                "option",
                "A possible answer (repeatable). Without options, the answer is free text.",
                many=True,
                limit=500,
            ),
            Param("awaiting", "What the work waits for, in a few words."),
            Param("task", "The task it belongs to."),
            *_WAIT,
            KEY,
        ),
        examples=("moot checkpoint reach 'Is the login page right?' --option yes --option no --task task-001",),
        detail="Exit codes with --wait: 0 answered, 5 timeout, 6 withdrawn.",
    ),
    Verb(
        "checkpoint resolve",
        "Answer a checkpoint. Only for people; the first answer counts.",
        resolve,
        kind="person",
        params=(
            _ID,
            Param(
                "answer",
                "One of the options (or its number), or free text.",
                type="words",
                positional=True,
                required=True,
                limit=65_536,
            ),
            Param("text", "An explanation to go with the answer.", type="words", limit=65_536),
            KEY,
        ),
        examples=("moot checkpoint resolve k-4k2xw9a yes",),
        detail="A second answer is refused with exit code 3; the error shows the first answer and who gave it.",
    ),
    Verb(
        "checkpoint withdraw",
        "Withdraw a checkpoint that no longer needs an answer.",
        withdraw,
        kind="speak",
        params=(_ID, Param("reason", "Why.", required=True), KEY),
        examples=("moot checkpoint withdraw k-4k2xw9a --reason 'found it out myself'",),
    ),
    Verb(
        "checkpoint show",
        "Show a checkpoint and its answer.",
        show,
        kind="look",
        params=(_ID, *_WAIT),
        examples=("moot checkpoint show k-4k2xw9a",),
        writes=False,
    ),
    Verb(
        "checkpoints",
        "List open checkpoints.",
        checkpoints,
        kind="look",
        params=(
            Param("all", "Include answered and withdrawn checkpoints; newest first.", type="flag"),
            Param("task", "Only checkpoints of this task."),
            Param("limit", "Maximum number of checkpoints.", type="int", default=200),
        ),
        examples=("moot checkpoints",),
        writes=False,
    ),
)
