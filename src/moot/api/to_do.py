"""What the caller can do now: read new mail, review what others submitted, start a task. And waiting for it."""

from __future__ import annotations

from moot.api.answer import Answer, by, named, typed
from moot.api.message_view import waiting_messages
from moot.api.verbs.events import until
from moot.api.verbs.tasks.claiming import startable
from moot.core.deciders.task import may_review
from moot.core.principal import label
from moot.core.record import Record
from moot.core.task import by_verb, verdicts
from moot.core.text import counted, one_line
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.core.principal import Actor
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work

_MOST = 100  # items of one reason
_SHOWN = 10  # lines for one reason
_NEWS = ("message:", "task:", "agent:")  # events that can bring something to do
_MORE = {"review": "moot board --state review", "task": "moot ready"}


class ToDo(Record):
    """One thing that the caller can do, and the command for it."""

    reason: str  # mail, review or task
    id: str
    who: str  # who sent or submitted it, or added the task
    title: str  # of the task; the type of the message
    command: str


class Awoken(Record):
    """What ended the wait. `reason` is that of the first item; mail comes first, then reviews, then tasks."""

    reason: str
    items: tuple[ToDo, ...]


def wait_for_work(call: Call, start: int, deadline: float) -> Answer:
    """Wait until the caller has something to do."""

    def look_at(events: list[Event]) -> Answer | None:
        if events and not any(event.type.startswith(_NEWS) for event in events):
            return None
        return _found(call)

    missing = "no mail, no review and no task for you"
    return look_at([]) or until(
        call, start, deadline, look_at, lambda: missing, f"Call again: `{typed(call, 'moot wait')}`"
    )


def _found(call: Call) -> Answer | None:
    reviews: list[ToDo] = []
    tasks: list[ToDo] = []
    name = named(call)

    def act(work: Work) -> None:
        actor = call.actor(work)
        reviews[:] = _first(_reviews(work, actor, name))
        tasks[:] = _first(_tasks(work, actor, name))

    call.engine.rehearse(act)  # also refuses a caller that was replaced or has left
    mail, count = _mail(call)
    items = (*mail, *reviews, *tasks)
    if not items:
        return None
    lines = [f"{counted(count, 'new message')}: {typed(call, 'moot inbox')}"] if mail else []
    if count > len(mail):
        call.warn("more", f"{counted(count - len(mail), 'more new message')}: {typed(call, 'moot inbox')}")
    for said, found in (("is in review", reviews), ("can be started", tasks)):
        lines += [_line(item, said) for item in found[:_SHOWN]]
        if len(found) == _MOST:
            call.warn("more", f"There can be more than {_MOST} tasks: {_MORE[found[0].reason]}")
        if len(found) > _SHOWN:
            lines.append(
                f"and {len(found) - _SHOWN}{'+' if len(found) == _MOST else ''} more: {_MORE[found[0].reason]}"
            )
    return Answer(result=Awoken(reason=items[0].reason, items=items), say=tuple(lines))


def _line(item: ToDo, said: str) -> str:
    return f"{item.id} {said}: {one_line(item.title, 80)} → {item.command}"


def _first(found: Iterator[ToDo]) -> list[ToDo]:
    from itertools import islice

    return list(islice(found, _MOST))


def _mail(call: Call) -> tuple[list[ToDo], int]:
    me = call.me()
    reader = me.principal if me is not None else call.mailboxes()[0]
    new = waiting_messages(call, reader, _MOST, seen=False)
    command = typed(call, "moot inbox")
    items = [
        ToDo(reason="mail", id=m.id, who=label(m.sender), title=m.kind, command=command)
        for m in (delivery.message for delivery in new.mail)
    ]
    return items, len(items) + new.more


def reviewable(work: Work, actor: Actor) -> Iterator[tuple[Task, dict[str, str]]]:
    """The tasks that the actor can review, oldest first, each with its verdicts and their commands."""
    for task in queries.in_review(work.store):
        life = work.lifecycles.get(task.lifecycle)
        if life is not None and may_review(life, task, actor):
            yield task, verdicts(life, task)


def _reviews(work: Work, actor: Actor, agent: str | None) -> Iterator[ToDo]:
    for task, commands in reviewable(work, actor):
        shown = ", or ".join(by(agent, command) for command in commands.values())
        yield _about(task, "review", task.author or "", shown)


def _tasks(work: Work, actor: Actor, agent: str | None) -> Iterator[ToDo]:
    for name in startable(work, actor):
        task = work.task(name)
        yield _about(task, "task", task.creator, by(agent, by_verb("claim", task.id)))


def _about(task: Task, reason: str, who: str, command: str) -> ToDo:
    return ToDo(reason=reason, id=task.id, who=label(who), title=task.title, command=command)
