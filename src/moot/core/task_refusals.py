"""What is said when a task cannot be moved, and what to do instead. The rules are in `moot.core.deciders.task`."""

from __future__ import annotations

from moot.core.errors import Held, MootError, Refused
from moot.core.principal import name_of, same_agent
from moot.core.task import by_verb
from moot.core.text import REASON, command_line, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.lifecycle import Edge, Lifecycle
    from moot.core.task import MoveTask, Task


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
        f"Name one: `{by_verb(edge.verb, task.id, '--owner NAME')}`.",
        task=task.id,
    )
