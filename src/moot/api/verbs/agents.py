"""join, whoami, agents."""

from __future__ import annotations

from moot.api.answer import Answer, Table, typed
from moot.api.catalogue import KEY, Param, Verb
from moot.core.deciders.agent import Agent, Join, Joined, evolve
from moot.core.identity import how_to_say, reason
from moot.core.kind import meta_of
from moot.core.principal import agent as agent_principal
from moot.core.principal import checked_name, person
from moot.core.record import Record
from moot.core.text import age, closest, command_line, counted, from_agent
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work

# Names for agents that join without one. Poets' names are easy to remember.
NAMES = [
    "Achebe",
    "Akhmatova",
    "Angelou",
    "Auden",
    "Basho",
    "Bishop",
    "Blake",
    "Borges",
    "Byron",
    "Cavafy",
    "Celan",
    "Dante",
    "Darwish",
    "Dickinson",
    "Eliot",
    "Frost",
    "Ghalib",
    "Goethe",
    "Hafez",
    "Heaney",
    "Homer",
    "Hughes",
    "Issa",
    "Keats",
    "Lorca",
    "Milosz",
    "Mistral",
    "Neruda",
    "Ovid",
    "Paz",
    "Pessoa",
    "Pushkin",
    "Rilke",
    "Rumi",
    "Sappho",
    "Schiller",
    "Shelley",
    "Tagore",
    "Tranter",
    "Virgil",
    "Walcott",
    "Whitman",
    "Wordsworth",
    "Yeats",
]


class Member(Record):
    """An agent, as verbs return it."""

    name: str
    incarnation: int
    here: bool
    roles: tuple[str, ...]
    client: str | None
    worktree: str | None
    silent_for: float | None
    mail: int
    holds: tuple[str, ...]
    retired: bool = False


class MembershipChange(Member):
    """The agent after it joined or left. `repeated`: an earlier call with the same key did it."""

    repeated: bool = False


def join(call: Call, name: str | None, role: tuple[str, ...], client: str | None, take_over: bool) -> Answer:
    if name is not None:
        checked_name(name)
    command = Join(roles=roles_of(call, role), client=client, take_over=take_over)
    outcome = call.join(name, free_names(), lambda work, wanted: join_in(call, work, wanted, command))
    joined = found_event(outcome, Joined.type)
    now = _agent(call, str(joined.data["name"] if joined else call.caller.agent))
    me = now if joined is None else evolve(now, Joined.of(joined.data), meta_of(joined))  # as it was then
    call.caller = call.caller.replace(agent=me.name, incarnation=me.incarnation, person=False)
    if not (now.here and now.incarnation == me.incarnation):  # a repeat by key, or another process was faster
        why = "repeated with the same key; " if outcome.repeated else ""
        gone = f"You were {me.principal} ({why}{me.principal} has left since)."
        result = change_of(call, me.replace(here=False, retired=now.retired), outcome)
        return Answer(result=result, say=(gone, "To come back, join with another key or without one."))
    call.stamp()
    again = " (repeated with the same key)" if outcome.repeated else ""
    filled = f" Roles: {', '.join(me.roles)}." if me.roles else ""
    lines = [f"Use: {from_agent('moot VERB', me.name)}", f"You are {me.principal}{again}.{filled}"]
    if waiting := _unsettled(call, me.principal):
        lines.append(
            f"{counted(waiting, 'message')} {'waits' if waiting == 1 else 'wait'}: {from_agent('moot inbox', me.name)}"
        )
    lines.append(f"export MOOT_AGENT={me.name} MOOT_INCARNATION={me.incarnation}")
    return Answer(result=change_of(call, me, outcome), say=tuple(lines))


