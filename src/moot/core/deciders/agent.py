"""Agents: who is here, in which incarnation.

What always holds:
- An agent is at most one incarnation at a time; joining anew makes the number one larger, and everything the
  older incarnation tries from then on is refused.
- A name in use is not taken over by accident: while its holder was heard of within the ttl, joining under it
  needs `take_over`.
- A retired name is never used again, and mail for it is refused instead of waiting for nobody.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.core.payload import Payload
from moot.core.principal import agent, checked_name
from moot.core.record import Record, unreachable


class Joined(Payload):
    type = "agent:joined"
    name: str
    incarnation: int
    roles: tuple[str, ...] = ()
    client: str | None = None
    worktree: str | None = None
    replaces: int | None = None  # the incarnation that was still here


class Left(Payload):
    type = "agent:left"
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


def decide(state: Agent, command: Join | Leave) -> list[Payload]:
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
            if not state.exists:
                raise unknown(state.name, None)
            if not state.here and not command.retire:
                return []
            return [Left(incarnation=state.incarnation, retired=command.retire, reason=command.reason)]
        case _:
            unreachable(command)


def _join(state: Agent, command: Join) -> list[Payload]:
    checked_name(state.name)
    if state.here and command.incarnation == state.incarnation:
        return []  # the same agent says it again
    if state.here and not command.take_over and command.silent_for < command.ttl:
        raise Held(
            "name_in_use",
            f"{state.name} is here already ({state.principal}, heard of {command.silent_for:.0f} s ago).",
            f"Take another name, or replace it: `moot join {state.name} --take-over`.",
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


def unknown(name: str, closest: str | None) -> Unknown:
    hint = f"Did you mean {closest}? " if closest else ""
    return Unknown(
        "unknown_agent", f"No agent is called {name!r}.", f"{hint}`moot agents` lists them.", closest=closest
    )


def evolve(state: Agent, event: Payload, *, at: str) -> Agent:
    match event:
        case Joined():
            return state.replace(
                name=event.name,
                incarnation=event.incarnation,
                here=True,
                roles=event.roles,
                client=event.client,
                worktree=event.worktree,
                since=at,
            )
        case Left():
            return state.replace(here=False, retired=event.retired, since=at)
        case _:
            raise TypeError(f"not an event of an agent: {event!r}")
