"""Commands that an answer suggests, as the caller would type them."""

from __future__ import annotations

from moot.core.text import from_agent

# First words of verbs that name the agent themselves, or need no name.
_NAMELESS = (
    *("start", "join", "help", "init", "as", "ready", "board", "agents", "claims", "who-holds", "log", "explain"),
    *("receipts", "held", "verify", "doctor"),
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call


def typed(call: Call, command: str) -> str:
    """The command, with the caller's name if it names itself in every command."""
    return by(named(call), command)


def by(agent: str | None, command: str) -> str:
    """The command, with the name of the agent, if any."""
    return from_agent(command, agent) if agent else command


def named(call: Call) -> str | None:
    """The name of an agent that names itself by `--agent`."""
    me = call.me() if call.caller.why == "--agent" else None
    return me.name if me else None


def addressed(text: str, agent: str) -> str:
    """A text of moot whose commands in back-ticks are those of an agent that names itself by `--agent`."""
    first, *others = text.split("`moot ")
    for other in others:
        command, tick, rest = other.partition("`")
        own = not tick or command.split(" ")[0] in _NAMELESS or "--agent" in command or "--help" in command
        first += "`moot " + other if own else f"`{from_agent('moot ' + command, agent)}`{rest}"
    return first
