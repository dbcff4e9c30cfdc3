"""The whole workspace at a glance: what is wrong, what needs a person, who is here, what is done and what is not.

One question with one answer, of one moment. What grows with the log (tasks, claims, problems, events) is told in part,
with how much there is in all. Asking changes nothing. How it is shown is not known here.
"""

from __future__ import annotations

from moot import needs_me
from moot.api.message_view import is_overdue
from moot.core import timestamps
from moot.core.errors import Unavailable
from moot.core.principal import label, name_of
from moot.core.record import Record
from moot.core.task.leases import has_lapsed
from moot.core.text import command_line, counted
from moot.overview.recent import Recent
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.api.call import Call
    from moot.core.claims import Claim
    from moot.core.deciders.agent import Agent
    from moot.core.task import Task
    from moot.needs_me import Waiting
    from moot.overview.recent import Happened
    from moot.views.store import Store

_LIMIT = 50  # of each kind of thing
_WANTED = 10_000  # requests that are looked at for late ones
_TITLE = 500


class OverviewProblem(Record):
    """Something that is not as it should be, and what to do about it."""

    code: str
    about: str  # with the code it names the problem, however its message changes
    message: str
    remedy: str


class AgentSummary(Record):
    """An agent that is here. `silent_for` is None where its sign of life cannot be read."""

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
    """A task, as far as an overview tells of it. `who` is its holder, or in review its author."""

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
    """The board: how many tasks in each state, and some of those that are not done."""

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
    """A mailbox with mail that is not settled."""

    name: str
    waiting: int
    oldest: str


class Overview(Record):
    at: str
    position: int
    root: str
    problems: tuple[OverviewProblem, ...]
    needs: tuple[Waiting, ...]  # checkpoints and requests; the rest of what needs a person is among the problems
    agents: tuple[AgentSummary, ...]
    left: int  # agents that are not here any more
    tasks: BoardSummary
    claims: tuple[Claim, ...]
    claim_count: int
    mail: tuple[MailboxSummary, ...]
    events: tuple[Happened, ...]  # the last ones, oldest first


def overview(call: Call, recent: Recent | None = None) -> Overview:
    """See the module."""
    store = call.engine.read()
    store.pin()
    try:
        return _overview(call, store, recent or Recent())
    finally:
        store.unpin()


def _overview(call: Call, store: Store, recent: Recent) -> Overview:
    position = store.cursor()
    live = states.claims(store)[0].live
    known = queries.agents(store)
    mail = tuple(
        MailboxSummary(name=box, waiting=count, oldest=since) for box, count, since in queries.open_per_mailbox(store)
    )
    waiting = needs_me.waiting(call)
    held: dict[str, list[Claim]] = {}
    for claim in live.values():
        held.setdefault(claim.holder, []).append(claim)
    counts = {box.name: box.waiting for box in mail}
    silent: list[OverviewProblem] = []
    agents = tuple(
        _seen(call, store, agent, held.get(agent.principal, []), counts.get(agent.name.lower(), 0), silent)
        for agent in known
        if agent.here
    )
    return Overview(
        at=call.clock.wall(),
        position=position,
        root=call.place.root,
        problems=(
            *_troubles(call, store, agents),
            *silent,
            *_wrong(waiting),
            *_overdue(store, call.clock.wall_seconds()),
        ),
        needs=tuple(item for item in waiting if item.kind not in _WRONG)[:_LIMIT],
        agents=agents,
        left=len(known) - len(agents),
        tasks=_work(store),
        claims=tuple(live.values())[:_LIMIT],
        claim_count=len(live),
        mail=mail,
        events=recent.up_to(call, position),
    )


# --- what is wrong ---------------------------------------------------------------------------------------------------

# Kinds of what waits for a person that are problems by themselves.
_WRONG = {"held": "entry_held", "task": "task_stuck", "effect": "effect_parked"}


def _troubles(call: Call, store: Store, agents: Iterable[AgentSummary]) -> Iterator[OverviewProblem]:
    """What is wrong with the workspace itself."""
    newer = queries.newer(store)
    if newer is not None:
        said = f"the log has events that this version does not know ({newer}): it can be read, and not changed"
        yield OverviewProblem("newer_events", newer, said, "update moot")
    behind = call.engine.store.behind
    if behind is None:
        yield OverviewProblem(
            "views_missing", "", "the shared views cannot be read: all of it was folded from the log", "moot verify"
        )
    elif behind:
        yield OverviewProblem(
            "views_behind", "", f"the shared views are {counted(behind, 'event')} behind", "moot verify"
        )
    hidden = [agent.name for agent in agents if agent.silent_for is None and call.past is None]
    if hidden:
        said = f"when these were seen cannot be read: {_named(hidden)}"
        yield OverviewProblem("presence_unreadable", "", said, "look as the user whose workspace it is")


