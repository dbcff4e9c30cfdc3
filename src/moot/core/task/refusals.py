"""Errors and remedies for tasks that cannot be moved. The rules are in `moot.core.deciders.task`."""

from __future__ import annotations

from moot.core.errors import Held, MootError, Refused, Unknown
from moot.core.principal import name_of, same_agent
from moot.core.task import by_verb, is_in
from moot.core.text import REASON, closest, command_line, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from moot.core.lifecycle import Edge, Lifecycle
    from moot.core.task import MoveTask, Task

_NAMED, _LISTED = 10, 1000  # known tasks in the message, and in its details


def unknown(name: str, known: Sequence[str]) -> Unknown:
    near = _meant(name, known)
    hint = f"Did you mean {near}? " if near else ""
    some = ", ".join(known[:_NAMED]) + (", …" if len(known) > _NAMED else "")
    return Unknown(
        "unknown_task",
        f"There is no task {name!r}.",
        f"{hint}Known: {some or 'none yet'}; `moot board` lists them.",
        task=name,
        known=list(known[:_LISTED]),
    )


def _meant(name: str, known: Sequence[str]) -> str | None:
    """The id with the same number or, if it has none, with the same beginning and a similar spelling.

    Another number is another task, however similar it looks.
    """
    number = _number(name)
    alike = [one for one in known if _number(one) == number and (number or one[:1] == name[:1])]
    return closest(name, alike) or (alike[0] if number and len(alike) == 1 else None)


def _number(name: str) -> str:
    """The digits at the end of an id, without leading zeros."""
    return name[len(name.rstrip("0123456789")) :].lstrip("0")


def nothing_ready() -> Unknown:
    return Unknown(
        "nothing_ready",
        "No task can be started now.",
        "Wait for one: `moot wait`.",
    )


def check_goes_on(task: Task) -> None:
    """A task that has ended cannot get new dependencies."""
    if task.phase in ("done", "stopped"):
        raise Refused("task_ended", f"{task.id} {is_in(task.state)}.", "Reopen it first.", task=task.id)


def check_takes_files(task: Task, life: Lifecycle | None) -> None:
    """Files claimed for a task are released when it ends, so none can be claimed for a task that has ended."""
    if task.phase in ("done", "stopped"):
        reopen = life is not None and life.edge("reopen", task.state) is not None
        more = f", or reopen it first: `{by_verb('reopen', task.id, REASON)}`" if reopen else ""
        raise Refused(
            "task_ended",
            f"{task.id} {is_in(task.state)}: no files can be claimed for it.",
            f"Claim them without --task{more}.",
            task=task.id,
        )


def check_stopped(task: Task) -> None:
    """A person's answer restarts only a task that has stopped."""
    if task.phase != "stopped":
        raise Refused(
            "not_answered_here",
            f"{task.id} is held by {name_of(task.holder or '')}, which was silent for too long.",
            f"`{command_line('task show', task.id)}` shows what you can do with it.",
            task=task.id,
        )


def verb_to(life: Lifecycle, task: Task, wanted: str) -> str:
    """The verb that moves the task to the wanted state. `wanted` may also be a verb."""
    verbs = tuple(dict.fromkeys(edge.verb for edge in life.edges))
    if wanted not in life.names:
        if wanted in verbs:
            return wanted
        raise Refused(
            "unknown_state",
            f"{wanted!r} is not a state or a verb of the lifecycle of {task.id}.",
            f"Its states are {', '.join(life.names)}; its verbs are {', '.join(verbs)}.",
            states=list(life.names),
            verbs=list(verbs),
        )
    edge = life.between(task.state, wanted)
    if edge is None:
        raise Refused(
            "no_such_move",
            f"{task.id} {is_in(task.state)} and cannot move to {wanted}.",
            f"From {task.state} it can move to {', '.join(life.targets(task.state)) or 'no other state'}.",
            task=task.id,
            state=task.state,
            wanted=wanted,
            to=list(life.targets(task.state)),
        )
    if edge.explicit:
        raise Refused(
            "explicit_only",
            f"{task.id} {is_in(task.state)}; only `{edge.verb}` moves it to {wanted}.",
            f"Use the verb: `{by_verb(edge.verb, task.id, REASON)}`.",
            task=task.id,
            state=task.state,
            wanted=wanted,
        )
    return edge.verb


