"""The whole workspace at a glance: problems, what needs a person, agents, tasks, claims, mail and recent events.

All of it is read from one snapshot. Lists that grow with the log (tasks, claims, problems, events) are cut, and come
with their full count. Reading an overview writes nothing. This module does not know how an overview is displayed.
"""

from __future__ import annotations

from moot import needs_me
from moot.api.message_view import is_overdue
from moot.api.protocol.pack_views import views
from moot.core import timestamps
from moot.core.errors import Unavailable
from moot.core.principal import label, name_of
from moot.core.record import Record
from moot.core.sentences import sentence
from moot.core.task.leases import has_lapsed
from moot.core.text import age, command_line, counted, first_few
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.api.call import Call
    from moot.api.protocol.pack_views import PackView
    from moot.core.claims import Claim
    from moot.core.deciders.agent import Agent
    from moot.core.task import Task
    from moot.needs_me import Waiting
    from moot.views.store import Store

_LIMIT = 50  # items in each list
_WAITING = 500  # items of one kind that wait for a person
_REQUESTS = 10_000  # open requests that are checked for late answers
_TITLE = 500  # characters
_EVENTS = 30
_DERIVED = ("feed:listed",)  # such events follow from others of the same commit


class OverviewProblem(Record):
    """Something that is not as it should be, and what to do about it."""

    code: str
    about: str  # identifies the problem together with `code`; its message may change
    message: str
    remedy: str


class AgentSummary(Record):
    """An agent that is present. `silent_for` is None if its sign of life cannot be read."""

    name: str
    incarnation: int
    roles: tuple[str, ...]
    client: str | None
    worktree: str | None
    since: str
    silent_for: float | None
    quiet: bool  # silent for longer than what it holds allows, or than tasks.ttl
    tasks: tuple[str, ...]
    claims: int
    mail: int


class Count(Record):
    state: str
    phase: str
    count: int
    blocked: int


class TaskSummary(Record):
    """A task in short. `who` is its holder, or its author if it is in review."""

    id: str
    title: str
    state: str
    phase: str
    priority: str
    attempt: int
    since: str
    who: str = ""
    waits: tuple[str, ...] = ()
    flagged: str | None = None


class BoardSummary(Record):
    """The board: the number of tasks in each state, and the first tasks that are not done."""

    total: int
    done: int
    counts: tuple[Count, ...]
    working: tuple[TaskSummary, ...]
    review: tuple[TaskSummary, ...]
    ready: tuple[TaskSummary, ...]
    ready_count: int
    blocked: tuple[TaskSummary, ...]
    blocked_count: int


class MailboxSummary(Record):
    """A mailbox with unsettled mail."""

    name: str
    waiting: int
    oldest: str


class RecentEvent(Record):
    """An event as a sentence."""

    position: int
    at: str
    by: str
    type: str
    stream: str
    text: str


class Overview(Record):
    at: str
    position: int
    root: str
    problems: tuple[OverviewProblem, ...]
    needs: tuple[Waiting, ...]  # what needs a person, without the kinds that are listed as problems
    agents: tuple[AgentSummary, ...]
    left: int  # number of agents that have left
    tasks: BoardSummary
    claims: tuple[Claim, ...]
    claim_count: int
    mail: tuple[MailboxSummary, ...]
    events: tuple[RecentEvent, ...]  # the last ones, oldest first
    needs_count: int = 0
    packs: tuple[PackView, ...] = ()  # a section for each active pack that has one


def overview(call: Call) -> Overview:
    """The whole workspace, read from one snapshot."""
    store = call.engine.read()
    store.pin()
    try:
        return _overview(call, store)
    finally:
        store.unpin()


