"""Notes about a task that somebody else changed.

The holder gets one for an edit and for a comment, an agent for a task that is, or is no longer, assigned to it.
"""

from __future__ import annotations

from moot.core.principal import same_agent
from moot.core.reactions.notices import notice
from moot.core.task import Assigned, Edited, Noted, Unassigned
from moot.core.text import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.core.payload import Payload
    from moot.core.reactions import Step, World

_FIELDS = ("title", "body", "priority", "ttl")


def changed_tasks(key: str, happened: Payload, world: World) -> Iterator[Step]:
    task = world.task(key)
    match happened:
        case Noted():
            who, to, text = happened.who, task.holder, happened.text
        case Edited():
            fields = ", ".join(name for name in _FIELDS if happened.__dict__[name] is not None)
            who, to = happened.who, task.holder
            text = f"{key} was edited ({fields}). `{command_line('task show', key)}` shows it."
        case Assigned():
            who, to = happened.who, happened.to
            text = f"{key} is assigned to you: {task.title}\n\nClaim it: `{command_line('task claim', key)}`."
        case Unassigned():
            why = f": {happened.reason}" if happened.reason else ""
            who, to, text = happened.who, happened.to, f"{key} is no longer assigned to you{why}."
        case _:
            return
    if to is not None and not same_agent(who, to):
        yield from notice(world, "note", (to,), who, text, thread=key, task=key)
