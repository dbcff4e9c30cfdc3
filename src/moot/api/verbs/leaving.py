"""leave: what an agent leaves behind, and what became of it."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.api.message_view import expired
from moot.api.verbs.agents import MembershipChange, change_of, found_event
from moot.core.claims import Released
from moot.core.deciders.agent import Leave, Left, evolve, known
from moot.core.deciders.task import may_review
from moot.core.errors import Usage
from moot.core.kind import meta_of
from moot.core.principal import Actor, checked_name, label, same_agent
from moot.core.record import Record
from moot.core.task import TYPES, Flagged, is_in
from moot.core.text import counted, one_line
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.deciders.agent import Agent
    from moot.core.deciders.checkpoint import Checkpoint
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work

_MOST = 500  # of each kind
_SHOWN = 10


class OpenRequest(Record):
    """A request that the agent has not answered."""

    id: str
    sender: str
    text: str


class Departure(MembershipChange):
    """The agent after it left, and what it left behind.

    tasks: what it held, by task: the state it is in now, or `flagged`. files: the claimed paths that were released.
    unanswered: requests to it. checkpoints: those of its questions to a person that are still open. in_review: the
    tasks it submitted that are still in review, and the agents here that can review each. assigned: the tasks that only
    it could claim; now others can. unread: how many messages it has not read.
    """

    tasks: dict[str, str] = {}  # noqa: RUF012 (a record's default is never changed)
    files: tuple[str, ...] = ()
    unanswered: tuple[OpenRequest, ...] = ()
    checkpoints: tuple[str, ...] = ()
    in_review: dict[str, tuple[str, ...]] = {}  # noqa: RUF012
    assigned: tuple[str, ...] = ()
    unread: int = 0


def leave(call: Call, name: str | None, retire: bool, reason: str | None) -> Answer:
    who = call.caller.agent if name is None else checked_name(name)
    if who is None:
        raise Usage("bad_arguments", "`leave` needs the name of an agent.", "Name it: `moot leave Yeats`.")

    def act(work: Work) -> None:
        state = known(work.agent(who), work.agents)
        silent = work.facts.silence(state.principal) if state.here else 0.0
        by, ttl = call.actor(work).principal, call.settings.task_ttl
        work.do("agent", who, Leave(retire=retire, reason=reason, by=by, silent_for=silent, ttl=ttl))

    store = call.engine.read()
    owed = tuple(_unanswered(call, states.agent(store, who)[0]))
    new = queries.unread(store, who, None, call.packs.shared_roles, call.clock.wall_seconds())
    outcome = call.commit(act)
    left = found_event(outcome, Left.type)
    now, _ = states.agent(call.engine.read(), who)
    if left is None:
        return Answer(result=_departure(call, now, outcome), say=(f"{now.name} had already left.",))
    then = evolve(now.replace(incarnation=left.data["incarnation"]), Left.of(left.data), meta_of(left))
    said = "is retired" if then.retired else "has left"
    if outcome.repeated:
        back = f"; {now.principal} is here now" if now.here else ""
        lines = (f"{then.principal} {said} (repeated with the same key{back}).",)
        return Answer(result=_departure(call, then, outcome), say=lines)
    call.presence.forget(then.name, then.incarnation)
    asked = [one for one in queries.things(call.engine.read(), "checkpoint", _MOST) if same_agent(one.who, then.name)]
    result = _departure(call, then, outcome, owed, asked).replace(
        in_review=_in_review(call, then),
        assigned=tuple(task.id for task in queries.assigned_tasks(call.engine.read(), then.name)),
        unread=new[0] if new else 0,
    )
    return Answer(result=result, say=(f"{then.name} {said}.", *_lines(result, asked)))


def _departure(
    call: Call,
    agent: Agent,
    outcome: Outcome,
    owed: tuple[OpenRequest, ...] = (),
    asked: list[Checkpoint] | None = None,
) -> Departure:
    tasks, files = {}, []
    for event in outcome.events:
        if event.type == TYPES["lapse"]:
            tasks[event.stream.partition("/")[2]] = str(event.data["target"])
        elif event.type == Flagged.type:
            tasks[event.stream.partition("/")[2]] = "flagged"
        elif event.type == Released.type:
            files += event.data["paths"]
    return Departure(
        **change_of(call, agent, outcome).__dict__,
        tasks=tasks,
        files=tuple(files),
        unanswered=owed,
        checkpoints=tuple(one.id for one in asked or ()),
    )


def _unanswered(call: Call, agent: Agent) -> Iterator[OpenRequest]:
    store, now = call.engine.read(), call.clock.wall_seconds()
    boxes = queries.mailboxes_of(agent, call.packs.shared_roles)
    for delivery in queries.inbox(store, boxes, _MOST):
        message, taker = delivery.message, delivery.entry.taker
        mine = not delivery.mailbox.startswith("@") if taker is None else same_agent(taker, agent.name)
        if message.wants == "answer" and mine and not expired(delivery, now):
            yield OpenRequest(id=message.id, sender=label(message.sender), text=message.text)


def _in_review(call: Call, agent: Agent) -> dict[str, tuple[str, ...]]:
    """The tasks that the agent submitted and that are in review, and the names of the agents that can review each."""
    store = call.engine.read()
    own = [task for task in queries.in_review(store) if task.author and same_agent(task.author, agent.name)]
    others = [one for one in queries.agents(store) if one.here] if own else []
    found: dict[str, tuple[str, ...]] = {}
    for task in own:
        life = call.engine.lifecycles.get(task.lifecycle)  # None if its pack was disabled
        able = (one for one in others if life and may_review(life, task, Actor(one.principal, roles=one.roles)))
        found[task.id] = tuple(one.name for one in able)
    return found


def _lines(left: Departure, asked: list[Checkpoint]) -> Iterator[str]:
    for task, state in left.tasks.items():
        yield f"{task} is flagged" if state == "flagged" else f"released {task}: it {is_in(state)}"
    if left.files:
        yield f"released {', '.join(left.files)}"
    for task, names in left.in_review.items():
        who = _some(names) if names else "no agent here"
        yield f"{task} stays in review: {who} can review it"
    if left.assigned:
        yield f"others can now claim what was assigned to {left.name}: {_some(left.assigned)}"
    if left.unanswered:
        named = tuple(f"{one.id} from {one.sender}" for one in left.unanswered)
        yield f"{counted(len(named), 'request')} not answered: {_some(named)}"
    if left.unread:
        yield f"{counted(left.unread, 'message')} not read"
    for one in asked[:_SHOWN]:
        yield f"{one.id} still waits for a person: {one_line(one.question, 80)}"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


VERBS = (
    Verb(
        "leave",
        "Leave the workspace and release what you hold.",
        leave,
        kind="own",
        params=(
            Param("name", "Another agent. Default: yourself.", positional=True),
            Param(
                "retire", "Leave permanently: the name cannot be used again, and mail to it is refused.", type="flag"
            ),
            Param("reason", "Why.", limit=2000),
            KEY,
        ),
        examples=("moot leave",),
        detail=(
            "The answer names the tasks and files that were released, your tasks that stay in review and who can "
            "review them, tasks that were assigned to you and that others can now claim, requests that you have "
            "not answered, the number of messages that you have not read, and your questions that still wait for "
            "a person. An agent can remove another agent only after that agent was silent for tasks.ttl, and can "
            "retire only itself. A person can do both at any time."
        ),
    ),
)
