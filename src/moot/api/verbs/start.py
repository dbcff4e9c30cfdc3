"""start: join or go on, read new mail, and take the next task, in one call."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.api.hints import by
from moot.api.to_do import reviewable
from moot.api.verbs.agents import free_names, join_in, roles_of
from moot.api.verbs.mail.inbox import Inbox, mail
from moot.api.verbs.tasks.answers import told, with_files
from moot.api.verbs.tasks.brief import Brief, body_lines, brief_of
from moot.api.verbs.tasks.claiming import startable
from moot.core.deciders.agent import Join, Joined
from moot.core.errors import Refused, Usage
from moot.core.paths import as_typed
from moot.core.principal import checked_name, name_of, same_agent
from moot.core.record import Record
from moot.core.task import MoveTask
from moot.core.text import command_line, one_line, option
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.deciders.agent import Agent
    from moot.core.principal import Actor
    from moot.core.task import Task
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work

_MESSAGES, _ROOM = 20, 32 << 10  # mail in one answer, in messages and in bytes
_CLAIMS = 5  # of others that are shown


class OthersClaim(Record):
    """Files that another agent has claimed."""

    id: str
    holder: str
    paths: tuple[str, ...]


class Start(Record):
    """Where the agent stands, and what it can do next.

    joined: whether this call joined; otherwise the agent was here already. claimed: whether it claimed `task`.
    task: the task that the agent holds, or with `no_claim` the one that it could claim. brief: how to finish it.
    review: without a task, one that the agent can review. others: files that other agents have claimed.
    next: commands, in this order.
    """

    agent: str
    incarnation: int
    roles: tuple[str, ...]
    joined: bool
    mail: Inbox
    task: Task | None = None
    claimed: bool = False
    brief: Brief | None = None
    review: Task | None = None
    others: tuple[OthersClaim, ...] = ()
    next: tuple[str, ...] = ()


class _Found:
    """What a commit, or the rehearsal of one, came upon. A retry fills it again."""

    task: str | None = None
    claimed = False
    review: tuple[Task, dict[str, str]] | None = None


def start(
    call: Call, name: str | None, role: tuple[str, ...], client: str | None, take_over: bool, no_claim: bool
) -> Answer:
    if name is not None:
        _check_name(call, name)
    elif call.caller.agent is None:
        raise Usage(
            "name_missing",
            "`start` needs a name: nothing says which agent you are.",
            "Choose one: `moot start Yeats`. An agent that has joined goes on with `moot start --agent NAME`.",
        )
    before, found = call.caller, _Found()
    joining = Join(roles=roles_of(call, role), client=client, take_over=take_over)
    outcome = _begin(call, name, joining, found, claim=not no_claim)
    me = states.agent(call.engine.read(), call.caller.agent or "")[0]
    call.stamp()
    if found.task is None:
        call.engine.rehearse(lambda work: _look(work, call.actor(work), found, claim=no_claim))
    known = before.why == "MOOT_AGENT" and same_agent(me.name, before.agent or "")
    said = None if known else me.name  # the name that the commands contain
    letters = mail(call, limit=_MESSAGES, bytes=_ROOM, agent=said)
    task = states.task(call.engine.read(), found.task)[0] if found.task is not None else None
    review = found.review[0] if found.review and task is None else None
    brief = brief_of(call, task, said) if task is not None and task.holder == me.principal else None
    result = Start(
        agent=me.name,
        incarnation=me.incarnation,
        roles=me.roles,
        joined=any(event.type == Joined.type for event in outcome.events),
        mail=letters.result,
        task=task,
        claimed=found.claimed,
        brief=brief,
        review=review,
        others=_others(call, me) if brief is not None else (),
        next=tuple(_next(found, task, brief, said)),
    )
    roles = f" Roles: {', '.join(me.roles)}." if me.roles else ""
    lines = [f"You are {me.principal}.{roles}"]
    lines += letters.say if letters.result.new or letters.result.waiting else ()
    lines += _lines(call, result, outcome, said)
    return Answer(result=result, say=tuple(lines), after=letters.after, unread=letters.unread)


def _check_name(call: Call, name: str) -> None:
    checked_name(name)
    if states.task(call.engine.read(), name)[0].exists:
        raise Refused(
            "is_a_task",
            f"{name} is a task, and `moot start` takes the name of an agent.",
            f"To claim the task: `{command_line('task claim', name)}`.",
            task=name,
        )


def _begin(call: Call, name: str | None, joining: Join, found: _Found, *, claim: bool) -> Outcome:
    """Join, or go on as the agent that the caller is; and find a task, in the same commit."""
    caller = call.caller
    mine = caller.agent is not None and (name is None or same_agent(name, caller.agent))
    me = call.me() if mine else None

    def go_on(work: Work) -> None:
        actor = call.actor(work)  # refuses an incarnation that was replaced
        if joining.roles or joining.client:
            state = work.agent(actor.name)
            work.do("agent", actor.name, joining.replace(incarnation=state.incarnation))
        _take(work, work.actor(actor.name, None), found, claim=claim)

    def come(work: Work, wanted: str) -> None:
        join_in(call, work, wanted, joining)
        _take(work, work.actor(wanted, None), found, claim=claim)

    if me is not None and me.here:
        return call.commit(go_on)
    outcome = call.join(name or caller.agent, free_names(), come)
    agent = states.agent(call.engine.read(), call.caller.agent or "")[0]
    call.caller = call.caller.replace(agent=agent.name, incarnation=agent.incarnation, person=False)
    return outcome


def _take(work: Work, actor: Actor, found: _Found, *, claim: bool) -> None:
    """The task that the actor works on already, or the most urgent one, which it claims."""
    found.task, found.claimed = None, False
    held = [work.task(name) for name in queries.tasks_held_by(work.store, actor.principal)]
    found.task = next((task.id for task in held if task.phase == "working"), None)
    if found.task is None and claim:
        found.task = next(startable(work, actor), None)
        found.claimed = found.task is not None
        if found.task is not None:
            work.do("task", found.task, MoveTask(verb="claim", actor=actor))


def _look(work: Work, actor: Actor, found: _Found, *, claim: bool) -> None:
    """Without a task: one to claim, if the caller did not want to claim it, or else one to review."""
    found.task = next(startable(work, actor), None) if claim else None
    found.review = next(reviewable(work, actor), None)


def _next(found: _Found, task: Task | None, brief: Brief | None, agent: str | None) -> Iterator[str]:
    if task is not None and brief is not None:
        yield by(agent, command_line("claim", options=f"PATH… {option('--task', task.id)}"))
        yield from brief.commands
    elif task is not None:
        yield by(agent, command_line("task claim", task.id))
    elif found.review is not None:
        state, verdicts = found.review
        for command in (command_line("task show", state.id), *verdicts.values()):
            yield by(agent, command)
    else:
        yield by(agent, "moot wait")


def _others(call: Call, me: Agent) -> tuple[OthersClaim, ...]:
    live = states.claims(call.engine.read())[0].live.values()
    return tuple(OthersClaim(c.id, name_of(c.holder), c.paths) for c in live if not same_agent(c.holder, me.name))


def _lines(call: Call, result: Start, outcome: Outcome, agent: str | None) -> Iterator[str]:
    task, brief = result.task, result.brief
    if task is not None and brief is not None:
        whose = "is yours" if result.claimed else "is still yours"
        yield from with_files(call, outcome, told(call, outcome, task.id, whose, moved=True)).say
        yield from body_lines(call, task, agent)
        if task.needs:
            yield f"It needed {', '.join(task.needs)}."
        yield from _about_claims(result)
        yield f"Before you edit files: {result.next[0]}"
        more = " (another agent reviews it)" if brief.review else ""
        yield f"When it is done: {', then '.join(result.next[1:])}{more}"
    elif task is not None:
        yield f"{task.id} can be started: {one_line(task.title, 80)}"
        yield from body_lines(call, task, agent)
        yield f"next: {result.next[0]}"
    elif result.review is not None:
        task = result.review
        yield f"No task is ready. You can review {task.id} by {name_of(task.author or '')}: {one_line(task.title, 80)}"
        yield f"next: {result.next[0]}, then {', or '.join(result.next[1:])}"
    else:
        yield f"nothing to do: {result.next[0]}"


def _about_claims(result: Start) -> Iterator[str]:
    shown = [f"{', '.join(as_typed(claim.paths)[:_CLAIMS])} ({claim.holder})" for claim in result.others[:_CLAIMS]]
    if shown:
        more = ", …: moot claims" if len(result.others) > _CLAIMS else ""
        yield f"Claimed by others: {'; '.join(shown)}{more}"


VERBS = (
    Verb(
        "start",
        "Join or go on, read new mail, and take the next task.",
        start,
        kind="own",
        anybody=True,
        params=(
            Param("name", "Your name. Default: the agent that --agent or MOOT_AGENT names.", positional=True),
            Param("role", "A role that you fill (repeatable).", many=True),
            Param("client", "The program you run in, for example claude-code.", limit=200),
            Param("take_over", "Replace an incarnation of this name that still appears active.", type="flag"),
            Param("no_claim", "Only show the next task.", type="flag"),
        ),
        examples=("moot start Yeats", "moot start --no-claim --agent Yeats"),
        detail=(
            "`moot start NAME` joins, as `moot join NAME` does. `moot start --agent NAME` goes on as this agent, and "
            "joins if it has left. The next task is the one that you hold, or the most urgent one that you can claim, "
            "which is claimed for you. Without a task, it shows one that you can review. Messages count as offered "
            "once the output was written. It can be repeated: a task that you hold stays yours."
        ),
    ),
)