def join_in(call: Call, work: Work, wanted: str, command: Join) -> None:
    """Decide in this commit that the caller joins under the wanted name."""
    state = work.agent(wanted)
    silent = work.facts.silence(state.principal) if state.here else 0.0
    mine = call.caller.incarnation
    place, ttl = call.place.worktree, call.settings.task_ttl
    work.do("agent", wanted, command.replace(incarnation=mine, worktree=place, silent_for=silent, ttl=ttl))
    # Before the append: the new incarnation must never appear silent.
    work.facts.ensure_stamped(state.name, work.agent(wanted).incarnation)


def roles_of(call: Call, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_role(call, one) for one in names))


def _role(call: Call, name: str) -> str:
    """A role in its pack's spelling; case is ignored. Agents may fill roles that no pack declares."""
    known = [role.name for pack in call.packs.packs for role in pack.roles]
    found = next((role for role in known if role.lower() == name.lower()), None)
    if found is None and known:
        near = closest(name, known)
        advice = f"Did you mean {near}?" if near else f"Their roles are {', '.join(known)}."
        call.warn("role_of_no_pack", f"No active pack has the role {checked_name(name, 'a role')!r}. {advice}")
    return found or checked_name(name, "a role")


def found_event(outcome: Outcome, kind: str) -> Event | None:
    """The first event of this type in a commit."""
    return next((event for event in outcome.events if event.type == kind), None)


def _unsettled(call: Call, reader: str) -> int:
    store, boxes = call.engine.read(), call.mailboxes()
    return sum(queries.count_unsettled(store, box, reader, seen=seen)[0] for box in boxes for seen in (False, True))


def free_names() -> Callable[[Work], str]:
    """A function that finds the first free name, or generates one. Every attempt of a commit gets the same name."""
    spare: list[str] = []

    def free(work: Work) -> str:
        taken = {a.name.lower() for a in queries.agents(work.store)}
        for name in (*NAMES, *spare):
            if name.lower() not in taken:
                return name
        spare.append(f"Agent-{work.token(6)}")
        return spare[-1]

    return free


class Me(Record):
    """The caller's identity, and the rule that determined it."""

    kind: str  # agent, person, nobody
    name: str | None
    principal: str | None
    why: str
    here: bool = False
    roles: tuple[str, ...] = ()
    mail: int = 0  # unsettled messages in all of the caller's mailboxes
    workspace: str = ""


def whoami(call: Call) -> Answer:
    caller, why = call.caller, reason(call.caller)
    root = call.place.root
    if caller.nobody:
        me = Me(kind="nobody", name=None, principal=None, why=why, workspace=root)
        said = f"You are nobody here: {why}. You can read, but not change anything."
        return Answer(result=me, say=(said, how_to_say(caller), f"workspace: {root}"))
    if caller.agent is not None:
        return _agent_i_am(call, caller.agent, why)
    principal = person(call.login)
    me = Me(kind="person", name=call.login, principal=principal, why=why, here=True, workspace=root)
    me = me.replace(mail=_unsettled(call, principal))
    return Answer(result=me, say=(f"You are {principal}, a person: {why}.", *_place(call, me)))


def _agent_i_am(call: Call, name: str, why: str) -> Answer:
    state = _agent(call, name)
    if not state.exists:
        me = Me(kind="agent", name=name, principal=None, why=why, workspace=call.place.root)
        return Answer(
            result=me,
            say=(
                f"You are {name}, an agent that has not joined: {why}.",
                command_line("join", name),
                *_place(call, me),
            ),
        )
    number = call.caller.incarnation or state.incarnation
    mine = state.here and number == state.incarnation
    me = Me(
        kind="agent",
        name=state.name,
        principal=agent_principal(state.name, number),
        why=why,
        here=mine,
        roles=state.roles if mine else (),
        mail=_unsettled(call, state.principal) if mine else 0,
        workspace=call.place.root,
    )
    lines = [f"You are {me.principal}, an agent: {why}."]
    if not mine:
        now = f"{state.principal} is here now" if state.here else f"{state.name} has left"
        lines += [f"{now}.", command_line("join", state.name)]
    lines += [f"roles: {', '.join(me.roles)}"] if me.roles else []
    return Answer(result=me, say=(*lines, *_place(call, me)))


