"""Agents: which agents have joined, and their current incarnations.

What always holds:
- An agent has at most one current incarnation. Joining again increments the number, and every later command of the
  older incarnation is refused.
- A name in use is not taken over by accident: if its holder was active within the ttl, joining under that name needs
  `take_over`.
- The current incarnation may join again to change its roles or its client. It stays the same incarnation and keeps
  everything it holds.
- Only a person can make another agent leave that was active within the ttl, or retire another agent.
- A retired name is never used again. Mail to it is refused.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.principal import Actor, agent, checked_name, same_agent
from moot.core.record import Record, unreachable
from moot.core.task.leases import has_lapsed
from moot.core.text import age, closest, command_line, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moot.core.kind import Meta

ROLE_LIMIT = 16
DRIVEN = "moot run"  # the client of agents that a driver joins: the next driver continues with them


class Joined(Payload):
    type = "agent:joined"
    said = "joined as {name}#{incarnation}"
    asides = (("replaces", "in place of #{replaces}"),)
    names = ("client",)
    marks = ("name", "roles", "worktree")
    name: str
    incarnation: int
    roles: tuple[str, ...] = ()
    client: str | None = None
    worktree: str | None = None
    replaces: int | None = None  # the incarnation that had not left


class Left(Payload):
    type = "agent:left"
    said = "left"
    asides = (("retired", "retired"),)
    words = ("reason",)
    incarnation: int
    retired: bool = False
    reason: str | None = None


EVENTS: dict[str, type[Payload]] = {cls.type: cls for cls in (Joined, Left)}


class Agent(Record):
    name: str
    incarnation: int = 0  # 0: never joined
    here: bool = False
    retired: bool = False
    roles: tuple[str, ...] = ()
    client: str | None = None
    worktree: str | None = None
    since: str = ""

    @property
    def exists(self) -> bool:
        return self.incarnation > 0

    @property
    def gone(self) -> str:
        """That it has left or was retired, as the predicate of a sentence; empty if it is here."""
        return "" if self.here else "was retired" if self.retired else "has left"

    @property
    def principal(self) -> str:
        return agent(self.name, self.incarnation)


class Join(Record):
    roles: tuple[str, ...] = ()
    client: str | None = None
    worktree: str | None = None
    incarnation: int | None = None  # the caller's own, if it has joined before
    silent_for: float = 0.0
    ttl: float = 0.0
    take_over: bool = False


class Leave(Record):
    retire: bool = False
    reason: str | None = None
    by: str | None = None  # the principal that gives the command; None: the agent itself
    silent_for: float = 0.0
    ttl: float = 0.0


def decide(state: Agent, command: Join | Leave, _facts: object = None) -> list[Payload]:
    if state.retired:
        raise Refused(
            "agent_retired",
            f"The name {state.name} was retired and cannot be used again.",
            "Join under another name.",
            agent=state.name,
        )
    match command:
        case Join():
            return _join(state, command)
        case Leave():
            return _leave(state, command)
        case _:
            unreachable(command)


def _join(state: Agent, command: Join) -> list[Payload]:
    checked_name(state.name)
    if len(command.roles) > ROLE_LIMIT:
        raise Refused("too_many_roles", f"{len(command.roles)} roles are too many.", f"Use at most {ROLE_LIMIT}.")
    if state.here and command.incarnation == state.incarnation:
        return _joined_again(state, command)
    if state.here and not command.take_over and not has_lapsed(command.silent_for, command.ttl):
        raise Held(
            "name_in_use",
            f"The name {state.name} is in use ({state.principal}, last active {age(command.silent_for)} ago).",
            f"If this is you, add `{option('--agent', state.name)}` to your commands. Otherwise choose another "
            f"name, or take it over: `{command_line('join', state.name, options='--take-over')}`.",
            agent=state.name,
            incarnation=state.incarnation,
        )
    return [
        Joined(
            name=state.name,
            incarnation=state.incarnation + 1,
            roles=command.roles,
            client=command.client,
            worktree=command.worktree,
            replaces=state.incarnation if state.here else None,
        )
    ]


def _joined_again(state: Agent, command: Join) -> list[Payload]:
    """The same incarnation, perhaps with other roles. Omitted fields keep their values."""
    roles, client = command.roles or state.roles, command.client or state.client
    if (set(roles), client) == (set(state.roles), state.client):
        return []
    worktree = command.worktree or state.worktree
    return [Joined(name=state.name, incarnation=state.incarnation, roles=roles, client=client, worktree=worktree)]


def _leave(state: Agent, command: Leave) -> list[Payload]:
    if not state.exists:
        raise unknown(state.name, None)
    _check_may_send_away(state, command)
    if not state.here and not command.retire:
        return []
    return [Left(incarnation=state.incarnation, retired=command.retire, reason=command.reason)]


def _check_may_send_away(state: Agent, command: Leave) -> None:
    by = command.by
    if by is None or by.startswith("person:") or same_agent(by, state.name):
        return
    if command.retire:
        raise Refused(
            "person_required",
            f"Only a person can retire another agent; you are {by}.",
            f"Ask a person to run `{command_line('leave', state.name, options='--retire')}`.",
            agent=state.name,
        )
    if state.here and not has_lapsed(command.silent_for, command.ttl):
        raise Held(
            "agent_here",
            f"{state.principal} is active: last seen {age(command.silent_for)} ago.",
            f"Ask it to leave: `{command_line('send', state.name)} '…'`. After {age(command.ttl)} of silence anybody "
            f"can run `{command_line('leave', state.name)}`; a person can at any time.",
            agent=state.name,
            incarnation=state.incarnation,
            silent_for=round(command.silent_for, 3),
            ttl=command.ttl,
        )


def acting(state: Agent, incarnation: int | None) -> Actor:
    """The agent as the actor of a command. Raises unless it has joined and its incarnation is the current one."""
    if incarnation is not None and incarnation != state.incarnation:
        raise Held(
            "stale_incarnation",
            f"You are {agent(state.name, incarnation)}, but {state.principal} has replaced you.",
            "Stop, or join under another name. Everything you held was released.",
            holder=state.principal,
            incarnation=state.incarnation,
        )
    if state.retired:
        raise Refused("agent_retired", f"{state.name} was retired.", "Join under another name.", agent=state.name)
    if not state.here:
        raise Refused(
            "not_joined",
            f"{state.name} has left.",
            f"Join again: `{command_line('join', state.name)}`.",
            agent=state.name,
        )
    return Actor.made({"principal": state.principal, "roles": state.roles})


def known(state: Agent, agents: Callable[[], Iterable[Agent]], *, caller: bool = False) -> Agent:
    """The agent. Raises if it never joined. `agents` lists all agents; `caller`: it is the caller's own name."""
    if not state.exists:
        raise unknown(state.name, closest(state.name, [a.name for a in agents() if not a.retired]), caller=caller)
    return state


def unknown(name: str, closest: str | None, *, caller: bool = False) -> Unknown:
    hint = f"Did you mean {closest}? " if closest else ""
    hint += f"To use this name, join first: `{command_line('join', name)}`. " if caller else ""
    return Unknown("unknown_agent", f"There is no agent {name!r}.", f"{hint}`moot agents` lists them.", closest=closest)


def evolve(state: Agent, event: Payload, meta: Meta) -> Agent:
    match event:
        case Joined():
            same = state.here and state.incarnation == event.incarnation
            return state.replace(
                name=event.name,
                incarnation=event.incarnation,
                here=True,
                roles=event.roles,
                client=event.client,
                worktree=event.worktree,
                since=state.since if same else meta.at,
            )
        case Left():
            return state.replace(here=False, retired=event.retired, since=meta.at)
        case _:
            raise TypeError(f"not an event of an agent: {event!r}")


KIND = Kind(
    name="agent",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Agent,
    lowers=True,
    made_by="`moot join`, `moot leave`",
)
