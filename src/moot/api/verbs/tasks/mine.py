"""board --mine: the caller's tasks, by what it has to do with them."""

from __future__ import annotations

from moot.api.verbs.tasks.claiming import is_for
from moot.core.deciders.task import may_review
from moot.core.principal import same_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.lifecycle import Lifecycle
    from moot.core.principal import Actor
    from moot.core.task import Task

HEADINGS = {
    "held": "You hold:",
    "assigned": "Assigned to you:",
    "reviews": "You can review:",
    "submitted": "You submitted:",
}


def groups(call: Call, tasks: list[Task]) -> dict[str, list[Task]]:
    """The caller's tasks among these, by the names of `HEADINGS`. A task is in at most one group."""
    actor = _caller(call)
    found: dict[str, list[Task]] = {name: [] for name in HEADINGS}
    for task in tasks:
        name = _group(task, call.engine.lifecycles.get(task.lifecycle), actor)
        if name is not None:
            found[name].append(task)
    return found


def _caller(call: Call) -> Actor:
    from moot.core.principal import Actor

    me, box = call.me(), call.mailboxes()[0]  # refuses a caller without an identity
    return Actor(principal=me.principal if me else box, roles=me.roles if me else ())


def _group(task: Task, life: Lifecycle | None, actor: Actor) -> str | None:
    if task.holder is not None and same_agent(task.holder, actor.principal):
        return "held"
    if task.phase == "open" and is_for(task, actor.principal):
        return "assigned"
    if task.phase != "review":
        return None
    if task.author is not None and same_agent(task.author, actor.principal):
        return "submitted"
    return "reviews" if life is not None and may_review(life, task, actor) else None
