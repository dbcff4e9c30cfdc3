"""task add, link, claim, submit, approve, …: the verbs that change a task."""

from __future__ import annotations

from moot.api.catalogue import KEY, Param, Verb
from moot.api.verbs.tasks.answers import task_of, told
from moot.core.deciders.graph import Link, Unlink
from moot.core.errors import Usage
from moot.core.ids import chosen
from moot.core.principal import name_of
from moot.core.task import PRIORITIES, TYPES, AddTask, BlockTask, MoveTask, ReadyTask, Unassigned, refusals
from moot.core.task.leases import lapse_of
from moot.core.text import command_line, option
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.api.receipts import ReceiptProof
    from moot.core.principal import Actor
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work

_LONGEST_TTL = 365 * 24 * 3600.0
_LOOKED_AT = 1000  # maximum number of tasks that `task claim` without a name considers


def add(
    call: Call,
    title: str,
    id: str | None,  # noqa: A002
    body: str | None,
    needs: tuple[str, ...],
    priority: str,
    no_review: bool,
    ttl: float | None,
    lifecycle: str | None,
) -> Answer:
    made = ""
    check_ttl(ttl)

    def act(work: Work) -> None:
        nonlocal made
        made = chosen(id, "task") if id is not None else next_id(work)
        actor = call.actor(work)
        waits = tuple(need for need in dict.fromkeys(needs) if work.known_task(need).phase != "done")
        command = AddTask(
            title=title,
            creator=actor.principal,
            body=body or "",
            priority=priority,
            review=call.settings.task_review and not no_review,
            ttl=ttl if ttl is not None else call.settings.task_ttl,
            needs=tuple(dict.fromkeys(needs)),
            waits=waits,
            lifecycle=lifecycle or call.settings.task_lifecycle,
        )
        work.do("task", made, command)
        if needs:
            work.do("graph", "", Link(task=made, needs=needs))

    outcome = call.commit(act)
    if call.withheld:
        said = ", ".join(one.said for one in call.withheld)
        call.warn(
            "setting_not_allowed",
            f"moot.toml sets {said}; this is not in force until a person runs `moot allow settings`.",
        )
    return told(call, outcome, task_of(outcome) or made, "added")


def check_ttl(ttl: float | None) -> None:
    if ttl is not None and not 0 < ttl <= _LONGEST_TTL:
        raise Usage("bad_ttl", f"{ttl} s is not a valid ttl.", "Use more than 0 and at most 365d.")


def next_id(work: Work) -> str:
    """One more than the highest number ever used, with at least three digits."""
    number = queries.highest_number(work.store) + 1
    while work.task(f"task-{number:03d}").exists:  # ids that the counter does not include
        number += 1
    return f"task-{number:03d}"


def link(call: Call, task: str, needs: tuple[str, ...]) -> Answer:
    def act(work: Work) -> None:
        call.actor(work)
        refusals.check_goes_on(work.known_task(task))
        waits = tuple(need for need in needs if work.known_task(need).phase != "done")
        work.do("graph", "", Link(task=task, needs=needs))
        work.do("task", task, BlockTask(on=waits))

    return told(call, call.commit(act), task, f"needs {', '.join(needs)}")


def unlink(call: Call, task: str, needs: tuple[str, ...]) -> Answer:
    def act(work: Work) -> None:
        call.actor(work)
        work.known_task(task)
        work.do("graph", "", Unlink(task=task, needs=needs))
        for need in needs:
            work.do("task", task, ReadyTask(done=need))

    return told(call, call.commit(act), task, f"no longer needs {', '.join(needs)}")


def claim(call: Call, task: str | None) -> Answer:
    def act(work: Work) -> None:
        actor = call.actor(work)
        for name in (task,) if task else _candidates(work, actor):
            if work.known_task(name).holder != actor.principal:
                lapse_if_silent(work, work.task(name))
            _end_idle_assignment(work, name, actor)
            if work.task(name).phase == "open" or (task and not work.drafts):
                work.do("task", name, MoveTask(verb="claim", actor=actor))
                return
        if not work.drafts:
            raise refusals.nothing_ready()
        # The silent holder has lost the task, but it cannot be claimed: its attempts are used up, or it is flagged.

    outcome = call.commit(act)
    started = next((event for event in outcome.events if event.type == TYPES["claim"]), None)
    if started is None:
        if task:  # raise the same error as a later caller gets
            call.try_out(lambda work: work.do("task", task, MoveTask(verb="claim", actor=call.actor(work))))
        raise refusals.nothing_ready()
    answer = told(call, outcome, started.stream.partition("/")[2], "is yours", moved=True)
    if (freed := next((e for e in outcome.events if e.type == Unassigned.type), None)) is not None:
        answer = answer.replace(say=(*answer.say, f"It was assigned to {freed.data['to']}: {freed.data['reason']}."))
    return answer