def _overview(call: Call, store: Store) -> Overview:
    position = store.cursor()
    live = states.claims(store)[0].live
    known = queries.agents(store)
    names = {agent.name.lower(): agent.name for agent in known}
    mail = tuple(
        MailboxSummary(name=names.get(box, box), waiting=count, oldest=since)
        for box, count, since in queries.open_per_mailbox(store)
    )
    waiting = needs_me.waiting(call, _WAITING)
    claims: dict[str, list[Claim]] = {}
    for claim in live.values():
        claims.setdefault(claim.holder, []).append(claim)
    unread = {box.name: box.waiting for box in mail}
    silent: list[OverviewProblem] = []
    agents = tuple(
        _agent(call, store, agent, claims.get(agent.principal, []), unread.get(agent.name, 0), silent)
        for agent in known
        if agent.here
    )
    needs = [item for item in waiting if item.kind not in _STUCK]
    return Overview(
        at=call.clock.wall(),
        position=position,
        root=call.place.root,
        problems=(
            *_workspace_problems(call, store, agents),
            *silent,
            *_stuck(waiting),
            *_late_answers(store, call.clock.wall_seconds()),
        ),
        needs=tuple(needs[:_LIMIT]),
        needs_count=len(needs),
        agents=agents,
        left=len(known) - len(agents),
        tasks=_board(store),
        claims=tuple(live.values())[:_LIMIT],
        claim_count=len(live),
        mail=mail,
        events=tuple(_recent_events(call, position)),
        packs=(*views(call), *_runs(call)) if call.packs.packs else (),
    )


def _recent_events(call: Call, position: int) -> Iterator[RecentEvent]:
    start = max(0, position - _EVENTS)
    for event in call.engine.log.read(start, position - start) if position else ():
        if event.type not in _DERIVED:
            yield RecentEvent(
                position=event.position,
                at=event.at,
                by=name_of(event.by),
                type=event.type,
                stream=event.stream,
                text=sentence(event),
            )


def _runs(call: Call) -> tuple[PackView, ...]:
    """The runs of files through the stages of packs."""
    if not any(pack.stages for pack in call.packs.packs):
        return ()
    from moot.api.verbs.runs.status_lines import views as runs

    return runs(call)


# --- problems ------------------------------------------------------------------------------------------------------

# Kinds of items in the `needs-me` queue that are listed as problems, with the code of the problem.
_STUCK = {"held": "entry_held", "task": "task_stuck", "effect": "effect_parked", "concern": "pack_concern"}


def _workspace_problems(call: Call, store: Store, agents: Iterable[AgentSummary]) -> Iterator[OverviewProblem]:
    newer = queries.newer(store)
    if newer is not None:
        said = f"the log has events that this version does not know ({newer}): it can be read, but not changed"
        yield OverviewProblem("newer_events", newer, said, "update moot")
    behind = call.engine.store.behind
    if behind is None:
        yield OverviewProblem(
            "views_missing",
            "",
            "the shared views cannot be read: everything here was computed from the log",
            "moot verify",
        )
    elif behind:
        yield OverviewProblem(
            "views_behind", "", f"the shared views are {counted(behind, 'event')} behind", "moot verify"
        )
    hidden = [agent.name for agent in agents if agent.silent_for is None and call.past is None]
    if hidden:
        said = f"when these agents were last seen cannot be read: {first_few(hidden)}"
        yield OverviewProblem("presence_unreadable", "", said, "run moot as the user who owns the workspace")


def _stuck(waiting: Iterable[Waiting]) -> Iterator[OverviewProblem]:
    found = [item for item in waiting if item.kind in _STUCK]
    for item in found[:_LIMIT]:
        said = item.text if item.kind == "concern" else f"{item.id} {item.text}"
        said = f"{item.id} held back from {item.who}: {item.text}" if item.kind == "held" else said
        yield OverviewProblem(_STUCK[item.kind], item.id, said, item.command)
    if len(found) > _LIMIT:
        yield OverviewProblem("more", "needs-me", f"{len(found) - _LIMIT} more of these", "moot needs-me")


