"""Tasks.

What always holds:
- A task is in exactly one state of its lifecycle. Only an edge of the lifecycle moves it to another state.
- A task has at most one holder. The fencing token is the position of the grant. The holder must present that token,
  or be the same incarnation that claimed the task.
- An agent cannot approve or reject its own submission, nor end its review by another verb.
- A blocked task (one that waits for another) cannot be claimed. Release and block are events of the task.
- A lease ends by an event and never by a clock. The caller measures the silence and passes it in as a number.
- A task that is assigned to an agent can be claimed by no other agent or person until that agent lost it by an event.
- A move with a reason is a setback, unless it brings the task forward or completes it.
- A task that has used up its attempts moves to the lifecycle's `exhausted` state. If there is none, going back is
  refused until a person overrides it.

The edges are data: see `moot.core.lifecycle`.
"""

from __future__ import annotations

from moot.core.errors import Held, MootError, Refused, Unknown
from moot.core.kind import Kind
from moot.core.lifecycle import RELATIONS
from moot.core.principal import same_agent
from moot.core.task import (
    EVENTS,
    PRIORITIES,
    Added,
    AddTask,
    Assigned,
    Blocked,
    BlockTask,
    Described,
    DescribeTask,
    Edited,
    Flagged,
    LapseTask,
    Moved,
    MoveTask,
    Noted,
    Readied,
    ReadyTask,
    Step,
    Task,
    Unassigned,
    Unflagged,
    by_verb,
    check_priority,
    check_title,
    refusals,
)
from moot.core.text import REASON, command_line, option
from moot.core.timestamps import later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.kind import Meta
    from moot.core.lifecycle import Edge, Lifecycle
    from moot.core.payload import Payload
    from moot.core.principal import Actor
    from moot.core.task import Command

_FORWARD = (("open", "working"), ("open", "review"), ("working", "review"))  # phases; `done` is always forward


def decide(task: Task, command: Command, life: Lifecycle) -> list[Payload]:
    """Decide a command. `life` is the task's lifecycle."""
    if isinstance(command, AddTask):
        return _add(life, task, command)
    if not task.exists:
        raise Unknown("unknown_task", f"There is no task {task.id}.", "`moot board` lists the tasks.", task=task.id)
    match command:
        case MoveTask():
            return _move(life, task, command)
        case LapseTask():
            return _lapse(life, task, command)
        case BlockTask():
            on = tuple(t for t in dict.fromkeys(command.on) if t not in task.waits)
            return [Blocked(on=on)] if on else []  # the holder may continue; once released, the task waits
        case ReadyTask():
            if command.done not in task.waits:
                return []
            return [Readied(done=command.done, waits=tuple(t for t in task.waits if t != command.done))]
        case DescribeTask():
            news = {k: v for k, v in command.extra.items() if task.extra.get(k) != v}
            return [Described(extra=news)] if news else []
        case _:
            from moot.core.task import changes

            return changes.decide(task, command, life)


def _add(life: Lifecycle, task: Task, command: AddTask) -> list[Payload]:
    if task.exists:
        raise Held(
            "task_exists",
            f"The id {task.id} is already used by the task “{task.title}”.",
            "Omit the id to get the next free one, or choose another.",
            task=task.id,
            title=task.title,
        )
    check_title(command.title)
    check_priority(command.priority)
    state = command.state or life.initial
    return [Added(**{**command.__dict__, "lifecycle": life.name, "state": state, "phase": life.phase(state)})]


def _move(life: Lifecycle, task: Task, command: MoveTask) -> list[Payload]:
    edge = life.edge(command.verb, task.state)
    if edge is None:
        raise refusals.no_edge(life, task, command)
    own = edge.moot and command.actor.principal == "moot"
    role = "moot" if own else _permitted(life, task, edge, command)
    _needs(task, edge, command)
    if edge.holds in ("actor", "owner") and task.waits:
        raise Refused(
            "task_blocked",
            f"{task.id} waits for {', '.join(task.waits)}.",
            "`moot ready` lists the tasks that can be started now.",
            task=task.id,
            waits=list(task.waits),
        )
    if edge.holds == "actor" and task.assigned is not None and not own:
        from moot.core.task.changes import check_assigned

        check_assigned(task, command.actor)
    target, attempt = edge.target, task.attempt + edge.attempt
    allowed = command.recorded or (command.override and command.actor.person)
    if edge.attempt and attempt > life.attempts and not allowed:
        if edge.verb == "reopen" or life.exhausted is None:
            raise refusals.exhausted(life, task, command)
        target, attempt = life.exhausted, task.attempt
    return [
        Moved(
            verb=edge.verb,
            source=task.state,
            target=target,
            phase=life.phase(target),
            attempt=attempt,
            holder=_holder(task, edge, command),
            author=_author(life, task, target, command.actor.principal),
            role=role,
            reason=(command.reason or "").strip() or None,
            report=command.report,
            flags=command.flags,
            receipt=command.receipt,
        )
    ]


