"""Agents: who is here, in which incarnation.

What always holds:
- An agent is at most one incarnation at a time; joining anew makes the number one larger, and everything the
  older incarnation tries from then on is refused.
- A name in use is not taken over by accident: while its holder was heard of within the ttl, joining under it
  needs `take_over`.
- An agent that says again that it is here, with other roles or another client, has these from then on; it is the
  same incarnation, and nothing that it holds is touched.
- Nobody but a person sends away another agent that was heard of within the ttl, or retires another one.
- A retired name is never used again, and mail for it is refused instead of waiting for nobody.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.principal import Actor, agent, checked_name, same_agent
from moot.core.record import Record, unreachable
from moot.core.task.leases import has_lapsed
from moot.core.text import closest, command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moot.core.kind import Meta

ROLE_LIMIT = 16


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
    replaces: int | None = None  # the incarnation that was still here


class Left(Payload):
    type = "agent:left"
    said = "left"
    asides = (("retired", "for good"),)
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
    def principal(self) -> str:
        return agent(self.name, self.incarnation)


class Join(Record):
    roles: tuple[str, ...] = ()
    client: str | None = None
    worktree: str | None = None
    incarnation: int | None = None  # the one the caller believes to be, if it joined before
    silent_for: float = 0.0
    ttl: float = 0.0
    take_over: bool = False


class Leave(Record):
    retire: bool = False
    reason: str | None = None
    by: str | None = None  # the principal that asks for it; None: the agent itself
    silent_for: float = 0.0
    ttl: float = 0.0


def decide(state: Agent, command: Join | Leave, _facts: object = None) -> list[Payload]:
    if state.retired:
        raise Refused(
            "agent_retired",
            f"The name {state.name} was retired and stays so.",
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
        raise Refused("too_many_roles", f"{len(command.roles)} roles are too many.", f"{ROLE_LIMIT} at most.")
    if state.here and command.incarnation == state.incarnation:
        return _said_again(state, command)
    if state.here and not command.take_over and not has_lapsed(command.silent_for, command.ttl):
        raise Held(
            "name_in_use",
            f"{state.name} is here already ({state.principal}, heard of {command.silent_for:.0f} s ago).",
            f"Take another name, or replace it: `{command_line('join', state.name, options='--take-over')}`.",
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


def _said_again(state: Agent, command: Join) -> list[Payload]:
    """The same agent, perhaps with other roles. What it leaves out stays as it is."""
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
            f"Only a person retires another agent; you are {by}.",
            f"Ask a person to run `{command_line('leave', state.name, options='--retire')}`.",
            agent=state.name,
        )
    if state.here and not has_lapsed(command.silent_for, command.ttl):
        raise Held(
            "agent_here",
            f"{state.principal} is here, heard of {command.silent_for:.0f} s ago.",
            f"Ask it to leave: `{command_line('send', state.name)} …`. Silent for {command.ttl:.0f} s, anybody may end "
            f"it; a person may at once: `{command_line('leave', state.name)}`.",
            agent=state.name,
            incarnation=state.incarnation,
            silent_for=round(command.silent_for, 3),
            ttl=command.ttl,
        )


def acting(state: Agent, incarnation: int | None) -> Actor:
    """The agent as one who acts, provided that it is here and that its incarnation is the current one."""
    if incarnation is not None and incarnation != state.incarnation:
        raise Held(
            "stale_incarnation",
            f"You are {agent(state.name, incarnation)}; the name is now held by {state.principal}.",
            "Stop, or join anew under another name. What you held was given back.",
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
    """The same, if it ever joined. `agents`: all that there are; `caller`: the caller says that it is this one."""
    if not state.exists:
        raise unknown(state.name, closest(state.name, [a.name for a in agents() if not a.retired]), caller=caller)
    return state


def unknown(name: str, closest: str | None, *, caller: bool = False) -> Unknown:
    hint = f"Did you mean {closest}? " if closest else ""
    hint += f"To be it, join first: `{command_line('join', name)}`. " if caller else ""
    return Unknown(
        "unknown_agent", f"No agent is called {name!r}.", f"{hint}`moot agents` lists them.", closest=closest
    )


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
    check="moot.core.integrity.import_checks:agent",
)