def no_edge(life: Lifecycle, task: Task, command: MoveTask) -> MootError:
    details: dict[str, Any] = {"task": task.id, "state": task.state, "to": list(life.targets(task.state))}
    if task.holder and command.verb == "claim":
        yours = task.holder == command.actor.principal
        return Held(
            "task_held",
            f"{task.id} has been held by {'you' if yours else name_of(task.holder)} since position {task.token}.",
            "Continue with it."
            if yours
            else f"Choose another task (`moot ready`), or ask: `{command_line('send', name_of(task.holder))} '…'`.",
            holder=task.holder,
            token=task.token,
            **details,
        )
    verdict = task.verdict
    if verdict is not None and life.judges(command.verb) and not same_agent(verdict.by, command.actor.principal):
        return Held(
            "already_decided",
            f"{task.id} {is_in(task.state)}: {name_of(verdict.by)} decided first, with `{verdict.verb}`.",
            f"Your `{command.verb}` was not recorded. See why: `{command_line('explain', task.id)}`.",
            verdict=verdict.verb,
            by=verdict.by,
            at=verdict.at,
            last_by=task.last_by,
            **details,
        )
    verbs = life.verbs(task.state)
    who = f" (last changed by {name_of(task.last_by)})" if task.last_by else ""
    return Refused(
        "no_such_move",
        f"{task.id} {is_in(task.state)}{who}: `{command.verb}` cannot move it from there.",
        f"It can move to {', '.join(life.targets(task.state))} (with {', '.join(verbs)})."
        if verbs
        else "It cannot be moved any more.",
        last_by=task.last_by,
        **details,
    )


def own_work(task: Task, edge: Edge) -> Refused:
    return Refused(
        "own_work",
        f"{name_of(task.author or '')} submitted {task.id} and cannot {edge.verb} it.",
        "Ask another agent or a person to review it.",
        task=task.id,
        author=task.author,
    )


def not_holder(task: Task, command: MoveTask) -> Held:
    holder, actor = task.holder or "", command.actor
    if actor.principal == holder:
        why = f"the token {command.token} is not the current one ({task.token})"
    elif same_agent(actor.principal, holder):
        why = f"another incarnation of you holds it ({holder})"
    else:
        why = f"{name_of(holder)} holds it"
    return Held(
        "not_holder",
        f"{actor.name} cannot {command.verb} {task.id}: {why}.",
        f"Only the holder can. See its history (`{command_line('task show', task.id)}`), "
        f"or ask the holder: `{command_line('send', name_of(holder))} '…'`.",
        task=task.id,
        holder=holder,
        token=task.token,
    )


def exhausted(life: Lifecycle, task: Task, command: MoveTask) -> Refused:
    return Refused(
        "attempts_exhausted",
        f"{task.id} has used {task.attempt} of {counted(life.attempts, 'attempt')}.",
        f"A person can allow another: `{by_verb(command.verb, task.id, options=f'--override {REASON}')}`.",
        task=task.id,
        attempt=task.attempt,
        limit=life.attempts,
    )


def to_reopen(life: Lifecycle, task: Task) -> str:
    """The command that reopens a task which has ended, with the options that it needs now."""
    edge = life.edge("reopen", task.state)
    used_up = edge is not None and task.attempt + edge.attempt > life.attempts
    reason = used_up or (edge is not None and "reason" in edge.needs)
    return by_verb("reopen", task.id, " ".join((*(["--override"] if used_up else []), *([REASON] if reason else []))))


def ownerless(task: Task, edge: Edge) -> Refused:
    return Refused(
        "owner_missing",
        f"`{edge.verb}` assigns {task.id} to its owner, but it has none yet.",
        f"Name one: `{command_line('task move', task.id, edge.verb, options='--owner NAME')}`.",
        task=task.id,
    )