def _holder(task: Task, edge: Edge, command: MoveTask) -> str | None:
    """The holder after the move."""
    if command.owner is not None and edge.holds != "owner":
        raise Refused(
            "no_owner",
            f"`{edge.verb}` does not assign {task.id} to an owner.",
            "Omit --owner.",
            task=task.id,
        )
    match edge.holds:
        case "actor":
            return command.actor.principal
        case "keep":
            return task.holder
        case "owner":
            owner = command.owner or task.author
            if owner is None:
                raise refusals.ownerless(task, edge)
            return owner
        case _:
            return None


def _author(life: Lifecycle, task: Task, target: str, principal: str) -> str | None:
    """The agent that submits the task for review, or completes it where the lifecycle can return it to its owner."""
    phase = life.phase(target)
    if phase == "done" and life.names_owners:
        return task.holder
    return principal if phase == "review" and life.phase(task.state) != "review" else None


def _permitted(life: Lifecycle, task: Task, edge: Edge, command: MoveTask) -> str | None:
    """The role that allows the actor to take the edge (None: no role needed). Raises if it may not."""
    actor = command.actor
    own = task.author is not None and same_agent(actor.principal, task.author)
    if own and life.is_verdict(edge):
        raise refusals.own_work(task, edge)
    named = next((role for role in actor.roles if role in edge.who and role not in RELATIONS), None)
    if "holder" in edge.who and task.holder is not None:
        if actor.principal == task.holder and command.token in (None, task.token):
            return None
        if named is None and ("person" not in edge.who or not actor.person):
            raise refusals.not_holder(task, command)
    if "person" in edge.who and actor.person:
        return "person"
    if named is not None:
        return named
    if "reviewer" in edge.who and not own:
        return "reviewer"
    if "creator" in edge.who and same_agent(actor.principal, task.creator):
        return "creator"
    if "anyone" in edge.who:
        return None
    if own and "reviewer" in edge.who:
        raise refusals.own_work(task, edge)
    raise Refused(
        "wrong_role",
        f"{actor.name} may not {edge.verb} {task.id}: that is for {' or '.join(edge.who)}.",
        f"Ask {' or '.join(edge.who)} to do it"
        + (f", or join with `{option('--role', edge.who[0])}`." if actor.roles else "."),
        task=task.id,
        who=list(edge.who),
        roles=list(actor.roles),
        lifecycle=life.name,
    )


def may_review(life: Lifecycle, task: Task, actor: Actor) -> bool:
    """Whether the task is in review and the actor may give a verdict on it."""
    return any(_allows(life, task, edge, actor) for edge in life.verdicts(task.state))


def _allows(life: Lifecycle, task: Task, edge: Edge, actor: Actor) -> bool:
    try:
        _permitted(life, task, edge, MoveTask(verb=edge.verb, actor=actor))
    except MootError:
        return False
    return True


def _needs(task: Task, edge: Edge, command: MoveTask) -> None:
    if command.recorded:
        return
    if "reason" in edge.needs and not (command.reason or "").strip():
        raise Refused(
            "reason_missing",
            f"`{edge.verb}` requires a reason.",
            f"Give one: `{by_verb(edge.verb, task.id, options=REASON)}`.",
            task=task.id,
        )
    if "report" in edge.needs and command.report is None:
        raise Refused(
            "report_missing",
            f"`{edge.verb}` requires a report for {task.id}. Sending the report moves the task.",
            f"Send it: `{command_line('send', options=option('--type', edge.report or 'TYPE'))} --data @report.json`.",
            task=task.id,
        )
    if "receipt" in edge.needs and command.receipt is None:
        raise Refused(
            "receipt_missing",
            f"`{edge.verb}` requires the receipt of a check of {task.id}.",
            f"Run the check: `moot check -- COMMAND`, then `{by_verb(edge.verb, task.id, options='--receipt last')}`.",
            task=task.id,
        )
    if command.judged is not None and command.judged != task.report:
        raise Refused(
            "report_outdated",
            f"{command.judged} is outdated: the latest report of {task.id} is {task.report}.",
            f"Read {task.report} and decide on that one.",
            task=task.id,
            report=task.report,
        )
    if "unreviewed" in edge.needs and task.review:
        raise Refused(
            "needs_review",
            f"{task.id} must be reviewed before it is done.",
            f"Submit it: `{command_line('task submit', task.id)}`. "
            "A task added with --no-review can be completed without a review.",
            task=task.id,
        )


