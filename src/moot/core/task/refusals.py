"""What is said when a task cannot be moved, and what to do instead. The rules are in `moot.core.deciders.task`."""

from __future__ import annotations

from moot.core.errors import Held, MootError, Refused, Unknown
from moot.core.principal import name_of, same_agent
from moot.core.task import by_verb
from moot.core.text import REASON, closest, command_line, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from moot.core.lifecycle import Edge, Lifecycle
    from moot.core.task import MoveTask, Task

_NAMED, _LISTED = 10, 1000  # known tasks that are named to a reader, and to a program


def unknown(name: str, known: Sequence[str]) -> Unknown:
    near = closest(name, known)
    hint = f"Did you mean {near}? " if near else ""
    some = ", ".join(known[:_NAMED]) + (", …" if len(known) > _NAMED else "")
    return Unknown(
        "unknown_task",
        f"There is no task {name!r}.",
        f"{hint}Known: {some or 'none yet'}; `moot board` lists them.",
        task=name,
        known=list(known[:_LISTED]),
    )


def nothing_ready() -> Unknown:
    return Unknown("nothing_ready", "No task can be started now.", "`moot wait --type task:readied --type task:added`.")


def check_goes_on(task: Task) -> None:
    """Nothing can be needed for a task that is over."""
    if task.phase in ("done", "stopped"):
        raise Refused("task_ended", f"{task.id} is {task.state}.", "Reopen it first.", task=task.id)


def check_messages_done(task: Task) -> None:
    """The messages of a task stay in its protocol's file until it is done."""
    if task.exists and task.phase != "done":
        raise Refused(
            "task_open",
            f"{task.id} is {task.state}: its messages are still needed.",
            "Approve the task, which clears them, or say --force.",
            task=task.id,
            state=task.state,
        )


def check_stopped(task: Task) -> None:
    """The words of a person start a task again that has stopped, and no other one."""
    if task.phase != "stopped":
        raise Refused(
            "not_answered_here",
            f"{task.id} is held by {name_of(task.holder or '')}, who was silent for too long.",
            f"`{command_line('task show', task.id)}` says what can be done with it.",
            task=task.id,
        )


def verb_to(life: Lifecycle, task: Task, wanted: str) -> str:
    """The verb that moves the task to the wanted state; a verb of the lifecycle means itself."""
    verbs = tuple(dict.fromkeys(edge.verb for edge in life.edges))
    if wanted not in life.names:
        if wanted in verbs:
            return wanted
        raise Refused(
            "unknown_state",
            f"{task.id} has no state {wanted!r}, and its lifecycle no such verb.",
            f"Its states are {', '.join(life.names)}; its verbs are {', '.join(verbs)}.",
            states=list(life.names),
            verbs=list(verbs),
        )
    edge = life.between(task.state, wanted)
    if edge is None:
        raise Refused(
            "no_such_move",
            f"{task.id} is {task.state} and cannot become {wanted}.",
            f"From {task.state} it can go to {', '.join(life.targets(task.state)) or 'nowhere'}.",
            task=task.id,
            state=task.state,
            wanted=wanted,
            to=list(life.targets(task.state)),
        )
    if edge.explicit:
        raise Refused(
            "explicit_only",
            f"{task.id} is {task.state}; it becomes {wanted} only when that is asked for by its own verb.",
            f"`{by_verb(edge.verb, task.id, REASON)}`.",
            task=task.id,
            state=task.state,
            wanted=wanted,
        )
    return edge.verb


def asks(life: Lifecycle) -> str:
    """What to add to a refusal where a setting would have it otherwise."""
    if not life.asks:
        return ""
    return (
        f" moot.toml says {life.asks}, which is not in force for new tasks until a person runs `moot allow settings`."
    )


def withheld(life: Lifecycle) -> Refused:
    return Refused(
        "setting_not_allowed",
        f"The lifecycle {life.name} has no review, and nobody has allowed it here ({life.asks} in moot.toml).",
        "Use another one (`--lifecycle core`), or ask a person to run `moot allow settings`.",
        setting=life.asks,
    )


def no_edge(life: Lifecycle, task: Task, command: MoveTask) -> MootError:
    details: dict[str, Any] = {"task": task.id, "state": task.state, "to": list(life.targets(task.state))}
    if task.holder and command.verb == "claim":
        yours = task.holder == command.actor.principal
        return Held(
            "task_held",
            f"{task.id} is held by {'you' if yours else name_of(task.holder)} since position {task.token}.",
            "Go on with it."
            if yours
            else f"Take another (`moot ready`), or ask: `{command_line('send', name_of(task.holder))} …`.",
            holder=task.holder,
            token=task.token,
            **details,
        )
    verbs = life.verbs(task.state)
    who = f", since {name_of(task.last_by)} changed it" if task.last_by else ""
    return Refused(
        "no_such_move",
        f"{task.id} is {task.state}{who}: from there it cannot be moved by `{command.verb}`.",
        f"It can go to {', '.join(life.targets(task.state)) or 'nowhere'} (by {', '.join(verbs) or 'nothing'}).",
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
        said = f"the token {command.token} is not the current one ({task.token})"
    elif same_agent(actor.principal, holder):
        said = f"another incarnation of you holds it ({holder})"
    else:
        said = f"{name_of(holder)} holds it"
    return Held(
        "not_holder",
        f"{actor.name} cannot {command.verb} {task.id}: {said}.",
        f"Only the holder can. `{command_line('task show', task.id)}` tells the story; "
        f"`{command_line('send', name_of(holder))} …` asks.",
        task=task.id,
        holder=holder,
        token=task.token,
    )


def exhausted(life: Lifecycle, task: Task, command: MoveTask) -> Refused:
    return Refused(
        "attempts_exhausted",
        f"{task.id} had {task.attempt} of {counted(life.attempts, 'attempt')}.",
        f"A person can give it another: `{by_verb(command.verb, task.id, options=f'--override {REASON}')}`.",
        task=task.id,
        attempt=task.attempt,
        limit=life.attempts,
    )


def ownerless(task: Task, edge: Edge) -> Refused:
    return Refused(
        "owner_missing",
        f"`{edge.verb}` gives {task.id} to its owner, and nobody has had it yet.",
        f"Name one: `{command_line('task move', task.id, edge.verb, options='--owner NAME')}`.",
        task=task.id,
    )
