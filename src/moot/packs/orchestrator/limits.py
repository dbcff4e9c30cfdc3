"""Time limits. A task in progress without activity is stuck; a review that takes too long is overdue.

Activity of a task in progress is

- an event about it: a move, a note, a message, the receipt of a build, a read confirmation of its assignment;
- a sign of life of the developer who took its assignment: any call of an agent, or a write to a file of the protocol.

The lead that started a task may be silent: it waits for the report. What moot itself says about a task is not activity.

When a limit has passed, the task is flagged and the lead gets one note. The flag goes away with new activity, so that
the lead is told again the next time. Only with `expire` moot rejects a stuck task. A review stays as it is.
"""

from __future__ import annotations

from moot.api.protocol.pack_views import Concern
from moot.core import timestamps
from moot.core.deciders.message import SendMessage
from moot.core.principal import Actor, name_of, role
from moot.core.record import Record
from moot.core.task import FlagTask, MoveTask, UnflagTask, by_verb
from moot.core.text import REASON, age, command_line, option
from moot.settings import seconds
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

LIFECYCLE = "orchestrator"
IN_PROGRESS, IN_REVIEW = "in_progress", "awaiting_review"
ASSIGNMENT = "task_assignment"
LEAD, DEVELOPER = "@team-lead", "@developer"
MOOT = Actor(principal="moot")
_LATEST = 1 << 16  # bytes of a note
_GONE = float("inf")


class Limits(Record):
    """Seconds; 0: no limit."""

    in_progress: float
    review: float
    expire: bool


class Idle(Record):
    """How long a task has been without activity, or in review; since when; and who works on it."""

    seconds: float
    since: str
    who: str = ""


def limits_of(settings: Mapping[str, Any]) -> Limits:
    working, review = (seconds(settings[name]) or 0.0 for name in ("in_progress_limit", "review_limit"))
    return Limits(in_progress=working, review=review, expire=settings["expire"])


def due(call: Call, settings: Mapping[str, Any]) -> Callable[[Work], None] | None:
    """Flag, unflag or reject the tasks whose time has come. None: there is nothing to do."""
    limits, store, now = limits_of(settings), call.engine.store, call.clock.wall_seconds()
    names = [task.id for task in _watched(store) if _act(task, _idle(store, task, now, call.silence), limits)]
    if not names:
        return None

    def decide(work: Work) -> None:
        for name in names:
            task = work.task(name)
            act = _act(task, _idle(work.store, task, work.now, work.facts.silence), limits)
            if act is not None:
                act(work)

    return decide


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
        if message.sender != MOOT.principal and message.attempt in (None, task.attempt):
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


def _act(task: Task, idle: Idle, limits: Limits) -> Callable[[Work], None] | None:
    """What is to be done about a task."""
    if task.state not in (IN_PROGRESS, IN_REVIEW):
        return None
    working = task.state == IN_PROGRESS
    limit = limits.in_progress if working else limits.review
    if not limit or idle.seconds <= limit:
        return (lambda work: _unflag(work, task)) if task.flagged and working else None
    if working and limits.expire:
        return lambda work: _expire(work, task, idle, limit)
    return None if task.flagged else lambda work: _flag(work, task, idle, limit)


def _unflag(work: Work, task: Task) -> None:
    work.do("task", task.id, UnflagTask(reason="there is activity again"))


def _flag(work: Work, task: Task, idle: Idle, limit: float) -> None:
    said = _said(task, idle, limit)
    work.do("task", task.id, FlagTask(reason=said, silent_for=round(idle.seconds, 3), ttl=limit))
    states = "rejected, with a rejectionReason"
    states = f"completed, or {states}" if task.state == IN_REVIEW else states
    _tell(work, task, f"{task.id} is {said}. Next: {_next(task, idle)}. {_in_queue(states)}")


def _expire(work: Work, task: Task, idle: Idle, limit: float) -> None:
    reason = _said(task, idle, limit).replace("stuck", "timed out", 1)
    work.do("task", task.id, MoveTask(verb="reject", actor=MOOT, reason=reason, flags=("timed_out: by moot",)))
    _tell(work, task, f"{task.id} is rejected: {reason}. Next: {by_verb('reopen', task.id)}. {_in_queue('pending')}")


def _in_queue(states: str) -> str:
    """The same by file: a lead that knows only the files reads this in log.md."""
    return f"By file: set its status in queue.json to {states}."


def _said(task: Task, idle: Idle, limit: float) -> str:
    what = "stuck: no activity for" if task.state == IN_PROGRESS else "overdue: in review for"
    return f"{what} {age(idle.seconds)} (limit {age(limit)})"


def _tell(work: Work, task: Task, text: str) -> None:
    note = SendMessage(
        kind="note",
        sender=MOOT.principal,
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


# --- for people ------------------------------------------------------------------------------------------------------


def concerns(call: Call, settings: Mapping[str, Any]) -> Iterator[Concern]:
    """Stuck work: tasks beyond their limit, and tasks in progress without an assignment."""
    limits, store, now = limits_of(settings), call.engine.read(), call.clock.wall_seconds()
    for task in _watched(store):
        if task.state == IN_PROGRESS and not queries.messages_of_task(store, task.id, task.attempt, ASSIGNMENT):
            said = f"{task.id} is in progress without an assignment: no developer can know what to do."
            sending = command_line("send", options=option("--type", ASSIGNMENT))
            yield Concern("no_assignment", task.id, said, f"{sending} --data @assignment.json", task.since)
            continue
        limit = limits.in_progress if task.state == IN_PROGRESS else limits.review
        if call.past is not None or not limit:
            continue  # who was silent in the past is unknown
        idle = _idle(store, task, now, call.silence)
        if idle.seconds > limit:
            code = "stuck" if task.state == IN_PROGRESS else "overdue"
            said = f"{task.id} is {_said(task, idle, limit)}."
            yield Concern(code, task.id, said, _next(task, idle), idle.since, name_of(idle.who))
