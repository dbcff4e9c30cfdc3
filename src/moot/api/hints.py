"""Commands that an answer suggests, as the caller would type them."""

from __future__ import annotations

from moot.core.text import from_agent

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
