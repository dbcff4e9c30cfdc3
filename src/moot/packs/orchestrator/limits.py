"""Stuck work: a task in progress without a sign of life, or a review, for longer than the ttl of the task.

Activity of a task in progress is

- an event about it: a move, a note, a message, the receipt of a build, a read confirmation of its assignment;
- a sign of life of the developer who took its assignment: any call of an agent, or a write to a file of the protocol.

The lead that started a task may be silent: it waits for the report. What moot itself says about a task is not activity.
The task is flagged and the lead gets one note. The flag goes away with new activity, so that the lead is told again the
next time. The state of the task does not change by itself.
"""

from __future__ import annotations

from moot.api.protocol.pack_views import Concern
from moot.core import timestamps
from moot.core.deciders.message import SendMessage
from moot.core.principal import name_of, role
from moot.core.record import Record
from moot.core.task import FlagTask, UnflagTask, by_verb
from moot.core.task.leases import has_lapsed
from moot.core.text import REASON, age, command_line, option
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moot.api.call import Call
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

LIFECYCLE = "orchestrator"
IN_PROGRESS, IN_REVIEW = "in_progress", "awaiting_review"
ASSIGNMENT = "task_assignment"
LEAD, DEVELOPER = "@team-lead", "@developer"
MOOT = "moot"
_LATEST = 1 << 16  # bytes of a note
_GONE = float("inf")


class Idle(Record):
    """How long a task has been without activity, or in review; since when; and who works on it."""

    seconds: float
    since: str
    who: str = ""


def due(call: Call) -> Callable[[Work], None] | None:
    """Flag and unflag the tasks whose time has come. None: there is nothing to do."""
    store, now = call.engine.store, call.clock.wall_seconds()
    names = [task.id for task in _watched(store) if _is_due(task, _idle(store, task, now, call.silence))]
    if not names:
        return None

    def decide(work: Work) -> None:
        for name in names:
            task = work.task(name)
            idle = _idle(work.store, task, work.now, work.facts.silence)
            if not _is_due(task, idle):
                continue
            if task.flagged:
                work.do("task", name, UnflagTask(reason="there is activity again"))
            else:
                said = _said(task, idle)
                work.do("task", name, FlagTask(reason=said, silent_for=round(idle.seconds, 3), ttl=task.ttl))
                _tell(work, f"{name} is {said}. Next: {_next(task, idle)}. {_in_queue(task)}", task)

    return decide


def _is_due(task: Task, idle: Idle) -> bool:
    """Whether to flag a task that is not flagged, or to remove the flag."""
    if task.flagged:
        return task.state == IN_PROGRESS and not has_lapsed(idle.seconds, task.ttl)
    return task.state in (IN_PROGRESS, IN_REVIEW) and has_lapsed(idle.seconds, task.ttl)


def _watched(store: Store) -> Iterator[Task]:
    for state in (IN_PROGRESS, IN_REVIEW):
        yield from (task for task in queries.tasks(store, state) if task.lifecycle == LIFECYCLE)


def _idle(store: Store, task: Task, now: float, silence: Callable[[str], float]) -> Idle:
    """The shorter one of the time since the last event and the silence of the developer counts."""
    if task.state != IN_PROGRESS:
        return Idle(max(0.0, now - (timestamps.parse(task.since) or now)), task.since)
    last = max(_events(store, task))
    taker, alive = _developer(store, task)
    passed = max(0.0, now - (timestamps.parse(last) or now))
    return Idle(min(passed, _GONE if alive is None else silence(alive)), last, taker)


def _events(store: Store, task: Task) -> Iterator[str]:
    """The times of the events about a task, except for what moot itself says about it."""
    yield task.active_at
    for message in queries.messages_of_task(store, task.id):
        if message.sender != MOOT and message.attempt in (None, task.attempt):
            yield message.at
            for _, _, offered, ended in queries.chain(store, message.id):
                yield from (at for at in (offered, ended) if at)
    for kind, name in queries.things_of_task(store, task.id):
        found = states.state(store, kind, name)[0]
        yield from (at for field in ("at", "changed_at") if (at := getattr(found, field, "")))


def _developer(store: Store, task: Task) -> tuple[str, str | None]:
    """Who took the assignment, and whose signs of life count; None: an agent that is no longer here.

    Without a taker, those of a developer that only uses files count: reading a file leaves no trace.
    """
    box = [d for d in queries.mailbox(store, DEVELOPER, task.id) if d.message.attempt == task.attempt]
    taker = next((d.entry.taker for d in reversed(box) if d.message.kind == ASSIGNMENT and d.entry.taker), "")
    if "#" not in taker:
        return taker, role(DEVELOPER.removeprefix("@"))
    agent, _ = states.agent(store, name_of(taker))
    return taker, agent.principal if agent.here else None


def _in_queue(task: Task) -> str:
    """The same by file: a lead that knows only the files reads this in log.md."""
    states = "completed, or rejected" if task.state == IN_REVIEW else "rejected"
    return f"By file: set its status in queue.json to {states}, with a rejectionReason."


def _said(task: Task, idle: Idle) -> str:
    what = "stuck: no activity for" if task.state == IN_PROGRESS else "overdue: in review for"
    return f"{what} {age(idle.seconds)} (limit {age(task.ttl)})"


def _tell(work: Work, text: str, task: Task) -> None:
    note = SendMessage(
        kind="note",
        sender=MOOT,
        to=(LEAD,),
        wants="nothing",
        size=len(text.encode()),
        limit=_LATEST,
        text=text,
        task=task.id,
    )
    work.do("message", work.new_message(), note)


def _next(task: Task, idle: Idle) -> str:
    """The action that frees a task."""
    reject = by_verb("reject", task.id, REASON)
    if task.state == IN_REVIEW:
        return f"{by_verb('approve', task.id)}, or {reject}"
    if "#" in idle.who:
        asking = command_line("send", name_of(idle.who), options=option("--task", task.id))
        return f"{asking} 'Are you still at it?', or {reject}"
    return reject


def concerns(call: Call) -> Iterator[Concern]:
    """Stuck work. Who was silent in the past is unknown."""
    store, now = call.engine.read(), call.clock.wall_seconds()
    for task in _watched(store) if call.past is None else ():
        idle = _idle(store, task, now, call.silence)
        if has_lapsed(idle.seconds, task.ttl):
            code = "stuck" if task.state == IN_PROGRESS else "overdue"
            said = f"{task.id} is {_said(task, idle)}."
            yield Concern(code, task.id, said, _next(task, idle), idle.since, name_of(idle.who))