def _candidates(work: Work, actor: Actor) -> Iterator[str]:
    """Tasks that the actor may start: those assigned to it, then other ready ones, each most urgent first.

    Held tasks come last: their holders may be silent.
    """
    ready = _ready_for(work, actor) if queries.assigned_tasks(work.store) else queries.ready(work.store, _LOOKED_AT)
    for state in ready:
        if _may_start(work, state, actor):
            yield state.id
    held = [work.task(name) for name in queries.held_tasks(work.store)]
    work.facts.silences(state.holder for state in held if state.holder)  # one lookup for all
    for state in held:
        life = work.lifecycles.get(state.lifecycle)
        if life and not state.waits and _may_start(work, state.replace(state=life.initial), actor):
            yield state.id


def _ready_for(work: Work, actor: Actor) -> list[Task]:
    from moot.api.verbs.tasks.assignments import is_for, kept_for_others

    assigned = queries.assigned_tasks(work.store)
    kept = kept_for_others(work.agent, work.facts.silences, assigned, actor.principal)
    own = [state for state in assigned if not state.waits and is_for(state, actor.principal)]
    return [*own, *queries.ready(work.store, _LOOKED_AT, besides=[*kept, *(state.id for state in own)])]


def _end_idle_assignment(work: Work, name: str, actor: Actor) -> None:
    if work.task(name).assigned is not None:
        from moot.api.verbs.tasks.assignments import end_if_idle

        end_if_idle(work, work.task(name), actor)


def _may_start(work: Work, state: Task, actor: Actor) -> bool:
    life = work.lifecycles.get(state.lifecycle)  # None if its pack was disabled
    edge = life.edge("claim", state.state) if life else None
    return edge is not None and edge.open_to(actor.roles, person=actor.person)


def lapse_if_silent(work: Work, state: Task) -> None:
    """Release the task if its holder fell silent, left, or was replaced by a newer incarnation."""
    if state.holder is None:
        return
    agent = work.agent(name_of(state.holder)) if "#" in state.holder else None
    here = agent is None or (agent.here and agent.principal == state.holder)
    command = lapse_of(state, work.facts.silence(state.holder), here=here)
    if command is not None:
        work.do("task", state.id, command)


def _mover(verb: str) -> Callable[..., Answer]:
    def move(call: Call, task: str, reason: str | None, **given: Any) -> Answer:
        return moved(call, task, verb, reason=reason, **given)

    return move


def moved(
    call: Call,
    task: str,
    verb: str | None,
    *,
    reason: str | None,
    to: str = "",
    token: int | None = None,
    report: str | None = None,
    override: bool = False,
    receipt: str | None = None,
    owner: str | None = None,
) -> Answer:
    """Move the task along an edge of its lifecycle: the edge of this verb, or the edge that leads `to` a state."""
    proof = _proof(call, task, verb, to, receipt)

    def act(work: Work) -> None:
        actor = call.actor(work)
        state = work.known_task(task)
        taken = verb or refusals.verb_to(work.lifecycle(state.lifecycle), state, to)
        edge = work.lifecycle(state.lifecycle).edge(taken, state.state)
        if edge is not None and edge.holds == "actor":
            _end_idle_assignment(work, task, actor)
        flags = call.packs.move(work, state, taken, reason)
        command = MoveTask(
            verb=taken,
            actor=actor,
            reason=reason,
            token=token,
            judged=report,
            override=override,
            flags=flags,
            owner=_owner(work, owner),
            receipt=proof.checked(work) if proof else None,
        )
        work.do("task", task, command)

    answer = told(call, call.commit(act), task, "is", moved=True)
    if answer.result.phase == "stopped":
        for name in queries.dependents(call.engine.store, task):
            unlink = command_line("task unlink", name, options=option("--needs", task))
            call.warn("blocked_for_good", f"{name} still depends on it. To remove the dependency: `{unlink}`")
    return answer


def _owner(work: Work, name: str | None) -> str | None:
    """The principal of the agent that gets the task."""
    return work.actor(name, None).principal if name is not None else None


def _proof(call: Call, task: str, verb: str | None, to: str, given: str | None) -> ReceiptProof | None:
    """The given receipt, or the receipt of the task if the lifecycle requires one."""
    demands = any("receipt" in e.needs for life in call.engine.lifecycles.values() for e in life.edges)
    if given is None and not demands:
        return None
    from moot.api.receipts import proof

    return proof(call, task, verb, to, given)


