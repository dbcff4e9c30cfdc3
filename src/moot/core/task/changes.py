"""Changes of a task that do not move it: edits, notes, flags, and who may claim it next.

What always holds:
- A task is edited by its creator, its holder, a role that its lifecycle names, or a person. Once it has ended, only
  by a person.
- A holder cannot change the ttl of its own lease.
- Anybody can note something on a task, in every state.
- A task is assigned while it is open. Once assigned, only its creator, the agent that assigned it, the assigned agent
  or a person changes that. The assignment ends when the task is claimed or has ended.
- An assignment to an agent that left or was silent for longer than the task's ttl ends by an event, as a lease does.
- A task has at most one flag. A pack sets and removes it; a move removes it, too.
- An entry of a protocol's file is not stopped by an assignment: a file does not say which agent wrote it.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused
from moot.core.principal import leaves_stamps, name_of, same_agent
from moot.core.record import unreachable
from moot.core.task import (
    Assigned,
    AssignTask,
    Edited,
    EditTask,
    Flagged,
    FlagTask,
    LapseAssignment,
    Noted,
    NoteTask,
    Unassigned,
    Unflagged,
    UnflagTask,
    check_priority,
    check_title,
    is_in,
)
from moot.core.text import command_line
from moot.core.timestamps import later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.kind import Meta
    from moot.core.lifecycle import Lifecycle
    from moot.core.payload import Payload
    from moot.core.principal import Actor
    from moot.core.task import Change, Task

NOTE_LIMIT = 65_536  # bytes
_EDITABLE = ("title", "body", "priority", "ttl")


def decide(task: Task, command: Change, life: Lifecycle) -> list[Payload]:
    match command:
        case EditTask():
            return _edit(task, command, life)
        case NoteTask():
            if not command.text.strip():
                raise Refused("empty_note", "The note is empty.", "Give it a text.", task=task.id)
            return [Noted(who=command.actor.principal, text=command.text)]
        case AssignTask():
            return _assign(task, command, life)
        case LapseAssignment():
            if task.assigned is None:
                return []
            lapse = {name: value for name, value in command.__dict__.items() if name != "actor"}
            return [Unassigned(who=command.actor.principal, to=task.assigned, **lapse)]
        case FlagTask():
            return [] if task.flagged else [Flagged(command.reason, command.silent_for, command.ttl)]
        case UnflagTask():
            return [Unflagged(command.reason)] if task.flagged else []
        case _:
            unreachable(command)


def evolve(task: Task, event: Edited | Noted | Assigned | Unassigned | Unflagged, meta: Meta) -> Task:
    match event:
        case Edited():
            news = {name: value for name in _EDITABLE if (value := event.__dict__[name]) is not None}
            return task.replace(**news, changed_at=later(meta.at, task.changed_at))
        case Noted():
            return task.replace(notes=task.notes + 1)
        case Assigned():
            return task.replace(assigned=event.to, assigner=event.who)
        case Unassigned():
            return task.replace(assigned=None, assigner=None)
        case Unflagged():
            return task.replace(flagged=None)
        case _:
            unreachable(event)


def check_assigned(task: Task, actor: Actor) -> None:
    """Raise if the task is assigned to another than the actor."""
    to = task.assigned
    if to is None or same_agent(to, actor.principal) or leaves_stamps(actor.principal):
        return
    raise Held(
        "task_assigned",
        f"{task.id} is assigned to {to}.",
        f"Choose another task (`moot ready`), or ask: `{command_line('send', to)} '…'`. "
        f"{_who_changes(task)} can end the assignment: `{command_line('task assign', task.id, options='--nobody')}`.",
        task=task.id,
        assigned=to,
    )


def _edit(task: Task, command: EditTask, life: Lifecycle) -> list[Payload]:
    actor = command.actor
    creator, holder = same_agent(actor.principal, task.creator), actor.principal == task.holder
    if not actor.person:
        if not (creator or holder or any(role in life.editors for role in actor.roles)):
            raise Refused(
                "not_yours_to_edit",
                f"{actor.name} cannot edit {task.id}: only {', '.join(('its creator', 'its holder', *life.editors))} "
                "or a person can.",
                f"Note what should change: `{command_line('task note', task.id)} '…'`.",
                task=task.id,
                creator=task.creator,
                holder=task.holder,
            )
        if task.phase in ("done", "stopped"):
            raise Refused(
                "task_ended",
                f"{task.id} {is_in(task.state)}.",
                "Reopen it first, or ask a person to edit it.",
                task=task.id,
            )
        if command.ttl is not None and holder and not creator:
            raise Refused(
                "own_lease",
                f"{actor.name} holds {task.id} and cannot change how long its holder may be silent.",
                f"Ask its creator ({name_of(task.creator)}) or a person.",
                task=task.id,
            )
    if command.title is not None:
        check_title(command.title)
    if command.priority is not None:
        check_priority(command.priority)
    given = {name: command.__dict__[name] for name in _EDITABLE}
    news = {name: value for name, value in given.items() if value is not None and value != task.__dict__[name]}
    return [Edited(who=actor.principal, **news)] if news else []


def _assign(task: Task, command: AssignTask, life: Lifecycle) -> list[Payload]:
    actor, to = command.actor, command.to
    if to is None and task.assigned is None:
        return []
    _check_open(task)
    if command.gone:
        raise Refused("agent_gone", f"{to} {command.gone}.", "`moot agents` lists the agents that are here.", agent=to)
    if task.assigned is not None:
        if to is not None and same_agent(to, task.assigned):
            return []
        mine = (task.creator, task.assigner or "", task.assigned)
        if not actor.person and not any(same_agent(actor.principal, who) for who in mine):
            raise Held(
                "task_assigned",
                f"{task.id} is already assigned to {task.assigned}.",
                f"{_who_changes(task)} can change that.",
                task=task.id,
                assigned=task.assigned,
            )
    if to is None:
        return [Unassigned(who=actor.principal, to=task.assigned or "")]
    edge = life.edge("claim", task.state)
    if edge is None or not edge.open_to(command.roles, person=False):
        raise Refused(
            "cannot_start",
            f"{to} cannot claim {task.id}: "
            + (f"that is for {' or '.join(edge.who)}." if edge else f"`claim` cannot move it from {task.state}."),
            f"`{command_line('task show', task.id)}` shows the possible next steps.",
            task=task.id,
            agent=to,
        )
    before = [Unassigned(who=actor.principal, to=task.assigned)] if task.assigned else []
    return [*before, Assigned(who=actor.principal, to=to)]


def _check_open(task: Task) -> None:
    if task.phase == "open":
        return
    holder = name_of(task.holder or "")
    by = f" and held by {holder}" if holder else ""
    raise (Held if holder else Refused)(
        "not_open",
        f"{task.id} {is_in(task.state)}{by}: only an open task can be assigned.",
        f"Ask for it: `{command_line('send', holder)} 'Please release {task.id}.'`."
        if holder
        else f"`{command_line('task show', task.id)}` shows the possible next steps.",
        task=task.id,
        state=task.state,
        holder=task.holder,
    )


def _who_changes(task: Task) -> str:
    """The names of those who can change an assignment, without duplicates."""
    names = {name_of(who).lower(): name_of(who) for who in (task.creator, task.assigner or "", task.assigned or "")}
    agents = [name for name in names.values() if name and ":" not in name]
    return f"{', '.join(agents)} or a person" if agents else "A person"
