"""Who is meant: names, roles and `@all` become mailboxes that exist, before anything is stored."""

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
    """The mailboxes behind these addresses, each once. `shared`: the roles that have a mailbox of their own."""
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
    """Everybody who is here, but for the sender."""
    found = [a.name for a in world.agents() if a.here and a.name.lower() != sender.name.lower()]
    if not found:
        raise Refused("nobody_here", "Nobody else is here.", "`moot agents --all` lists who was.")
    return found


def _role(world: World, shared: Iterable[str], role: str, sender: Actor) -> list[str]:
    own = next((name for name in shared if name.lower() == role.lower()), None)
    return [f"@{own}"] if own is not None else members(world, role, sender, shared)


def members(world: World, role: str, sender: Actor, more: Iterable[str] = ()) -> list[str]:
    """Those who fill a role, but for the sender. `more`: other roles that can be written to."""
    here = [a for a in world.agents() if a.here]
    fill = [a for a in here if role.lower() in {name.lower() for name in a.roles}]
    members = [a.name for a in fill if a.name.lower() != sender.name.lower()]
    if not members:
        known = sorted({r for a in here for r in a.roles} | set(more))
        raise Unknown(
            "unknown_role",
            f"Nobody here fills the role {role!r}.",
            f"Filled roles: {', '.join(known) or 'none'}. An agent takes one with `moot join --role`.",
            role=role,
        )
    return members


def _agent(world: World, name: str) -> str:
    state = known(world.agent(name), world.agents)
    if state.retired:
        raise Refused(
            "agent_retired", f"{state.name} was retired.", "`moot agents` lists who is here.", agent=state.name
        )
    return state.name


def _person(world: World, address: str) -> str:
    login = address.partition(":")[2]
    if login.startswith("uid-") and login[4:].isdigit():  # how somebody is called who has no account name
        return address
    if not world.has_account(login):
        raise Unknown(
            "unknown_person", f"{address!r} is no account of this machine.", "Write person:LOGIN, as in `whoami`."
        )
    return address


def retired(world: World, principal: str) -> bool:
    """Whether nothing can be said to it any more."""
    return "#" in principal and world.agent(name_of(principal)).retired


def to_settle(world: World, boxes: Iterable[str], message: Message, me: Actor) -> list[str]:
    """Those of the caller's mailboxes that have the message and where it was not taken by another.

    Where it was taken in each of them: all of them, so that the rules can say by whom.
    """
    to = {name.lower() for name in message.to}
    mine = [box for box in boxes if box.lower() in to]
    return [box for box in mine if not _taken(world, box, message, me)] or mine


def own_boxes(world: World, boxes: Iterable[str], message: Message, me: Actor) -> list[str]:
    """The same for a message that has to be in one of them."""
    mine = to_settle(world, boxes, message, me)
    if not mine:
        raise Unknown(
            "not_in_mailbox",
            f"{message.id} is not in your mailbox; it went to {', '.join(message.to)}.",
            "`moot inbox` lists what is.",
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
    """Where an answer to this principal goes."""
    if principal.startswith("person:"):
        return principal
    if principal.startswith("role:"):
        return f"@{principal.partition(':')[2]}"
    if principal.startswith(HANDLER):
        raise Refused(
            "no_reader",
            f"The {label(principal)} reads no mail.",
            "Send what you have to say to an agent or a person; `moot log --type message:sent` shows who caused it.",
        )
    if principal == "moot":
        raise Refused("no_reader", "moot itself reads no mail.", "Send it to an agent or a person.")
    return _agent(world, name_of(principal))