def _wrong(waiting: Iterable[Waiting]) -> Iterator[OverviewProblem]:
    found = [item for item in waiting if item.kind in _WRONG]
    for item in found[:_LIMIT]:
        said = f"{item.id} held back from {item.who}: {item.text}" if item.kind == "held" else f"{item.id} {item.text}"
        yield OverviewProblem(_WRONG[item.kind], item.id, said, item.command)
    if len(found) > _LIMIT:
        yield OverviewProblem("more", "needs-me", f"{len(found) - _LIMIT} more of these", "moot needs-me")


def _overdue(store: Store, now: float) -> Iterator[OverviewProblem]:
    late = [item for item in queries.overdue(store, now, _WANTED, _LIMIT + 1) if is_overdue(item, now)]
    for delivery in late[:_LIMIT]:
        waited = now - (timestamps.parse(delivery.message.at) or now)
        box = next((name for name in delivery.message.to if name.lower() == delivery.mailbox), delivery.mailbox)
        who = name_of(delivery.entry.taker or box)
        said = f"{delivery.entry.id} {who} has not answered {label(delivery.message.sender)} for {ago(waited)}"
        yield OverviewProblem(
            "overdue",
            delivery.entry.id,
            f"{said}: {delivery.message.text[:_TITLE]}",
            command_line("thread", delivery.entry.id),
        )
    if len(late) > _LIMIT:
        yield OverviewProblem("more", "overdue", "more answers are late", "moot overdue")


# --- who is here ------------------------------------------------------------------------------------------------------


def _seen(
    call: Call,
    store: Store,
    agent: Agent,
    claims: list[Claim],
    mail: int,
    problems: list[OverviewProblem],
) -> AgentSummary:
    tasks = [states.task(store, name)[0] for name in queries.tasks_held_by(store, agent.principal)]
    silent = _silence(call, agent)
    limits = [ttl for ttl in (*(task.ttl for task in tasks), *(claim.ttl for claim in claims)) if ttl > 0]
    lost = has_lapsed(silent, min(limits, default=0.0))
    if lost:
        problems.append(_silent(agent, silent or 0.0, min(limits), tasks, claims))
    return AgentSummary(
        name=agent.name,
        incarnation=agent.incarnation,
        roles=agent.roles,
        client=agent.client,
        worktree=agent.worktree,
        since=agent.since,
        silent_for=silent,
        quiet=lost or has_lapsed(silent, call.settings.task_ttl),
        tasks=tuple(task.id for task in tasks),
        claims=len(claims),
        mail=mail,
    )


def _silence(call: Call, agent: Agent) -> float | None:
    try:
        return call.silent_for(agent.principal)
    except Unavailable:
        return None


def _silent(agent: Agent, silent: float, limit: float, tasks: list[Task], claims: list[Claim]) -> OverviewProblem:
    holds = [task.id for task in tasks] + [path for claim in claims for path in claim.paths]
    said = f"{agent.principal} has been silent for {ago(silent)} (limit {ago(limit)}) and holds {_named(holds)}"
    return OverviewProblem("agent_silent", agent.principal, said, command_line("leave", agent.name))


def _named(names: list[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def ago(seconds: float) -> str:
    """A span of time in one word, as coarse as one reads it."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"


# --- what is done and what is not -------------------------------------------------------------------------------------


def _work(store: Store) -> BoardSummary:
    counts = [Count(state=s, phase=p, count=n, blocked=b) for s, p, n, b in queries.counts(store)]
    ready = sum(count.count - count.blocked for count in counts if count.phase == "open")
    return BoardSummary(
        total=sum(count.count for count in counts),
        done=sum(count.count for count in counts if count.phase == "done"),
        counts=tuple(counts),
        working=_jobs(store, counts, "working"),
        review=_jobs(store, counts, "review"),
        ready=tuple(map(_job, queries.ready(store, _LIMIT))),
        ready_count=ready,
        blocked=_jobs(store, counts, "open", blocked=True),
        blocked_count=sum(count.blocked for count in counts),
    )


def _jobs(store: Store, counts: Iterable[Count], phase: str, *, blocked: bool = False) -> tuple[TaskSummary, ...]:
    states = [count.state for count in counts if count.phase == phase]
    found = [task for state in states for task in queries.tasks_in(store, phase, state, _LIMIT, blocked=blocked)]
    return tuple(map(_job, found[:_LIMIT]))


def _job(task: Task) -> TaskSummary:
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