def _late_answers(store: Store, now: float) -> Iterator[OverviewProblem]:
    late = [item for item in queries.overdue(store, now, _REQUESTS, _LIMIT + 1) if is_overdue(item, now)]
    for delivery in late[:_LIMIT]:
        waited = now - (timestamps.parse(delivery.message.at) or now)
        who = name_of(delivery.entry.taker or delivery.box)
        said = f"{delivery.entry.id} {who} has not answered {label(delivery.message.sender)} for {age(waited)}"
        yield OverviewProblem(
            "overdue",
            delivery.entry.id,
            f"{said}: {delivery.message.text[:_TITLE]}",
            command_line("thread", delivery.entry.id),
        )
    if len(late) > _LIMIT:
        yield OverviewProblem("more", "overdue", "more answers are late", "moot overdue")


# --- agents -----------------------------------------------------------------------------------------------------------


def _agent(
    call: Call,
    store: Store,
    agent: Agent,
    claims: list[Claim],
    mail: int,
    problems: list[OverviewProblem],
) -> AgentSummary:
    tasks = [states.task(store, name)[0] for name in queries.tasks_held_by(store, agent.principal)]
    silent = _silent_for(call, agent)
    leased = [task.ttl for task in tasks if not _has_own_limits(call, task)]
    limits = [ttl for ttl in (*leased, *(claim.ttl for claim in claims)) if ttl > 0]
    lapsed = has_lapsed(silent, min(limits, default=0.0))
    if lapsed:
        problems.append(_silent_agent(agent, silent or 0.0, min(limits), tasks, claims))
    return AgentSummary(
        name=agent.name,
        incarnation=agent.incarnation,
        roles=agent.roles,
        client=agent.client,
        worktree=agent.worktree,
        since=agent.since,
        silent_for=silent,
        quiet=lapsed or has_lapsed(silent, call.settings.task_ttl),
        tasks=tuple(task.id for task in tasks),
        claims=len(claims),
        mail=mail,
    )


def _has_own_limits(call: Call, task: Task) -> bool:
    """Whether the silence of its holder does not matter: see `Lifecycle.silence`."""
    life = call.engine.lifecycles.get(task.lifecycle)
    return life is not None and life.silence == "ignore"


def _silent_for(call: Call, agent: Agent) -> float | None:
    try:
        return call.silent_for(agent.principal)
    except Unavailable:
        return None


def _silent_agent(agent: Agent, silent: float, limit: float, tasks: list[Task], claims: list[Claim]) -> OverviewProblem:
    holds = [task.id for task in tasks] + [path for claim in claims for path in claim.paths]
    said = f"{agent.principal} has been silent for {age(silent)} (limit {age(limit)}) and holds {first_few(holds)}"
    return OverviewProblem("agent_silent", agent.principal, said, command_line("leave", agent.name))


# --- the board --------------------------------------------------------------------------------------------------------


def _board(store: Store) -> BoardSummary:
    counts = [Count(state=s, phase=p, count=n, blocked=b) for s, p, n, b in queries.counts(store)]
    ready = sum(count.count - count.blocked for count in counts if count.phase == "open")
    return BoardSummary(
        total=sum(count.count for count in counts),
        done=sum(count.count for count in counts if count.phase == "done"),
        counts=tuple(counts),
        working=_tasks_in(store, counts, "working"),
        review=_tasks_in(store, counts, "review"),
        ready=tuple(map(_task, queries.ready(store, _LIMIT))),
        ready_count=ready,
        blocked=_tasks_in(store, counts, "open", blocked=True),
        blocked_count=sum(count.blocked for count in counts),
    )


def _tasks_in(store: Store, counts: Iterable[Count], phase: str, *, blocked: bool = False) -> tuple[TaskSummary, ...]:
    states = [count.state for count in counts if count.phase == phase]
    found = [task for state in states for task in queries.tasks_in(store, phase, state, _LIMIT, blocked=blocked)]
    return tuple(map(_task, found[:_LIMIT]))


def _task(task: Task) -> TaskSummary:
    return TaskSummary(
        id=task.id,
        title=task.title[:_TITLE],
        state=task.state,
        phase=task.phase,
        priority=task.priority,
        attempt=task.attempt,
        since=task.since,
        who=name_of(task.holder or task.author or ""),
        waits=task.waits[:_LIMIT],
        flagged=task.flagged,
    )
