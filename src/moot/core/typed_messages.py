"""Rules for messages of a pack: who may send them, and which state their task must be in.

The pack defines the message types. This module only knows their names.
"""

from __future__ import annotations

from moot.core.errors import Refused, Unknown
from moot.core.task import by_verb, is_in
from moot.core.text import command_line, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moot.core.lifecycle import Lifecycle
    from moot.core.principal import Actor
    from moot.core.task import Task


def check_sender(kind: str, senders: Sequence[str], sender: Actor, *, also_people: bool) -> None:
    """Raise unless the sender has one of these roles, if there are any, or is a person whom the pack allows."""
    if not senders or any(role in sender.roles for role in senders) or (sender.person and also_people):
        return
    roles = " or the ".join(senders)
    raise _wrong_role(kind, senders, sender, f"Leave it to the {roles}, or join with `{option('--role', senders[0])}`.")


def _wrong_role(kind: str, senders: Sequence[str], actor: Actor, remedy: str) -> Refused:
    roles = " or the ".join(senders)
    return Refused(
        "wrong_role",
        f"Only the {roles} can send a {kind}; {actor.name} has the role {', '.join(actor.roles) or 'none'}.",
        remedy,
        role=senders[0],
        roles=list(actor.roles),
    )


def unknown_task(kind: str, name: str, going: Mapping[str, list[str]]) -> Unknown:
    """The error for a message about a task that does not exist. `going`: the tasks being worked on, by state."""
    names = [name for found in going.values() for name in found]
    return Unknown(
        "unknown_task",
        f"There is no task {name!r}, and a {kind} does not create one.",
        f"Tasks being worked on: {', '.join(names) or 'none'}.",
        task=name,
        **going,
    )


def check_lifecycle(pack: str, task: Task) -> None:
    """Raise unless the task has a lifecycle of the pack."""
    if task.lifecycle.partition("/")[0] != pack:
        raise Refused(
            "other_lifecycle",
            f"{task.id} has the lifecycle {task.lifecycle!r}, not one of the pack {pack}.",
            "Use another id, or the `moot task` commands.",
            task=task.id,
        )


def wrong_state(kind: str, task: Task, life: Lifecycle, verb: str) -> Refused:
    """The error for a message that cannot move its task."""
    starts = [edge.source for edge in life.edges if edge.verb == verb]
    back = [e for e in life.edges if e.target in starts and life.phase(e.source) in ("done", "stopped")]
    ended = " or ".join(dict.fromkeys(edge.source for edge in back))
    hint = f" A {ended} task must first go back to {back[0].target}." if back else ""
    again = next((edge for edge in back if edge.source == task.state), None)
    show = f"`{command_line('task show', task.id)}` shows what can happen next."
    return Refused(
        "wrong_state",
        f"{task.id} {is_in(task.state)}: a {kind} cannot {verb} it from there.{hint}",
        f"Start a new attempt: `{by_verb(again.verb, task.id)}`." if again else show,
        task=task.id,
        state=task.state,
    )


def nothing_to_answer(kind: str, wanted: str) -> Unknown:
    return Unknown(
        "nothing_to_answer",
        f"A {kind} answers a {wanted}, but there is none to answer.",
        "Name a message of its thread with `--thread`; `moot inbox` lists yours.",
        type=wanted,
    )
