"""Addresses: names, roles and `@all` are resolved to existing mailboxes before anything is stored."""

from __future__ import annotations

from moot.core.deciders.agent import known
from moot.core.errors import Refused, Unknown
from moot.core.principal import HANDLER, label, name_of, same_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from moot.core.deciders.message import Message
    from moot.core.principal import Actor
    from moot.core.reactions import World


def resolve(world: World, shared: Iterable[str], to: Iterable[str], sender: Actor) -> tuple[str, ...]:
    """The mailboxes of these addresses, without duplicates. `shared`: the roles that have a mailbox of their own."""
    found: dict[str, str] = {}
    for address in to:
        for name in _mailboxes(world, shared, address, sender):
            found.setdefault(name.lower(), name)
    return tuple(found.values())


def _mailboxes(world: World, shared: Iterable[str], address: str, sender: Actor) -> list[str]:
    if address.lower() in ("@all", "@everyone"):
        return others(world, sender)
    if address.startswith("@"):
        return _role(world, shared, address[1:], sender)
    if address.startswith("person:"):
        return [_person(world, address)]
    return [_agent(world, address)]


def others(world: World, sender: Actor) -> list[str]:
    """All agents that have joined, except the sender."""
    found = [a.name for a in world.agents() if a.here and a.name.lower() != sender.name.lower()]
    if not found:
        raise Refused(
            "nobody_here", "No other agent has joined.", "`moot agents --all` also lists agents that have left."
        )
    return found


def _role(world: World, shared: Iterable[str], role: str, sender: Actor) -> list[str]:
    own = next((name for name in shared if name.lower() == role.lower()), None)
    return [f"@{own}"] if own is not None else members(world, role, sender, shared)


def members(world: World, role: str, sender: Actor, more: Iterable[str] = ()) -> list[str]:
    """The agents with a role, except the sender. `more`: other roles that can be addressed."""
    here = [a for a in world.agents() if a.here]
    fill = [a for a in here if role.lower() in {name.lower() for name in a.roles}]
    members = [a.name for a in fill if a.name.lower() != sender.name.lower()]
    if not members:
        known = sorted({r for a in here for r in a.roles} | set(more))
        raise Unknown(
            "unknown_role",
            f"No other agent has the role {role!r}.",
            f"Roles in use: {', '.join(known) or 'none'}. An agent takes a role with `moot join --role`.",
            role=role,
        )
    return members


def _agent(world: World, name: str) -> str:
    state = known(world.agent(name), world.agents)
    if state.retired:
        raise Refused(
            "agent_retired", f"{state.name} was retired.", "`moot agents` lists the agents.", agent=state.name
        )
    return state.name


def _person(world: World, address: str) -> str:
    login = address.partition(":")[2]
    if login.startswith("uid-") and login[4:].isdigit():  # a user without an account name
        return address
    if not world.has_account(login):
        raise Unknown(
            "unknown_person", f"{address!r} is not an account on this machine.", "Write person:LOGIN, as in `whoami`."
        )
    return address


def retired(world: World, principal: str) -> bool:
    """Whether it is a retired agent, which cannot receive mail."""
    return "#" in principal and world.agent(name_of(principal)).retired


def to_settle(world: World, boxes: Iterable[str], message: Message, me: Actor) -> list[str]:
    """The caller's mailboxes that hold the message and where no other agent has taken it.

    If others have taken it in all of them, all are returned, so that the rules can report the taker.
    """
    to = {name.lower() for name in message.to}
    mine = [box for box in boxes if box.lower() in to]
    return [box for box in mine if not _taken(world, box, message, me)] or mine


def own_boxes(world: World, boxes: Iterable[str], message: Message, me: Actor) -> list[str]:
    """The same. Raises if the message is in none of them."""
    mine = to_settle(world, boxes, message, me)
    if not mine:
        raise Unknown(
            "not_in_mailbox",
            f"{message.id} is not in your mailbox; it went to {', '.join(message.to)}.",
            "`moot inbox` lists your messages.",
            message=message.id,
        )
    return mine


def _taken(world: World, box: str, message: Message, me: Actor) -> bool:
    state = world.mailbox(box, (message.id,))
    return state.taken_by_another(state.entries[message.id], me.principal)


def taken_by(world: World, box: str, message: Message, me: Actor) -> bool:
    taker = world.mailbox(box, (message.id,)).entries[message.id].taker
    return taker is not None and same_agent(taker, me.principal)


def mailbox_of(world: World, principal: str) -> str:
    """The mailbox for an answer to this principal."""
    if principal.startswith("person:"):
        return principal
    if principal.startswith("role:"):
        return f"@{principal.partition(':')[2]}"
    if principal.startswith(HANDLER):
        raise Refused(
            "no_reader",
            f"The {label(principal)} does not read mail.",
            "Send it to an agent or a person. `moot log --type message:sent` shows who caused the message.",
        )
    if principal == "moot":
        raise Refused("no_reader", "moot itself does not read mail.", "Send it to an agent or a person.")
    return _agent(world, name_of(principal))
