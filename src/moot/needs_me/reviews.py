"""Reviews that no agent here can do: nobody else is present, the others are silent, or none has the role."""

from __future__ import annotations

from moot.core.deciders.task import may_review
from moot.core.errors import Refused, Unavailable
from moot.core.principal import Actor, name_of, person
from moot.core.task import verdicts
from moot.core.task.leases import has_lapsed
from moot.core.text import command_line, one_line
from moot.needs_me import Waiting
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.core.lifecycle import Lifecycle
    from moot.core.task import Task


def without_reviewer(call: Call, tasks: Iterable[Task]) -> Iterator[Waiting]:
    """Those of these tasks in review that no present agent may review.

    Tasks of a pack whose messages carry the review are left out: their reviewers may know only the pack's files.
    """
    agents = [Actor(principal=a.principal, roles=a.roles) for a in queries.agents(call.engine.read()) if a.here]
    active = [agent for agent in agents if not _silent(call, agent)]
    me = Actor(principal=person(call.login))
    for task in tasks:
        life = call.engine.lifecycles.get(task.lifecycle)  # None if its pack was disabled
        if life is None or life.carried or any(may_review(life, task, agent) for agent in active):
            continue
        why, command = "no agent here can review it", ", or ".join(verdicts(life, task).values())
        if not may_review(life, task, me):
            why, command = f"{why}, nor can you: {_whose(life, task)}", command_line("task show", task.id)
        yield Waiting(
            kind="review",
            id=task.id,
            since=task.since,
            who=name_of(task.author or ""),
            text=f"{task.title} ({why})",
            command=command,
            task=task.id,
        )


def _whose(life: Lifecycle, task: Task) -> str:
    """Who may review it, if the person that asks may not."""
    who = dict.fromkeys(name for edge in life.verdicts(task.state) for name in edge.who)
    return "you submitted it" if "person" in who else f"that is for {' or '.join(who)}"


def _silent(call: Call, agent: Actor) -> bool:
    """Whether the agent is silent for longer than a task's holder may be. Unknown: no."""
    try:
        return has_lapsed(call.silent_for(agent.principal), call.settings.task_ttl)
    except Unavailable:
        return False


def approve(call: Call, name: str, text: str) -> Answer:
    """Only an explicit yes approves: a rejection needs a reason, and other words could mean either."""
    task, _ = states.task(call.engine.read(), name)
    life = call.engine.lifecycles[task.lifecycle]
    if text.strip().lower() == "yes":
        from moot.api.verbs.tasks.tasks import moved

        ends = (edge.verb for edge in life.verdicts(task.state) if life.ends_review(edge))
        return moved(call, name, next(ends, "approve"), reason=None)
    commands = " or ".join(f"`{command}`" for command in verdicts(life, task).values())
    raise Refused(
        "not_answered_here",
        f"{name} waits for a review, and {one_line(text, 60)!r} is not yes.",
        f"Run {commands}.",
        task=name,
    )