def _place(call: Call, me: Me) -> list[str]:
    waits = f"{counted(me.mail, 'message')} {'waits' if me.mail == 1 else 'wait'}: {typed(call, 'moot inbox')}"
    return [*([waits] if me.mail else []), f"workspace: {me.workspace}"]


def agents(call: Call, all: bool) -> Answer:  # noqa: A002 (named after the option)
    members = [m for m in _members(call) if m.here or all]
    rows = tuple(
        (
            m.name,
            "here" if m.here else ("retired" if m.retired else "left"),
            ", ".join(m.roles),
            "" if m.silent_for is None else age(m.silent_for),
            str(m.mail),
            ", ".join(m.holds),
        )
        for m in members
    )
    lines = tuple(
        f"{m.name} {row[1]}"
        + (f" ({row[2]})" if row[2] else "")
        + (f" silent {row[3]}" if row[3] else "")
        + (f" mail {row[4]}" if m.mail else "")
        + (f" holds {row[5]}" if m.holds else "")
        for m, row in zip(members, rows, strict=True)
    )
    table = Table(("agent", "", "roles", "silent", "mail", "holds"), rows, title="Agents")
    return Answer(result=members, say=lines or ("No agents.",), table=table if rows else None)


def _agent(call: Call, name: str) -> Agent:
    return states.agent(call.engine.read(), name)[0]


def change_of(call: Call, agent: Agent, outcome: Outcome) -> MembershipChange:
    """The agent after this commit."""
    return MembershipChange(**_member(call, agent).__dict__, repeated=outcome.repeated)


def _members(call: Call) -> list[Member]:
    return [_member(call, agent) for agent in queries.agents(call.engine.read())]


def _member(call: Call, agent: Agent) -> Member:
    store = call.engine.store
    return Member(
        name=agent.name,
        incarnation=agent.incarnation,
        here=agent.here,
        roles=agent.roles,
        client=agent.client,
        worktree=agent.worktree,
        silent_for=call.silent_for(agent.principal) if agent.here else None,
        mail=queries.count_open(store, agent.name),
        holds=tuple(queries.tasks_held_by(store, agent.principal)),
        retired=agent.retired,
    )


VERBS = (
    Verb(
        "join",
        "Join this workspace as an agent.",
        join,
        kind="own",
        anybody=True,
        params=(
            Param("name", "Your name. Default: an unused name is chosen for you.", positional=True),
            Param("role", "A role that you fill (repeatable).", many=True),
            Param("client", "The program you run in, for example claude-code.", limit=200),
            Param("take_over", "Replace an incarnation of this name that still appears active.", type="flag"),
            KEY,
        ),
        examples=("moot join Yeats --role reviewer",),
        detail=(
            "Afterwards name yourself in every call: `moot VERB --agent NAME`. Or set MOOT_AGENT, and MOOT_INCARNATION "
            "too: it distinguishes you from a newer process with the same name. `moot as` does all of this for a "
            "command. `moot start` joins and takes the next task."
        ),
    ),
    Verb(
        "whoami",
        "Show your identity, and which rule determined it.",
        whoami,
        kind="look",
        examples=("moot whoami",),
        detail=(
            "The first rule that applies decides: --agent; --person; MOOT_AGENT; in a coding agent's shell you are "
            "nobody; with MOOT_PERSON, or with a terminal on standard input, you are a person; otherwise you are "
            "nobody. Nobody can read everything and change nothing."
        ),
        writes=False,
        past=False,
    ),
    Verb(
        "agents",
        "List agents: how long each has been silent, its unread mail, and what it holds.",
        agents,
        kind="look",
        params=(Param("all", "Include agents that have left.", type="flag"),),
        examples=("moot agents --all",),
        writes=False,
    ),
)