def _lapse(life: Lifecycle, task: Task, command: LapseTask) -> list[Payload]:
    if task.holder is None:
        return []
    if life.silence == "ignore":
        return []
    if life.silence == "flag":
        return [] if task.flagged else [Flagged(command.reason, command.silent_for, command.ttl)]
    target, attempt = life.initial, task.attempt + int(command.failed)
    if command.failed and attempt > life.attempts and life.exhausted is not None:
        target, attempt = life.exhausted, task.attempt
    return [
        Moved(
            verb="lapse",
            source=task.state,
            target=target,
            phase=life.phase(target),
            attempt=attempt,
            reason=command.reason,
            silent_for=command.silent_for,
            ttl=command.ttl,
        )
    ]


def evolve(task: Task, event: Payload, meta: Meta) -> Task:
    found = _evolved(task, event, meta)
    return found if isinstance(event, (Flagged, Unflagged)) else found.replace(active_at=meta.at)


def _evolved(task: Task, event: Payload, meta: Meta) -> Task:
    at, by = meta.at, meta.by
    match event:
        case Added():
            fields = {name: value for name, value in event.__dict__.items() if name not in ("reason", "flags")}
            setbacks = (Step("reject", event.state, 1, by, at, event.reason),) if event.reason else ()
            if event.phase == "working":  # it was started before it was added
                fields |= {"holder": event.creator, "token": meta.position}
            return Task(id=task.id, since=at, added_at=at, changed_at=at, last_by=by, setbacks=setbacks, **fields)
        case Moved():
            judged = task.report if task.phase == "review" else None
            step = Step(event.verb, event.target, task.attempt, by, at, event.reason, judged)
            fresh = event.attempt != task.attempt
            return task.replace(
                state=event.target,
                phase=event.phase,
                attempt=event.attempt,
                holder=event.holder,
                token=meta.position if event.holder and event.holder != task.holder else task.token,
                author=event.author or (None if fresh and event.phase == "open" else task.author),
                report=event.report or (None if fresh else task.report),
                receipt=event.receipt or (None if event.phase in ("open", "working") else task.receipt),
                flagged=None,
                since=at,
                changed_at=later(at, task.changed_at),
                last_by=by,
                setbacks=(*task.setbacks, step) if event.reason and _is_setback(task, event) else task.setbacks,
                verdict=_verdict(task, event, step),
                assigned=task.assigned if event.phase == "open" else None,
                assigner=task.assigner if event.phase == "open" else None,
            )
        case Flagged():
            return task.replace(flagged=event.reason)
        case Blocked():
            return task.replace(
                waits=(*task.waits, *event.on),
                needs=(*task.needs, *(t for t in event.on if t not in task.needs)),
            )
        case Readied():
            return task.replace(waits=event.waits)
        case Described():
            return task.replace(extra={**task.extra, **event.extra}, changed_at=later(at, task.changed_at))
        case Edited() | Noted() | Assigned() | Unassigned() | Unflagged():
            from moot.core.task import changes

            return changes.evolve(task, event, meta)
        case _:
            raise TypeError(f"not an event of a task: {event!r}")


def _is_setback(task: Task, event: Moved) -> bool:
    """Whether the move sends the task back, stops it, or leaves it in its phase."""
    forward = event.phase == "done" or (task.phase, event.phase) in _FORWARD
    return event.attempt > task.attempt or not forward


def _verdict(task: Task, event: Moved, step: Step) -> Step | None:
    """The step that ended the last review, until the next one begins."""
    if event.phase == "review":
        return None
    return step if task.phase == "review" else task.verdict


def columns(task: Task) -> dict[str, Any]:
    """The columns that the board and `moot ready` read."""
    return {
        "open": task.phase in ("open", "working", "review"),
        "title": task.title,
        "phase": task.phase,
        "state": task.state,
        "blocked": task.phase == "open" and bool(task.waits),
        "rank": PRIORITIES.index(task.priority),
        "holder": task.holder,
        "assigned": task.assigned.lower() if task.assigned and task.phase == "open" else None,
        "origin": task.origin,
        "unreviewed": not task.review and not task.creator.startswith("person:"),
    }


KIND = Kind(
    name="task",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Task,
    columns=columns,
    plural="tasks",
    made_by="`moot task`",
)