def move(call: Call, task: str, state: str, reason: str | None, owner: str | None) -> Answer:
    return moved(call, task, None, to=state, reason=reason, owner=owner)


_TASK = Param("task", "The task.", positional=True, required=True)
_REASON = Param("reason", "Why; recorded with the task.")
_TOKEN = Param("token", "Your fencing token; refused if it is no longer the current one.", type="int")
_REPORT = Param("report", "The report that you reviewed; refused if there is a newer one.")
_RECEIPT = Param(
    "receipt", "A receipt of a check (see `moot check`) that passed on the current files; `last` is your newest."
)
_OVERRIDE = Param("override", "Exceed the limit of attempts.", type="flag", person=True)


def _move_verb(verb: str, summary: str, *more: Param, example: str) -> Verb:
    return Verb(
        f"task {verb}", summary, _mover(verb), kind="own", params=(_TASK, _REASON, *more, KEY), examples=(example,)
    )


VERBS = (
    Verb(
        "task add",
        "Add a task.",
        add,
        kind="own",
        params=(
            Param("title", "What to do, in one line.", positional=True, required=True),
            Param("id", "Its id (letters, digits, '.', '_', '-'). Default: the next number."),
            Param("body", "Details, or - for standard input.", type="words"),
            Param("needs", "A task that must be done first (repeatable).", many=True),
            Param("priority", "high, medium or low.", default="medium", choices=PRIORITIES),
            Param("no_review", "The holder can complete it without review.", type="flag"),
            Param("ttl", "How long the holder may be silent before another agent can take it.", type="seconds"),
            Param("lifecycle", "`core`, or a lifecycle of an active pack."),
            KEY,
        ),
        examples=("moot task add 'Write the parser' --priority high", "moot task add 'Test it' --needs task-001"),
    ),
    Verb(
        "task link",
        "Add dependencies to a task. A cycle is refused and shown.",
        link,
        kind="own",
        params=(_TASK, Param("needs", "A task that it depends on (repeatable).", many=True, required=True), KEY),
        examples=("moot task link task-002 --needs task-001",),
    ),
    Verb(
        "task unlink",
        "Remove dependencies from a task.",
        unlink,
        kind="own",
        params=(
            _TASK,
            Param("needs", "A task that it no longer depends on (repeatable).", many=True, required=True),
            KEY,
        ),
        examples=("moot task unlink task-002 --needs task-001",),
    ),
    Verb(
        "task claim",
        "Claim a task: the named one, or the most urgent one that is ready.",
        claim,
        kind="own",
        params=(Param("task", "The task. Default: the next one that is ready.", positional=True), KEY),
        examples=("moot task claim", "moot task claim task-001"),
        detail=(
            "At most one agent holds a task. A holder that is silent for longer than the task's ttl loses it to the "
            "next agent that claims it. In a pack's lifecycle, this verb starts a task."
        ),
    ),
    _move_verb("submit", "Submit your work for review.", _TOKEN, _RECEIPT, example="moot task submit task-001"),
    _move_verb(
        "approve", "Approve what another agent submitted.", _REPORT, _RECEIPT, example="moot task approve task-001"
    ),
    _move_verb(
        "reject",
        "Send a task back; requires a reason.",
        _REPORT,
        example="moot task reject task-001 --reason 'No test for empty input.'",
    ),
    _move_verb(
        "reopen",
        "Reopen a finished or stopped task as a new attempt.",
        _OVERRIDE,
        example="moot task reopen task-001 --reason 'Broken on main.'",
    ),
    _move_verb(
        "complete", "Finish a task that needs no review.", _TOKEN, _RECEIPT, example="moot task complete task-001"
    ),
    _move_verb(
        "fail",
        "Report that a task cannot be done.",
        _TOKEN,
        example="moot task fail task-001 --reason 'The API is gone.'",
    ),
    _move_verb("cancel", "Cancel a task.", example="moot task cancel task-001 --reason 'Not needed any more.'"),
    _move_verb("release", "Release a task unfinished.", _TOKEN, example="moot task release task-001"),
    Verb(
        "task move",
        "Move a task to a state of its lifecycle, or apply a verb of a pack's lifecycle.",
        move,
        kind="own",
        params=(
            _TASK,
            Param("state", "The target state, or a verb of its lifecycle.", positional=True, required=True),
            _REASON,
            Param("owner", "The agent that gets the task, if the verb assigns it to an owner."),
            KEY,
        ),
        examples=("moot task move task-001 review",),
        detail="`moot task show` lists the possible verbs and the states they lead to.",
    ),
)
